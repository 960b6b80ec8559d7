"""What a debate cannot do without, reason by reason, and what it can."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.debate.needs import needed
from cortexdsl.terms import Choose, Decide, Everyone, Item, Keep, Method, OfRole, Repeat, Sparse, Told, Without
from tests.debate.stage import method

ANOTHER = "leave out another"


def picked(where: str) -> dict[str, Any]:
    return {"revise": {"hears": Everyone(), "tells": ("latest", Told(("answer",), where=where))}}


STEPS: dict[str, dict[str, Any]] = {
    "answer": {},
    "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
    "pick": {"role": "judge", "hears": OfRole(("debater",)), "reads": "choice"},
    "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
    "compare": {"role": "judge", "hears": OfRole(("debater",)), "each": "pair", "reads": "similarity"},
    "revise": {"hears": Everyone()},
    "conclude": {"role": "judge", "hears": OfRole(("debater",))},
}
CAST = {"debater": "a b c", "some": "a", "judge": "j"}
SPOKEN = ["answer", "review", "pick", "rule", "compare"]


def of(*schedule: Item, steps: dict[str, Any] | None = None, **words: Any) -> Method:
    return method({**STEPS, **(steps or {})}, [*SPOKEN, *schedule], CAST, **words)  # type: ignore[list-item]


def some(weight: str) -> Choose:
    return Choose("some", "debater", weight, Keep("all"))


def weighed(weight: str) -> dict[str, Any]:
    return {"revise": {"hears": Sparse(weight, Keep("all"))}}


@pytest.mark.parametrize(
    ("debate", "step", "why"),
    [
        (of(some("peer_score"), "revise"), "review", "peer_score is made of step review"),
        (of(some("mean(score)"), "revise"), "review", "score is made of step review"),
        (of(some("1 + chosen"), "revise"), "pick", "chosen is made of step pick"),
        (of(Repeat(2, ("revise",), until="mean(chosen) > 1")), "pick", "chosen is made of step pick"),
        (of(Repeat(2, ("revise",), unless="mean(chosen) > 1")), "pick", "chosen is made of step pick"),
        (of(Repeat(2, (some("chosen"), "revise"))), "pick", "chosen is made of step pick"),
        (of(decide=Decide("vote", weight="chosen")), "pick", "chosen is made of step pick"),
        (of(Repeat(2, ("revise",), until="agreed or round > 3")), "rule", "a loop ends at the verdict of step rule"),
        (of(Repeat(2, ("revise",), unless="agreed")), "rule", "a loop ends at the verdict of step rule"),
        (of("revise", steps=weighed("peer_score")), "review", "the weights of step revise are made of step review"),
        (of("revise", steps=weighed("chosen")), "pick", "the weights of step revise are made of step pick"),
        (of("revise", steps=weighed("similarity"), similarity="asked"), "compare",
         "the weights of step revise are made of step compare"),
        (of("revise", steps=weighed("intimacy"), similarity="asked"), "compare",
         "the weights of step revise are made of step compare"),
        (of("revise", steps=picked("agreed")), "rule", "what step revise is told is picked by step rule"),
        (of("revise", steps=picked("chosen(pick) > 0.5")), "pick", "what step revise is told is picked by step pick"),
        (of("revise", steps={"revise": {"own": Told(where="peer_score")}}), "review",
         "what step revise is told is picked by step review"),
        (of("conclude", decide=Decide("last", "judge")), "conclude",
         "the answer of the debate is that of judge in step conclude"),
    ],
)  # fmt: skip
def test_a_step_that_something_is_made_of_is_needed(debate: Method, step: str, why: str) -> None:
    assert needed(debate, Without(steps=(step,))) == (why, ANOTHER)
    assert needed(debate, Without()) is None
    assert needed(debate, Without(rounds=(1,))) is None


@pytest.mark.parametrize(
    ("debate", "step"),
    [
        (of(some("confidence"), "revise"), "review"),
        (of("revise"), "pick"),
        (of(Repeat(2, ("revise",), until="consensus")), "rule"),
        (of("revise", steps=weighed("similarity")), "compare"),  # computed, not asked for
        (of("revise", steps=weighed("confidence"), similarity="asked"), "compare"),
        (of("revise", steps=picked("confidence > 0.5")), "rule"),
        (of(decide=Decide("majority", weight="chosen")), "pick"),  # no vote of weights
        (of("conclude", decide=Decide("last", "debater")), "conclude"),
        (of("revise", "pick", steps={"pick": {**STEPS["rule"], "beside": ("choice",)}}), "rule"),
    ],
)
def test_a_step_that_nothing_is_made_of_is_not(debate: Method, step: str) -> None:
    assert needed(debate, Without(steps=(step,))) is None


def test_what_is_read_beside_an_answer_is_read() -> None:
    """The judge rules beside concluding: its other verdicts can be left out, and the loop still ends."""
    both = {"conclude": {**STEPS["conclude"], "beside": ("verdict",)}}
    loop = Repeat(2, ("revise", "conclude"), until="agreed")
    assert needed(of(loop, steps=both), Without(steps=("rule",))) is None
    assert needed(of(loop, steps=both), Without(steps=("rule", "conclude"))) == (
        "a loop ends at the verdict of step rule, conclude",
        ANOTHER,
    )


def test_a_judge_that_is_left_out_takes_its_steps_along() -> None:
    assert needed(of(some("chosen"), "revise"), Without(agents=("j",))) == (
        "chosen is made of step pick, rule, compare",
        ANOTHER,
    )
    assert needed(of("revise"), Without(agents=("j",))) is None


def test_an_answer_of_another_role_does_not_take_the_place_of_the_deciding_one() -> None:
    debate = of("conclude", "revise", decide=Decide("last", "judge"))
    found = needed(debate, Without(steps=("conclude",)))
    assert found == ("the answer of the debate is that of judge in step conclude", ANOTHER)


def test_nobody_left_to_debate_is_the_first_reason() -> None:
    two = method({"pro": {"role": "pro"}, "con": {"role": "con"}}, ["pro", "con"], {"pro": "a", "con": "b"},
                 debaters=("pro", "con"))  # fmt: skip
    assert needed(two, Without(agents=("a", "b"), steps=("pro",))) == (
        "nobody is left to debate as pro or con",
        "leave out fewer agents",
    )
    assert needed(two, Without(agents=("a",))) == (
        "step pro opens the debate, and all that follows is about its answers",
        ANOTHER,
    )
    assert needed(two, Without(agents=("b",))) is None


def test_the_opening_is_the_first_answer_of_those_who_debate() -> None:
    """A judge that answers before them opens nothing, and can be left out."""
    debate = method(STEPS, ["conclude", "answer", "revise"], CAST, debaters=("debater",))
    assert needed(debate, Without(steps=("conclude",))) is None
    assert needed(debate, Without(steps=("revise",))) is None
    found = needed(debate, Without(steps=("answer",)))
    assert found is not None
    assert found[0].startswith("step answer opens the debate")


def test_one_of_two_roles_that_are_heard_is_enough() -> None:
    """Both left out, all steps that fell silent and the one that would hear nobody are named."""
    steps = {
        "answer": {},
        "sum": {"role": "scribe", "hears": OfRole(("debater",)), "reads": "summary"},
        "note": {"role": "critic", "hears": OfRole(("debater",)), "reads": "comment"},
        "revise": {"hears": OfRole(("scribe", "critic"))},
    }
    debate = method(steps, ["answer", "sum", "note", "revise"], {"debater": "a b", "scribe": "s", "critic": "c"})
    assert needed(debate, Without(steps=("sum",))) is None
    assert needed(debate, Without(steps=("note",))) is None
    assert needed(debate, Without(steps=("sum", "note"))) == (
        "step revise hears nobody but step sum, note",
        "leave out both: step=sum,note,revise",  # as it is asked for
    )
