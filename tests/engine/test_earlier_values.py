"""`before(x)`: earlier values of names, worked out by hand, and the two names that it replaced."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.core import Choose, Decide, Everyone, Keep, Repeat, SchedulePart, Sparse
from cortexdsl.engine.decisions import vote_weights
from cortexdsl.expressions.evaluation import parse
from cortexdsl.expressions.spellings import as_recorded, from_record
from tests.engine.stage import Stage, method, run
from tests.engine.test_name_values import SAID, THREE, worth


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ("before(confidence)", [0.4, 0.0, 0.9]),
        ("before(support)", [2 / 3, 2 / 3, 0]),  # round 1: 42, 42, unreadable
        ("before(before(confidence))", [0.2, 0.8, 0.0]),
        ("support - before(support)", [0, -1 / 3, 2 / 3]),
        ("before(agreement)", [2 / 3] * 3),
        ("before(before(agreement))", [1 / 3] * 3),
        ("before(consensus)", [0] * 3),
        ("mean(before(differs))", [0.5, 0.5, 1.0]),  # a and b agreed in round 1
        ("answer != before(answer)", [0, 1, 1]),
        ("before(answer) == before(before(answer))", [0, 1, 0]),
        ("any(theirs(answer) != answer)", [1, 1, 1]),
        ("all(theirs(answer) != answer)", [0, 1, 0]),
    ],
)
def test_earlier_values_of_three_rounds(weight: str, expected: list[float]) -> None:
    assert worth(weight, THREE, SAID) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["confidence", "support", "agreement", "mean({})"])
def test_before_a_second_answer_the_earlier_value_is_that_of_now(name: str) -> None:
    now, earlier = ("mean(differs)", "mean(before(differs))") if "{" in name else (name, f"before({name})")
    assert worth(earlier, ["answer"], SAID) == worth(now, ["answer"], SAID)


def test_what_an_agent_was_is_what_it_was_before_its_own_last_answer() -> None:
    """a alone speaks again, twice: the others have one answer each, and nothing before it."""
    one = Choose("some", "debater", "position == 1", Keep("above", 0))
    steps = {"reply": {"role": "some", "hears": Everyone()}}
    script = {"answer:b0": "42|0.3", "reply:a1": "41|0.5", "reply:a2": "41|0.7"}
    schedule: list[SchedulePart] = ["answer", one, Repeat(2, ("reply",))]
    assert worth("before(confidence)", schedule, script, steps) == [0.5, 0.3, 0.5]


def test_reviews_count_as_they_did_before_the_last_round() -> None:
    steps = {"review": {"hears": Everyone(), "each": "edge", "reads": "review"}}
    script = {"review:b1>a": "x|0.2", "review:c1>a": "x|0.4", "review:b2>a": "x|0.9", "review:c2>a": "x|0.9"}
    schedule: list[SchedulePart] = ["answer", "review", "revise", "review"]
    assert worth("mean_score", schedule, script, steps)[0] == pytest.approx(0.9)
    assert worth("before(mean_score)", schedule, script, steps)[0] == pytest.approx(0.3)
    assert worth("before(mean_score(review))", schedule, script, steps)[0] == pytest.approx(0.3)


def test_an_earlier_similarity_leaves_out_the_last_round() -> None:
    """The cosine is 0.5 in the opening and 0.9 in round 1."""
    steps = {"answer": {}, "revise": {"hears": Sparse("before(similarity)", Keep("all"))}, "end": {"hears": Everyone()}}
    stage = Stage({}, lambda one, other: 0.5 if "answer" in one else 0.9)
    first, second, _ = run(method(steps, ["answer", "revise", "revise", "end"], "a b"), stage).graphs
    assert first.weight is not None
    assert second.weight is not None
    assert first.weight[0, 1] == pytest.approx(0.5)
    assert second.weight[0, 1] == pytest.approx(0.5)
    assert second.factors["before(similarity)"][0, 1] == pytest.approx(0.5)


def test_an_answer_before_in_a_vote_is_its_authors() -> None:
    def weights(weight: str) -> list[float]:
        of = method(
            {"answer": {}, "revise": {"hears": Everyone()}}, THREE, "a b c", decide=Decide("vote", weight=weight)
        )
        debate = run(of, Stage(SAID))
        return vote_weights(of, debate.turns, debate.turns, ["a", "b", "c"])

    assert weights("answer != before(answer)") == [0, 0, 0, 1, 0, 1, 0, 1, 1]
    assert weights("before(confidence)") == [0.2, 0.8, 0, 0.2, 0.8, 0, 0.4, 0, 0.9]


@pytest.mark.parametrize(
    ("text", "recorded"),
    [
        ("before(weight) + 1", "previous + 1"),
        ("mean(answer != before(answer)) < 0.2", "mean(changed) < 0.2"),
        ("10 * (answer != before(answer))", "10 * changed"),
        ("last", "last"),
        ("support  -  before( support )", "support  -  before( support )"),
        ("mean_score(random, position)  +random", "peer_score(random, position)  +chance"),
        ("approved and not agreement", "agreed and not agreement"),
    ],
)
def test_digests_and_records_have_the_names_of_an_earlier_version(text: str, recorded: str) -> None:
    assert as_recorded(text) == recorded


@pytest.mark.parametrize("key", ["before(weight)", "mean_score(random)", "before(mean_score(random))", "stability"])
def test_a_recorded_name_is_read_as_its_name_of_today(key: str) -> None:
    assert from_record(as_recorded(key)) == key


@pytest.mark.parametrize(
    "text",
    ["before()", "before(1)", "before(agreement + 1)", "before(agreement, support)", "before(mean(support))"],
)
def test_before_takes_one_name(text: str) -> None:
    with pytest.raises(ValueError, match="before\\(\\) takes one name"):
        parse(text)


@pytest.mark.parametrize("text", ["answer", "answer + 1", "answer < before(answer)", "answer == 3", "mean(answer)"])
def test_answers_have_no_order_and_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="can only be compared with an answer"):
        parse(text)


def test_a_loop_ends_when_no_share_of_answers_moves_any_more() -> None:
    """Support is 1/3 each, then 42 twice, then all 42, then the same again: the fourth pass is the last."""
    script: dict[str, Any] = {"answer:a0": "40|-", "answer:b0": "41|-"}
    script |= {f"revise:{name}{k}": "42|-" for name in "abc" for k in range(1, 6)} | {"revise:a1": "40|-"}
    schedule = ["answer", Repeat(5, ("revise",), until="all(support == before(support))")]
    debate = run(method({"answer": {}, "revise": {"hears": Everyone()}}, schedule, "a b c"), Stage(script))
    assert (debate.rounds, debate.stop) == (3, "condition")
