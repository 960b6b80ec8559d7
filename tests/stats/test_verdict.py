"""What `cortexdsl verdict` writes beside comparisons and claims: doubtful answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.cli.main import main
from cortexdsl.stats.inference import families
from cortexdsl.stats.inference.paired import Paired
from tests.stats.tables import long_table

RIGHT = {"a": 16, "b": 10, "c": 4}  # of 20 questions, always the first ones


def _verdict(folder: Path, names: tuple[str, ...], unreadable: int = 0) -> dict[str, pd.DataFrame]:
    """Run the verb on one replicate of `RIGHT` on each dataset; the last answers of b to the first are unreadable."""
    answers = {cell: (np.arange(20) < right).astype(float)[None] for cell, right in RIGHT.items()}
    scores = pd.concat([long_table(answers, dataset=name, unparsed=0) for name in names])
    late = scores["question_id"].isin([f"q{20 - k}" for k in range(1, unreadable + 1)])
    scores["unparsed"] = (late & scores["cell"].eq("b") & scores["dataset"].eq(names[0])).astype(int)
    scores.to_csv(folder / "scores.csv", index=False)
    plan = {
        "schema_version": 1, "seed": 1, "metrics": ["accuracy"], "cells": [{"cell": cell} for cell in RIGHT],
        "families": [{"name": "main", "compare": ["b", "c"], "to": "a", "correction": "none"}],
        "hypotheses": ["accuracy(a) > accuracy(b)"], "analysis": {},
    }  # fmt: skip
    (folder / "plan.json").write_text(json.dumps(plan))
    assert main(["verdict", str(folder)]) == 0
    return {name: pd.read_csv(folder / f"{name}.csv") for name in ("bounds",)}


def test_unreadable_answers_that_could_turn_a_comparison(tmp_path: Path) -> None:
    """a is right on 6 questions more than b, p = .014; with its 8 unreadable answers right, b leads by 2 of 20."""
    row = _verdict(tmp_path, ("x",), unreadable=8)["bounds"].iloc[0]
    assert (row["cell"], row["unparsed"], bool(row["changes"])) == ("b", 8, True)
    assert row["p_adjusted"] == 2 * Paired(6, 0, 20).sides(0.0)[0]
    assert row["best_difference"] == pytest.approx(0.1)


def test_where_there_is_nothing_a_file_has_only_its_head(tmp_path: Path) -> None:
    """Answers that can all be read have no bounds."""
    found = _verdict(tmp_path, ("x",))
    assert found["bounds"].empty
    assert tuple(found["bounds"]) == families.BOUND_COLUMNS
