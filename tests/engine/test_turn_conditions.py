"""Turns that are told or left out by what was read of others who were shown them: worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cortexdsl.core import Call, Everyone, Method, OfRole, Repeat, Reply, SchedulePart, TurnFilter
from cortexdsl.plan.rehearsal.explain import rehearse_example
from tests.engine.stage import Stage, method, run

CAST = {"proposer": "p", "verifier": "v", "second": "w", "reporter": "r"}


def in_turn(*said: str) -> Callable[[Call], Reply]:
    """Replies of one label, one after the other: nobody debates before the report, so that all are of round 0."""
    left = iter(said)
    return lambda call: Reply("key", f"said|{next(left)}", "stop", 1, 1)


def proposed(where: str, schedule: list[SchedulePart], last: int | None = None, **words: Any) -> Method:
    steps: dict[str, dict[str, Any]] = {
        "propose": {"role": "proposer", "reads": "comment", "memory": TurnFilter(("propose",), last=last, where=where)},
        "verify": {"role": "verifier", "hears": OfRole(("proposer",)), "reads": "comment", "beside": ("verdict",)},
        "weigh": {"role": "second", "hears": OfRole(("proposer",)), "reads": "verdict"},
        "report": {
            "role": "reporter",
            "hears": OfRole(("proposer",)),
            "shows": (TurnFilter(("propose",), False, last, where),),
        },
    }
    steps = {name: {**step, **words.get(name, {})} for name, step in steps.items()}
    return method(steps, [*schedule, "report"], CAST)


def told(of: Method, **script: str) -> list[int]:
    """Which proposals the report was told, by their order."""
    names = {"verify": "v", "weigh": "w", "propose": "p"}
    stage = Stage({f"{step}:{names[step]}0": in_turn(*said.split()) for step, said in script.items()})
    turns = run(of, stage).turns
    order = [turn.turn for turn in turns if turn.step == "propose"]
    return [order.index(number) for number in turns[-1].heard]


THREE: list[SchedulePart] = [Repeat(3, ("propose", "verify"))]
BOTH: list[SchedulePart] = [Repeat(3, ("propose", "verify", "weigh"))]
FOUND = {"verify": "agree|- disagree|- agree|-"}


@pytest.mark.parametrize(
    ("where", "last", "expected"),
    [
        ("approved", None, [0, 2]),
        ("approved", 1, [2]),  # the last of those for which it holds
        ("not approved", 1, [1]),
        ("not approved", 2, [1]),
        ("approved or 1", None, [0, 1, 2]),
        ("approved(verify)", None, [0, 2]),
        ("approved(weigh)", None, []),  # which nobody has been asked for
        ("round > 0", None, []),
        ("", None, [0, 1, 2]),
    ],
)
def test_steps_that_were_found_right_are_told(where: str, last: int | None, expected: list[int]) -> None:
    assert told(proposed(where, THREE, last), **FOUND) == expected


def test_a_speaker_remembers_of_its_own_what_was_found_right() -> None:
    """Before the second proposal the first, found right; before the third the first, of two."""
    stage = Stage({"verify:v0": in_turn("agree|-", "disagree|-", "agree|-")})
    turns = run(proposed("approved", THREE), stage).turns
    assert [turn.recalled for turn in turns if turn.step == "propose"] == [(), (0,), (0,)]


@pytest.mark.parametrize(
    ("where", "expected"),
    [("approved", [0]), ("approved(verify)", [0, 2]), ("approved(weigh)", [0, 1]), ("approved(verify, weigh)", [0])],
)
def test_two_who_are_asked_have_to_agree(where: str, expected: list[int]) -> None:
    of = proposed(where, BOTH)
    assert told(of, verify="agree|- disagree|- agree|-", weigh="agree|- agree|- disagree|-") == expected


@pytest.mark.parametrize(("again", "expected"), [("agree|-", [0]), ("disagree|-", []), ("-|-", [])])
def test_who_is_asked_again_takes_back_what_it_said(again: str, expected: list[int]) -> None:
    of = proposed("approved", ["propose", "verify", "verify"])
    assert told(of, verify=f"disagree|- {again}") == expected


def test_of_all_that_is_shown_the_last_is_what_a_verdict_is_about() -> None:
    """The verifier reads all proposals each time, and says of the last that it is right or wrong."""
    of = proposed("approved", THREE, verify={"shows": ("all",)})
    assert told(of, **FOUND) == [0, 2]


def test_who_is_not_shown_a_turn_says_nothing_of_it() -> None:
    assert told(proposed("approved", THREE, verify={"hears": OfRole(("second",))}), **FOUND) == []


ROUND: dict[str, dict[str, Any]] = {
    "answer": {},
    "rate": {"hears": Everyone(), "each": "edge", "reads": "review"},
    "pick": {"role": "judge", "hears": OfRole(("debater",)), "reads": "choice"},
    "rule": {"role": "judge", "hears": OfRole(("debater",)), "each": "edge", "reads": "verdict"},
    "revise": {"hears": Everyone()},
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("mean_score > 0.4", "b c"),  # a has (.3 + .2) / 2, b and c what nobody scripted, .5
        ("mean_score(rate) <= 0.4", "a"),
        ("chosen", "a"),
        ("confidence > 0.6", "c"),
        ("approved", "b"),  # a's is about a, and c's about c, though all are shown at once
        ("confidence > 0.6 or chosen(pick)", "a c"),
    ],
)
def test_answers_are_told_by_what_was_read_of_others_about_them(where: str, expected: str) -> None:
    steps = {
        **ROUND,
        "end": {"role": "judge", "hears": OfRole(("debater",)), "shows": (TurnFilter(("answer",), where=where),)},
    }
    script = {
        "answer:c0": "42|0.9", "rate:b1>a": "x|0.3", "rate:c1>a": "x|0.2",
        "rule:j1>a": "disagree|-", "rule:j1>b": "agree|-", "rule:j1>c": "disagree|-",
    }  # fmt: skip
    script["pick:j1"] = "1|-"
    of = method(steps, ["answer", "rate", "pick", "rule", "end"], {"debater": "a b c", "judge": "j"})
    debate = run(of, Stage(script))
    assert " ".join(debate.turns[number].speaker for number in debate.turns[-1].heard) == expected


def test_a_rehearsal_tells_all_that_may_be_told() -> None:
    """No made-up verdict is content: without a word on it, prompts would be planned too short."""
    assert rehearse_example(proposed("approved", THREE)).turns[-1].heard == (0, 2, 4)
