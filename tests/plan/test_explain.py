"""What `explain` counts and draws where agents are chosen: who is silent for sure is silent in it, too."""

from __future__ import annotations

from cortexdsl.plan.rehearsal.explain import explain, rehearsed
from cortexdsl.terms import Choose, Everyone, Item, Keep, Method, OfRole, Repeat
from tests.debate.stage import method

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
