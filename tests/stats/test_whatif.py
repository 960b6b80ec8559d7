"""Effects of what is left out, computed by hand and by formula."""

from dataclasses import replace

import pytest

from cortexdsl.errors import RecordError
from cortexdsl.metrics.counterfactuals import branch_rows
from cortexdsl.metrics.scores import Row
from cortexdsl.stats.inference.paired import Paired
from cortexdsl.stats.whatif import (
    ANSWER_CHANGED,
    OWN_CALLS,
    effects,
)
from tests.stats.debates import grade, made, record


def rows(cell: str, scores: list[float], **more: float) -> list[Row]:
    return [
        {"dataset": "d", "cell": cell, "replicate": 1, "question_id": f"q{k}", "score": score, **more}
        for k, score in enumerate(scores)
    ]


def test_an_effect_is_the_paired_difference_with_what_is_left_out() -> None:
    """8 of 10 with it, 5 of 10 without; by hand: effect 0.3, three questions differ, all one way."""
    whole, without = [1.0] * 8 + [0.0] * 2, [1.0] * 5 + [0.0] * 5
    table = effects(
        [*rows("full", whole), *rows("full without agent=a", without, changed=0.3, asked_beside=2)],
        "full", ["agent=a"], seed=0,
    )  # fmt: skip
    (row,) = table.to_dict("records")
    assert (row["whole"], row["left_out"], row["changed"], row["asked"]) == pytest.approx((0.8, 0.5, 0.3, 20))
    assert row["effect"] == pytest.approx(0.3)
    assert row["p"] == 2 * Paired(3, 0, 10).sides(0.0)[0]
    assert row["ci_low"] < 0.3 < row["ci_high"]
    assert row["test"] == "score (Tango), exact"


def test_a_dataset_has_its_own_means_beside_those_of_all() -> None:
    """Whatever it is called: `sums` comes after `all` in the alphabet, `adds` before."""
    data = [
        {**one, "dataset": dataset}
        for dataset, whole, without in (("adds", 9, 6), ("sums", 5, 4))
        for one in (
            *rows("full", [1.0] * whole + [0.0] * (10 - whole)),
            *rows("full without agent=a", [1.0] * without + [0.0] * (10 - without), changed=0.0, asked_beside=1),
        )
    ]
    table = effects(data, "full", ["agent=a"], seed=0).set_index("dataset")
    assert table["whole"].to_dict() == pytest.approx({"adds": 0.9, "sums": 0.5, "all": 0.7})
    assert table["left_out"].to_dict() == pytest.approx({"adds": 0.6, "sums": 0.4, "all": 0.5})


def test_a_branch_is_a_row_of_its_own_with_what_it_changed_and_asked() -> None:
    """One answer is another now, after a new call; the other debate shares its calls and its answer."""
    whole = [record(made([{"a": "R", "b": "W"}], question=question)) for question in ("q1", "q2")]
    other = made([{"b": "W"}], question="q1")
    other = replace(other, turns=tuple(replace(turn, call="new") for turn in other.turns))
    branched = [
        replace(record(debate), header=replace(record(debate).header, without="agent=a"))
        for debate in (other, made([{"a": "R", "b": "R"}], question="q2", answer=whole[1].debate.answer))
    ]
    found = list(branch_rows(whole, branched, grade, {}))
    assert [row["cell"] for row in found] == ["full without agent=a"] * 2
    assert [(row[ANSWER_CHANGED], row[OWN_CALLS]) for row in found] == [(1.0, 1), (0.0, 0)]
    assert [row["score"] for row in found] == [0.0, 1.0]
    with pytest.raises(RecordError, match="not a counterfactual"):
        list(branch_rows(whole, whole, grade, {}))


def test_all_that_a_spec_leaves_out_of_a_cell_is_corrected_together() -> None:
    lost = [0.0] * 6 + [1.0] * 4
    less = [rows(f"full without agent={n}", lost, changed=0.6, asked_beside=1) for n in "abc"]
    left_out = ["agent=a", "agent=b", "agent=c"]
    table = effects([*rows("full", [1.0] * 10), *less[0], *less[1], *less[2]], "full", left_out, seed=0)
    assert (table["p_adjusted"] / table["p"]).round(6).tolist() == [3.0, 3.0, 3.0]


def test_each_metric_is_a_family_of_its_own() -> None:
    """Of 10 questions 3 calls fewer each without a: an effect of 3; what is said of accuracy stays as it was."""
    whole, without = [1.0] * 8 + [0.0] * 2, [1.0] * 5 + [0.0] * 5
    data = [
        *rows("full", whole, calls=9.0), *rows("full without agent=a", without, calls=6.0, changed=0.3, asked_beside=2)
    ]  # fmt: skip
    asked = ["agent=a"]
    alone = effects(data, "full", asked, seed=0)
    both = effects(data, "full", asked, seed=0, metrics=["accuracy", "calls"])
    assert both["metric"].tolist() == ["accuracy", "calls"]
    assert both.iloc[:1].to_dict("records") == alone.to_dict("records")
    calls = both.iloc[1]
    assert (calls["whole"], calls["left_out"], calls["effect"]) == pytest.approx((9.0, 6.0, 3.0))
