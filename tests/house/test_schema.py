"""The JSON Schema that editors read is the one that the types make."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cortexdsl.analysis.metrics.registry import ALIASES, METRICS
from cortexdsl.spec.claims.metric_names import METRIC_NAMES, OTHER_NAMES, TEXT_METRICS


@pytest.mark.parametrize("kind", ["spec", "protocol"])
def test_the_shipped_schema_is_what_the_verb_prints(repository: Path, kind: str) -> None:
    """After a change of the language: `cortexdsl schema KIND > docs/schema/KIND.json`."""
    printed = subprocess.run(
        [sys.executable, "-m", "cortexdsl", "schema", kind], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(printed) == json.loads((repository / "docs" / "schema" / f"{kind}.json").read_text())


def test_the_language_knows_exactly_the_metrics_that_the_analysis_computes() -> None:
    """A metric that is added to the registry is a word of the language."""
    assert tuple(METRICS) == (*METRIC_NAMES, *TEXT_METRICS)
    assert set(OTHER_NAMES) == set(ALIASES)
