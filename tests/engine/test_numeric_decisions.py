"""Decisions on numbers, quartiles that agents are shown, and choices among turns: worked out by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cortexdsl.core import (
    Choose,
    Decide,
    Everyone,
    Keep,
    Message,
    OfRole,
    Reading,
    TurnFilter,
    canonical_value,
    number_of,
    quantile,
)
from cortexdsl.engine.decisions import Decision, numeric_decision
from cortexdsl.engine.readings import reread_debate
from tests.engine.stage import Stage, StagedReader, method, run


@pytest.mark.parametrize(
    ("answers", "share", "expected"),
    [
        (["1", "2", "90"], 0.5, "2"),
        (["90", "2", "1", "4"], 0.5, "3"),
        (["1", "2", "90"], 0.0, "31"),
        (["1", "2", "3", "4", "90"], 0.2, "3"),  # 1 and 90 are left out
        (["1", "2", "3", "94"], 0.2, "25"),  # a fifth of four is less than one
        (["0.1", "0.2", "0.3"], 0.0, "0.2"),
        (["1/3", "2/3"], 0.5, "0.5"),
        (["1", "1", "2"], 0.0, "4/3"),
        (["-3", None, "five", "5"], 0.5, "1"),
        ([None, "A"], 0.5, None),
        ([], 0.0, None),
        (["1/0", "7"], 0.0, "7"),
    ],
)
def test_the_mean_of_what_is_left(answers: list[str | None], share: float, expected: str | None) -> None:
    assert numeric_decision(answers, share) == Decision(expected)


@pytest.mark.parametrize("text", ["42", "-0.25", "2/7", "0"])
def test_a_canonical_number_keeps_its_spelling(text: str) -> None:
    value = number_of(text)
    assert value is not None
    assert canonical_value(value) == text


def test_quantiles_are_those_of_numpy() -> None:
    values = [Fraction(n) for n in (1, 4, 9, 16, 25, 36)]
    for share in (Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1)):
        expected = np.quantile([float(value) for value in values], float(share))
        assert float(quantile(values, share)) == pytest.approx(expected)


def test_a_debate_is_decided_by_the_median_of_its_last_answers() -> None:
    script = {"revise:a1": "3|0.9", "revise:b1": "10|0.1", "revise:c1": "11|0.1"}
    steps = {"answer": {}, "revise": {"hears": Everyone()}}
    debate = run(method(steps, ["answer", "revise"], "a b c", decide=Decide("trimmed", share=0.5)), Stage(script))
    assert (debate.answer, dict(debate.votes), debate.was_tied) == ("10", {}, False)


class Delphi(Stage):
    """Prompts hold the quartiles, and nothing else that was said."""

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        (first,) = super().render(prompt, {**view, "heard": [], "own": []})
        return ({"role": "user", "content": f"{first['content']}\n{view['quartiles']}"},)


def test_quartiles_are_of_what_an_agent_hears_and_of_its_own_answer() -> None:
    """1, 2, 4 and 9: quartiles 1.75, 3 and 5.25. Those whose numbers they are made of count as heard."""
    script = {f"answer:{name}0": f"{number}|0.5" for name, number in zip("abcd", (1, 2, 4, 9), strict=True)}
    steps = {"answer": {}, "revise": {"hears": Everyone(), "memory": "last"}}
    stage = Delphi(script)
    debate = run(method(steps, ["answer", "revise"], "a b c d"), stage)
    shown = [prompt.splitlines()[1] for prompt in stage.prompts()]
    assert shown[:4] == ["None"] * 4
    assert set(shown[4:]) == {"{'lower': '1.75', 'median': '3', 'upper': '5.25', 'count': 4}"}
    assert (debate.turns[4].heard, debate.turns[4].recalled) == ((1, 2, 3), (0,))
    assert debate.graphs[0].heard.sum() == 12


# ---------------------------------------------------------------- choices among turns
class Chooser(StagedReader):
    """A choice is the text of the reply; other replies are read as on every stage."""

    def read(self, reads: Any, text: str) -> Reading:
        return Reading(text.split("|")[1]) if reads == "choice" else super().read(reads, text)


class Ballots(Stage):
    def ports(self) -> Any:
        return dataclasses.replace(super().ports(), reader=Chooser())


SPOKEN = {
    "answer:a0": "40|0.5", "answer:b0": "41|0.5", "revise:a1": "42|0.5", "revise:b1": "43|0.5",
    "rank:j2": "1, 4|-", "rank:k2": "1|-",
}  # fmt: skip
STEPS: dict[str, dict[str, Any]] = {
    "answer": {},
    "revise": {"hears": Everyone()},
    "rank": {
        "role": "judge", "hears": OfRole(("debater",)), "shows": (TurnFilter(("answer", "revise"), last=None),),
        "reads": "choice", "chooses": "turns",
    },
}  # fmt: skip
CAST = {"debater": "a b", "judge": "j k", "some": "a b"}


def test_a_vote_on_turns_counts_each_answer_of_each_round() -> None:
    """Both judges name the first turn (40), one of them the fourth (43) as well: two votes of two, and one."""
    of = method(STEPS, ["answer", "revise", "rank"], CAST, decide=Decide("vote", weight="chosen"))
    debate = run(of, Ballots(SPOKEN))
    assert [turn.answer for turn in debate.turns[4:]] == ["turn 0, turn 3", "turn 0"]
    assert dict(debate.votes) == {"40": 1.0, "41": 0.0, "42": 0.0, "43": 0.5}
    assert debate.answer == "40"
    assert reread_debate(debate, of, Chooser(), seed=0, replicate=1) == debate


def test_a_turn_that_was_not_shown_cannot_be_chosen() -> None:
    of = method(STEPS, ["answer", "revise", "rank"], CAST, decide=Decide("vote", weight="chosen"))
    debate = run(of, Ballots({**SPOKEN, "rank:j2": "9|-"}))
    assert debate.turns[4].answer is None
    assert debate.turns[4].unparsed == "no turn 9 was there to choose"


def test_an_agent_is_chosen_by_any_of_its_turns() -> None:
    """Of two ballots both name a turn of a, and one names a turn of b."""
    pick = Choose("some", "debater", "chosen", Keep("all"))
    debate = run(method(STEPS, ["answer", "revise", "rank", pick], CAST), Ballots(SPOKEN))
    assert debate.choices[0].weight == (1.0, 0.5)


def test_a_reader_may_be_told_only_turns_that_were_chosen() -> None:
    steps = {**STEPS, "end": {"role": "judge", "hears": OfRole(("debater",)), "reads": "comment"}}
    steps["end"]["shows"] = (TurnFilter(("answer", "revise"), last=None, where="chosen > 1 / 2"),)
    debate = run(method(steps, ["answer", "revise", "rank", "end"], CAST), Ballots(SPOKEN))
    assert debate.turns[-1].heard == (0,)
