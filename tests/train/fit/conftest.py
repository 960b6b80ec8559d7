"""Training, whose libraries take seconds to import: only in a worker that runs a test of it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session")
def trl() -> None:
    """Skip where the libraries of training are not installed."""
    if find_spec("trl") is None:
        pytest.skip('training needs the extra: pip install ".[train]"')
