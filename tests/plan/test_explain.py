"""A protocol explained, and the counts that it fixes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cortexdsl.core import (
    Cell,
    Choose,
    Decide,
    Everyone,
    Groups,
    Keep,
    Method,
    OfRole,
    Repeat,
    Ring,
    SchedulePart,
    Sparse,
    Topology,
    TurnFilter,
)
from cortexdsl.errors import DebateError
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.plan.persistence.store import fixed_in
from cortexdsl.plan.rehearsal.explain import explain, fixed_counts, rehearse_example
from tests.engine.stage import agents, method
from tests.plan import specs

MET = Keep("above", 0.0)
STEPS = {
    "first": {"role": "initial"},
    "answer": {"role": "others", "hears": OfRole(("initial",))},
    "revise": {"hears": Everyone()},
}
CAST = {"debater": "a b c", "initial": "a b c", "others": "a b c"}


def when_needed(*before: SchedulePart) -> Method:
    """One begins; the others join where it is not sure; all debate once."""
    join: list[SchedulePart] = [Choose("others", "debater", "place > 1", MET), "answer", "revise"]
    schedule = [*before, Choose("initial", "debater", "place == 1", MET), "first"]
    return method(STEPS, [*schedule, Repeat(1, tuple(join), unless="any(confidence > 0.9)")], CAST,
                  debaters=("debater",))  # fmt: skip


def test_a_choice_by_place_is_made_as_in_a_debate() -> None:
    """One opens, two join, three revise: six calls, where all in every step would be nine."""
    said = explain(when_needed())
    assert "calls: 6 at most (fewer if a loop ends early)" in said
    assert [turn.speaker for turn in rehearse_example(when_needed()).turns] == ["a", "b", "c", "a", "b", "c"]
    lines = [line.strip() for line in said.splitlines()]
    assert "round 0, first (silent: b, c)" in lines
    assert "round 1, answer (silent: a)" in lines
    assert "round 2, revise" in lines


def test_a_choice_by_what_is_said_silences_nobody() -> None:
    """Who is sure cannot be known before: all speak, and the text says that there may be fewer."""
    unsure = Choose("others", "debater", "confidence < 0.5", MET)
    said = explain(method(STEPS, ["first", unsure, "answer"], CAST, debaters=("debater",)))
    assert "calls: 6 at most (fewer if fewer agents are chosen)" in said
    assert "silent" not in said.split("who hears whom")[1]
    assert (
        "choose others (where confidence < 0.5): this drawing has all candidates; a real debate may have fewer" in said
    )


def test_places_are_not_known_once_somebody_may_have_left() -> None:
    """Were a gone, b would be the first and c the second: then one joins and not two. At most, nobody has left."""
    leave = Choose("debater", "debater", "chance < 0.5", MET)
    steps = STEPS | {"first": {"role": "debater"}, "answer": {"role": "others"}}
    schedule: list[SchedulePart] = ["first", leave, Choose("others", "debater", "place == n_agents", MET), "answer"]
    staged = method(steps, schedule, CAST, debaters=("debater",))
    assert "calls: 6 at most" in explain(staged)


def test_a_last_choice_silences_nobody() -> None:
    """Who counts is chosen when all is said."""
    best = Choose("debater", "debater", "confidence", Keep("top", 1))
    assert "calls: 3 at most\n" in explain(method({"answer": {}}, ["answer", best]))
    assert "fewer agents are chosen" in explain(method({"answer": {}}, ["answer", best, "answer"]))
    assert "fewer agents are chosen" in explain(method({"answer": {}}, [Repeat(2, ("answer", best))]))


def test_a_choice_of_everybody_silences_nobody() -> None:
    """Only the order follows from the weights, and only if the choice asks for it: the calls are the same."""
    for order in ("", "weight"):
        everybody = Choose("debater", "debater", "confidence", Keep("all"), order=order)  # type: ignore[arg-type]
        said = explain(method({"answer": {}}, ["answer", everybody, "answer"]))
        assert "calls: 6 at most" in said.splitlines()
        assert "this drawing has all candidates" not in said
        assert ("in a real debate the order depends on the weights" in said) == bool(order)


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
    of = resolve(load_protocol(name), MethodChoice("methods.tried", parse("{}", "tried.yaml"), agents("a b c d")))
    return [line.strip() for line in explain(of).splitlines()]


def test_a_draw_from_a_pool_is_told_in_plain_words() -> None:
    """Three of four debate in each of three rounds, whoever they are: nine calls, never fewer."""
    said = shipped("heter-mad")
    assert "choose debater: weight chance, keep the 3 highest" in said
    assert "calls: 9 at most" in said
    (opening,) = (line for line in said if line.startswith("round 0, answer"))
    assert opening.startswith("round 0, answer (not in the debate: ")


def test_a_loop_of_one_pass_is_told_as_one() -> None:
    said = shipped("dylan")
    assert "once, unless agreement > 2 / 3:" in said
    assert not any("1 times" in line for line in said)


def test_who_takes_over_an_answer_is_told_apart_and_silences_nobody() -> None:
    said = shipped("follower")
    assert "choose follower (from debater): where chance < 0.3 (here: only the first agent)" in said
    assert "calls: 16 at most" in said
    assert any("follower: follower/follow.j2 (no call: the prompt itself is the reply)" in line for line in said)


def test_a_tie_of_made_up_answers_is_told_with_what_decides_it() -> None:
    """Three who never agree are tied at one vote each."""
    tied = "the vote is tied here, because all answers differ: "
    said = explain(method({"answer": {}}, ["answer"]))
    assert "\ndecide: majority\n" in said
    assert f"{tied}the answer with the highest sum of confidences wins; if several have it, chance decides" in said
    said = explain(method({"answer": {}}, ["answer"], decide=Decide("majority", fallback="none")))
    assert "\ndecide: majority, fallback none: no answer if all differ\n" in said
    assert f"{tied}there is no answer" in said
    assert "tied" not in explain(method({"answer": {}}, ["answer"], "a"))
    assert "fallback" not in explain(method({"answer": {}}, ["answer"], decide=Decide("first", fallback="none")))


def test_edges_that_weigh_alike_are_told_as_a_tie() -> None:
    """No two made-up replies are alike: all similarities are 0. Confidences are drawn, and differ."""
    for weight, is_tied in (("similarity", True), ("confidence", False)):
        steps = {"answer": {}, "revise": {"hears": Sparse(weight, Keep("top", 1))}}
        said = explain(method(steps, ["answer", "revise"]))
        equal = "step revise: here a listener hears everybody that it could hear, or nobody, because all of them have"
        assert (equal in said) is is_tied


@pytest.mark.parametrize(
    ("hears", "words"),
    [
        (Ring(2), "its neighbours on a ring (2 on each side)"),
        (Groups(2), "its group (of 2 groups)"),
        (Groups(2, (3, 1)), "its group (of 2 groups, with 3 and 1 agents)"),
        (Sparse("differs", MET, Groups(2)), "agents where differs, within its group (of 2 groups)"),
        (Sparse("confidence", Keep("mean")), "sparse: weight confidence, keep weights of at least the listener's mean"),
        (Sparse("confidence", Keep("top", 1, 0.5)), "sparse: weight confidence, keep the highest above 0.5"),
        (Sparse("confidence", Keep("drop_bottom", 2)), "sparse: weight confidence, keep all but the 2 lowest"),
        (Sparse("confidence", Keep("above", 0.7)), "sparse: weight confidence, keep weights above 0.7"),
        (Sparse("confidence", Keep("all")), "sparse: weight confidence, keep all"),
    ],
)
def test_who_is_heard_is_told_in_words(hears: Topology, words: str) -> None:
    said = explain(method({"answer": {}, "revise": {"hears": hears}}, ["answer", "revise"], "a b c d"))
    assert f"  revise: debater hears {words}; reads answer" in said


def test_a_rule_of_a_choice_compares_with_the_mean_of_the_candidates() -> None:
    best = Choose("debater", "debater", "confidence", Keep("mean"))
    assert "choose debater: weight confidence, keep weights of at least the mean (here: all candidates)\n" in explain(
        method({"answer": {}}, ["answer", best, "answer"])
    )


def test_the_last_of_several_steps_is_one_of_them() -> None:
    """Told of two steps, one hears what was said last in either: `and` would say that it hears the last of each."""
    steps = {"first": {}, "second": {}, "third": {"hears": Everyone(), "tells": (TurnFilter(("first", "second")),)}}
    said = explain(method(steps, ["first", "second", "third"]))
    assert "tells the last turns of first or second" in said
    steps["third"] = {"hears": Everyone(), "tells": (TurnFilter(("first", "second"), last=None),)}
    assert "tells all turns of first and second" in explain(method(steps, ["first", "second", "third"]))


def test_both_branches_of_a_condition_are_told() -> None:
    """No made-up judge is content: `mend` is drawn, `praise` is not. With a content one it is the other way round."""
    steps = {
        "answer": {},
        "judge": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
        "mend": {"hears": Everyone()},
        "praise": {"role": "judge", "reads": "comment"},
    }
    branches = [Repeat(1, ("mend",), unless="agreed"), Repeat(1, ("praise",), unless="not agreed")]
    said = explain(method(steps, ["answer", "judge", *branches], {"debater": "a b", "judge": "j"}))
    notes = [line.strip() for line in said.partition("what other replies change\n")[2].splitlines()]
    assert notes[:3] == [
        "step mend is not in every debate: it is skipped if agreed",
        "step praise has no turns here: it is skipped if not agreed",
        "if all agree with high confidence from the start, the steps are: answer, judge, praise",
    ]


def test_what_replies_cannot_change_needs_no_word() -> None:
    """One agent, no condition, no vote of several."""
    assert "what other replies change" not in explain(method({"answer": {}}, ["answer"], "a"))


def test_replies_that_make_a_weight_no_number_draw_nothing_and_break_nothing() -> None:
    """Where all are alike 1 / (1 - similarity) is endless; where nobody is, it is 1."""
    steps = {"answer": {}, "revise": {"hears": Sparse("1 / (1 - similarity)", Keep("mean"))}}
    endless = method(steps, ["answer", Repeat(2, ("revise",), until="consensus")])
    with pytest.raises(DebateError):
        rehearse_example(endless, agrees=True)
    said = explain(endless)
    assert "if all agree" not in said


FIXED_STEPS = {"answer": {}, "revise": {"hears": Everyone()}}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Cell:
    return specs.plan(tmp_path_factory.mktemp("fixed")).cells[0]


def test_a_loop_that_never_ends_early_has_one_number_of_rounds_and_calls(cell: Cell) -> None:
    """Three answer, then three revise twice: two rounds after the opening, nine calls, three one after another."""
    for loop, expected in (
        (Repeat(2, ("revise",)), {"rounds": 2.0, "calls": 9.0, "depth": 3.0}),
        (Repeat(2, ("revise",), until="consensus"), {}),
        (Repeat(2, ("revise",), unless="agreement > 0.9"), {}),
    ):
        debate = method(FIXED_STEPS, ["answer", loop], {"debater": "a b c"})
        assert fixed_counts(replace(cell, debate=debate, match=None)) == expected


def test_draws_matched_to_another_cell_are_not_fixed(tmp_path: Path) -> None:
    """How many draws there are follows from what the other cell's records hold."""
    found = {cell.name: fixed_counts(cell) for cell in specs.plan(tmp_path).cells}
    assert found["matched"] == {}


def test_records_of_earlier_plans_fix_nothing() -> None:
    record = {"cells": [{"cell": "a"}, {"cell": "b", "fixed": {}}, {"cell": "c", "fixed": {"rounds": 2.0}}]}
    assert fixed_in(record) == {"c": {"rounds": 2.0}}
    assert fixed_in(json.loads(json.dumps(record))) == {"c": {"rounds": 2.0}}
    assert fixed_in({"cells": []}) == {}
