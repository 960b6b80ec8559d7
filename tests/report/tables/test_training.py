"""What the report says of trainings: which replies made pairs, and how well they were learned."""

from __future__ import annotations

import json
from pathlib import Path

from cortexdsl.plan.record import PlanRecord, parse_plan
from cortexdsl.report.tables.training import learning_table

PLAN = {"trainings": [{"training": "acc", "phases": [{"phase": "1-critic"}, {"phase": "1-actor"}]}]}
KEPT = """\
part,round,moments,right,wrong,natural,below,same,cut,no_reply,examples
train,0,20,6,2,0,10,1,1,0,3
train,1,20,3,1,0,16,0,0,0,2
validation,0,5,4,1,0,0,0,0,0,1
"""
CURVE = """\
step,epoch,part,loss,margin,accuracy,token_accuracy
0,0,validation,2.5,0,0,0.4
1,0.5,train,2.4,0,0,0.4
2,1,validation,2.25,0.01,0.625,0.4
"""


def _written(folder: Path) -> Path:
    place = folder / "train/acc/1-critic"
    (place / "model").mkdir(parents=True)
    (place / "kept.csv").write_text(KEPT)
    (place / "curve.csv").write_text(CURVE)
    card = {"examples": {"train": 11, "validation": 5}, "seconds_of_processor": 90}
    (place / "model/zoo.json").write_text(json.dumps(card))
    return folder


def test_a_row_adds_up_the_rounds_of_what_is_learned_from_and_leaves_validation_out(tmp_path: Path) -> None:
    """6 + 3 pairs with the reply guided right and 2 + 1 with the one guided wrong, of 20 + 20 replies: 75 and 25 %."""
    table = learning_table(_written(tmp_path), parse_plan(PLAN))
    assert table is not None
    found = {column.title: entry for column, entry in zip(table.columns, table.rows[0], strict=True)}
    assert {title: entry.whole.replace("\N{THIN SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
            for title, entry in found.items()} == {
        "Phase": "acc 1-critic", "Replies": "40", "Pairs": "12", "Guided right": "9 (75.0 %)",
        "Guided wrong": "3 (25.0 %)", "Learned": "11", "Loss before": "2.50", "Loss after": "2.25",
        "Preferred": "62.5 %", "Processor time": "1 min 30 s",
    }  # fmt: skip
    assert [value for entry in table.rows[0] for value in entry.values] == [
        "acc 1-critic", 40, 12, 9, 0.75, 3, 0.25, 11, 2.5, 2.25, 0.625, 90,
    ]  # fmt: skip
    assert [entry.values[0] for entry in table.rows[1]] == ["acc 1-actor", 0, 0, 0, 0, None, None, None, None, None]


def test_an_experiment_without_training_says_nothing_of_it(tmp_path: Path) -> None:
    assert learning_table(tmp_path, PlanRecord()) is None
