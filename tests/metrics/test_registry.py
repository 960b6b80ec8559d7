"""A metric is one declaration and one function: no other file knows its name."""

from __future__ import annotations

import ast
import inspect
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import cortexdsl
from cortexdsl.core import metrics as declarations
from cortexdsl.core.metrics import METRICS
from cortexdsl.metrics import budgets, calibration, influence, outcome, registry, replies
from tests.stats import debates

DECLARATION = (
    'Metric("split", "split", "share", "lower", "debates whose debaters end with several answers", binary=True,'
    ' noun="split debates"), '
)
FUNCTION = '''def split(view: DebateView) -> float:
    """Return 1 if the debaters' last answers differ, else 0."""
    return float(len({turn.answer for turn in view.answers[-1]}) > 1)


MEASURES = by_column(split, '''
USE = """
import json, sys
import pandas as pd
from cortexdsl.metrics.estimates import metrics_table
from cortexdsl.metrics.scores import score_rows
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.claims.parser import parse_claim
from cortexdsl.core.metrics import find_metric
sys.path.append(sys.argv[1])
from debates import grade, made, record
debates = [made([{"a": "R", "b": "R"}], question="q1"), made([{"a": "R", "b": "W"}], question="q2")]
rows = score_rows(map(record, debates), grade)
table = metrics_table(score_table(pd.DataFrame(rows))).set_index("metric")
best = parse_claim("best k of m by split is 2")
print(json.dumps({
    "columns": [row["split"] for row in rows],
    "last": [name for name in rows[0] if "@" not in name][-2:],
    "estimate": table.loc["split", "estimate"],
    "best": best.extreme,
    "noun": find_metric("split").noun,
}))
"""


def copied(module: ModuleType, package: Path) -> Path:
    """The copy of a module's file in a copy of the package."""
    return package / Path(inspect.getfile(module)).relative_to(Path(inspect.getfile(cortexdsl)).parent)


def test_a_metric_is_added_in_two_files(tmp_path: Path) -> None:
    """In a copy of the package: one line next to the other declarations, one function next to the other measures.

    It is then a column of scores.csv, a row of metrics.csv and a word of claims, and `best` reads its direction. Two
    debates, of which one ends with two answers: half of them are split.
    """
    package = tmp_path / "cortexdsl"
    shutil.copytree(Path(inspect.getfile(cortexdsl)).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    file = copied(declarations, package)
    text = file.read_text(encoding="utf-8")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    first = next(call for call in calls if call.args and ast.unparse(call.args[0]) == "'em'")
    lines = text.splitlines(keepends=True)
    lines.insert(first.lineno - 1, f"    {DECLARATION}\n")
    file.write_text("".join(lines), encoding="utf-8")
    functions = copied(outcome, package)
    text = functions.read_text(encoding="utf-8")
    functions.write_text(text.replace("MEASURES = by_column(", FUNCTION), encoding="utf-8")
    command = [sys.executable, "-c", USE, str(Path(inspect.getfile(debates)).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "columns": [0.0, 1.0], "last": ["split", "schema_version"], "estimate": 0.5, "best": "lowest",
        "noun": "split debates",
    }  # fmt: skip


def test_the_example_of_the_manual_is_this_metric(repository: Path) -> None:
    page = " ".join((repository / "docs/extending.md").read_text(encoding="utf-8").replace("\n+", "\n").split())
    assert DECLARATION.strip() in page
    assert " ".join(FUNCTION.split()) in page


def test_a_column_that_is_declared_without_a_function_is_not_made_up() -> None:
    """Scores of texts and of other readings are filled by the job that knows the question."""
    found = registry.find_measures(METRICS.values())
    assert set(found) == {*registry.MEASURES, *registry.asked_measures(METRICS)}
    assert not set(found) & set(registry.OF_JOB)
    with pytest.raises(KeyError, match="forgotten"):
        registry.find_measures([replace(METRICS["accuracy"], column="forgotten")])


def test_every_measure_belongs_to_a_declared_metric() -> None:
    """A function that is listed without a declaration would fill no column."""
    columns = {column for metric in METRICS.values() for column in (metric.column, metric.per)}
    listed = [*outcome.MEASURES, *replies.MEASURES, *influence.MEASURES, *calibration.MEASURES, *budgets.MEASURES]
    assert set(listed) <= columns
    assert list(registry.find_measures([METRICS["improvement"]])) == ["opening_score", "gain"]
