"""Named numbers of one reply: read, recorded, and used in votes, choices, conditions and selections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cortexdsl.core import Choose, Decide, Everyone, Keep, OfRole, Repeat, Reply, TurnFilter
from cortexdsl.engine.readings import reread_debate
from cortexdsl.records import Header, debate_to_json, record_from_json
from cortexdsl.tasks.reading.number import NumberKind
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.reading.statements import read_number
from tests.engine.stage import Stage, method, run

HEADER = Header("tried", "sums", "cell", 1)
READER = AnswerReader(NumberKind())


class Real(Stage):
    """A stage that reads replies as a task does."""

    def __init__(self, script: dict[str, str]) -> None:
        super().__init__({name: self._said(said) for name, said in script.items()})

    @staticmethod
    def _said(said: str) -> Any:
        return lambda call: Reply(f"{call.seed}", said, "stop", 1, 1)

    def ports(self) -> Any:
        return replace(super().ports(), reader=READER)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Clarity: 8", "0.8"),
        ("clarity: 4/5\nbut then\n**Clarity:** 70%", "0.7"),
        ("Clarity score: 10", "1"),
        ("Clarity (0-10): 3", "0.3"),
        ("Clarity: 11", None),
        ("Clarity: -1", None),
        ("Clarity: high", None),
        ("Clarity: <0 to 10>", None),
        ("Clarity: 7,5", "0.75"),
        ("Clarity: .5", "0.05"),
        ("Clarity: 3.3333333", "0.333333"),
        ("Clarity: 8. Facts: 9", "0.8"),
        ("Clarity: 8/10, 9/10", "0.8"),
        ("Clarity: 1e999", None),
        ("Clarity: 1e-1", None),
        ("Clarity: 1,000", None),
        ("Clarity: 1.2.3", None),
        ("Clarity: NaN", None),
        ("Clarity: inf", None),
        ("", None),
    ],
)
def test_a_number_is_read_as_a_score_is(text: str, value: str | None) -> None:
    assert READER.read("clarity", text).value == value


def test_a_name_of_two_words() -> None:
    assert read_number("source_quality", "Source quality: 5").value == "0.5"


def test_a_name_within_another_is_a_name_of_its_own() -> None:
    said = "Check: 2\n- **Fact check**: 9\n2. Check score: 3\nFact check: 8"
    assert (read_number("check", said).value, read_number("fact_check", said).value) == ("0.3", "0.8")
    assert read_number("check", "It has a check of 4.").value == "0.4"


ANSWERS = {f"answer:{who}0": f"Answer: {k}" for k, who in enumerate("ab", 1)}
JUDGE = {"role": "judge", "hears": OfRole(("debater",)), "each": "edge", "reads": "comment"}


def test_five_scores_of_one_reply_decide() -> None:
    """The judge prefers a by its facts and b by its manners; the weighted sums are 0.62 and 0.58."""
    steps = {"answer": {}, "judge": {**JUDGE, "beside": ("facts", "sources", "reasoning", "clarity", "manners")}}
    said = {
        "judge:j1>a": "Facts: 9\nSources: 7\nReasoning: 6\nClarity: 5\nManners: 2",
        "judge:j1>b": "Facts: 4\nSources: 5\nReasoning: 6\nClarity: 7\nManners: 9",
    }
    weight = "last * (2 * stated(facts) + stated(sources) + stated(reasoning) + stated(clarity) + stated(manners))"
    of = method(steps, ["answer", "judge"], {"debater": "a b", "judge": "j"}, Decide("vote", weight=weight))
    debate = run(of, Real(ANSWERS | said))
    assert debate.turns[2].beside["facts"] == "0.9"
    assert debate.answer == "1"
    assert dict(debate.votes) == pytest.approx({"1": 3.8, "2": 3.5})
    line = debate_to_json(debate, HEADER)
    assert debate_to_json(record_from_json(line).debate, HEADER) == line
    assert debate_to_json(reread_debate(debate, of, READER, seed=7, replicate=1), HEADER) == line


def test_an_unreadable_number_is_recorded_and_the_others_count() -> None:
    steps = {"answer": {}, "judge": {**JUDGE, "beside": ("facts", "clarity")}}
    rule = Choose("debater", "debater", "stated(facts) + stated(clarity)", Keep("top", 1))
    said = {"judge:j1>a": "Facts: 9\nClarity: very", "judge:j1>b": "Facts: 5\nClarity: 5"}
    of = method(steps, ["answer", "judge", rule], {"debater": "a b", "judge": "j"})
    debate = run(of, Real(ANSWERS | said))
    assert dict(debate.turns[2].beside) == {"facts": "0.9", "clarity": None}
    assert debate.choices[0].weight == pytest.approx((0.9, 1.0))


def test_numbers_of_an_agent_about_itself() -> None:
    steps = {"answer": {"beside": ("risk",)}, "revise": {"hears": Everyone()}}
    rule = Choose("debater", "debater", "stated(risk)", Keep("drop_bottom", 1))
    said = {"answer:a0": "Answer: 1\nRisk: 2", "answer:b0": "Answer: 2\nRisk: 6"}
    debate = run(method(steps, ["answer", rule, "revise"], "a b"), Real(said | {"revise:b1": "Answer: 2"}))
    assert debate.choices[0].weight == (0.2, 0.6)


def test_a_number_about_the_debate_ends_it() -> None:
    """The moderator sees 30 % of progress after one round and 90 % after two."""
    steps = {
        "answer": {},
        "revise": {"hears": Everyone()},
        "moderate": {"role": "judge", "hears": OfRole(("debater",)), "reads": "comment", "beside": ("progress",)},
    }
    said = {f"revise:{who}{k}": f"Answer: {k}" for who in "ab" for k in (1, 2, 3)}
    said |= {"moderate:j2": "Progress: 30%", "moderate:j3": "Progress: 90%"}
    loop = Repeat(5, ("revise", "moderate"), until="mean(stated(progress)) > 0.8")
    debate = run(method(steps, ["answer", loop], {"debater": "a b", "judge": "j"}), Real(ANSWERS | said))
    assert (debate.rounds, debate.stop) == (2, "condition")


def test_turns_are_shown_by_their_numbers() -> None:
    steps = {
        "answer": {"beside": ("risk",)},
        "revise": {"hears": Everyone(), "shows": (TurnFilter(where="stated(risk) < 0.5"),)},
    }
    said = {f"answer:{who}0": f"Answer: {k}\nRisk: {3 * k}" for k, who in enumerate("abc", 1)}
    stage = Real(said | {f"revise:{who}1": "Answer: 1" for who in "abc"})
    debate = run(method(steps, ["answer", "revise"]), stage)
    assert [turn.heard for turn in debate.turns[3:]] == [(), (0,), (0,)]
