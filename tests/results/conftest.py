"""An experiment small enough to count, written once; tests only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.results.made import write_scored


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`results/quickstart` of the made experiment, with its scores."""
    return write_scored(tmp_path_factory.mktemp("scored") / "results" / "quickstart", "quickstart")
