"""The JSON Schema that editors read is the one that the types make."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("kind", ["spec", "protocol"])
def test_the_shipped_schema_is_what_the_verb_prints(repository: Path, kind: str) -> None:
    """After a change of the language: `cortexdsl schema KIND > docs/schema/KIND.json`."""
    printed = subprocess.run(
        [sys.executable, "-m", "cortexdsl", "schema", kind], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(printed) == json.loads((repository / "docs" / "schema" / f"{kind}.json").read_text())
