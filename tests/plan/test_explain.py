"""What `explain` counts and draws where agents are chosen: who is silent for sure is silent in it, too."""

from __future__ import annotations

from cortexdsl.plan.rehearsal.explain import explain, rehearsed
from cortexdsl.protocols.method.resolve import Choice, resolve
from cortexdsl.protocols.text.loader import load_protocol
from cortexdsl.spec.text.reader import parse
from cortexdsl.terms import Choose, Everyone, Item, Keep, Method, OfRole, Repeat
from tests.debate.stage import agents, method

MET = Keep("above", 0.0)
STEPS = {
    "first": {"role": "initial"},
    "answer": {"role": "others", "hears": OfRole(("initial",))},
    "revise": {"hears": Everyone()},
}
CAST = {"debater": "a b c", "initial": "a b c", "others": "a b c"}


def when_needed(*before: Item) -> Method:
    """One begins; the others join where it is not sure; all debate once."""
    join: list[Item] = [Choose("others", "debater", "place > 1", MET), "answer", "revise"]
    schedule = [*before, Choose("initial", "debater", "place == 1", MET), "first"]
    return method(STEPS, [*schedule, Repeat(1, tuple(join), unless="any(confidence > 0.9)")], CAST,
                  debaters=("debater",))  # fmt: skip


def test_a_choice_by_place_is_made_as_in_a_debate() -> None:
    """One opens, two join, three revise: six calls, where all in every step would be nine."""
    said = explain(when_needed())
    assert "calls: 6 at most (fewer where a loop ends early)" in said
    assert [turn.speaker for turn in rehearsed(when_needed()).turns] == ["a", "b", "c", "a", "b", "c"]
    lines = [line.strip() for line in said.splitlines()]
    assert "round 0, first (silent: b, c)" in lines
    assert "round 1, answer (silent: a)" in lines
    assert "round 2, revise" in lines


def test_a_choice_by_what_is_said_silences_nobody() -> None:
    """Who is sure cannot be known before: all speak, and the text says that there may be fewer."""
    unsure = Choose("others", "debater", "confidence < 0.5", MET)
    said = explain(method(STEPS, ["first", unsure, "answer"], CAST, debaters=("debater",)))
    assert "calls: 6 at most (fewer where a choice silences somebody)" in said
    assert "silent" not in said.split("who hears whom")[1]


def test_places_are_not_known_once_somebody_may_have_left() -> None:
    """Were a gone, b would be the first and c the second: then one joins and not two. At most, nobody has left."""
    leave = Choose("debater", "debater", "chance < 0.5", MET)
    steps = STEPS | {"first": {"role": "debater"}, "answer": {"role": "others"}}
    schedule: list[Item] = ["first", leave, Choose("others", "debater", "place == n_agents", MET), "answer"]
    staged = method(steps, schedule, CAST, debaters=("debater",))
    assert "calls: 6 at most" in explain(staged)


def test_a_last_choice_silences_nobody() -> None:
    """Who counts is chosen when all is said."""
    best = Choose("debater", "debater", "confidence", Keep("top", 1))
    assert "calls: 3 at most\n" in explain(method({"answer": {}}, ["answer", best]))
    assert "a choice silences" in explain(method({"answer": {}}, ["answer", best, "answer"]))
    assert "a choice silences" in explain(method({"answer": {}}, [Repeat(2, ("answer", best))]))


def test_who_weighs_alike_is_kept_together() -> None:
    """Three who are equally sure are all the surest one, so that all may speak again; of three by chance one does."""
    for weight, calls in (("confidence", 6), ("confidence + chance / 1000", 4)):
        best = Choose("debater", "debater", weight, Keep("top", 1))
        assert f"calls: {calls} at most" in explain(method({"answer": {}}, ["answer", best, "answer"]))


def test_a_role_that_is_heard_alone_silences_nobody() -> None:
    """The best are chosen to be heard; all speak."""
    best = Choose("initial", "debater", "confidence", Keep("top", 1))
    steps = {"open": {}, "answer": {"hears": OfRole(("initial",))}}
    staged = method(steps, ["open", best, "answer"], {"debater": "a b c", "initial": "a b c"})
    assert "calls: 6 at most" in explain(staged).splitlines()


def shipped(name: str) -> list[str]:
    """Each line that `explain` says of a built-in protocol with four agents."""
    of = resolve(load_protocol(name), Choice("methods.tried", parse("{}", "tried.yaml"), agents("a b c d")))
    return [line.strip() for line in explain(of).splitlines()]


def test_a_draw_from_a_pool_is_told_in_plain_words() -> None:
    """Three of four debate in each of three rounds, whoever they are: nine calls, never fewer."""
    said = shipped("heter-mad")
    assert "choose debater anew: the 3 with the highest chance" in said
    assert "calls: 9 at most" in said
    (opening,) = (line for line in said if line.startswith("round 0, answer"))
    assert opening.startswith("round 0, answer (not in the debate: ")


def test_a_loop_of_one_pass_is_told_as_one() -> None:
    said = shipped("dylan")
    assert "once, unless agreement > 2 / 3:" in said
    assert not any("1 times" in line for line in said)


def test_who_takes_over_an_answer_is_told_apart_and_silences_nobody() -> None:
    said = shipped("follower")
    assert "choose follower among debater: where chance < 0.3" in said
    assert "calls: 16 at most" in said
    assert any("follower: follower/follow.j2 (said as it is written)" in line for line in said)
