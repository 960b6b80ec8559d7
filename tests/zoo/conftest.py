"""PyTorch, which takes a second to import: only in a worker that runs a test of it."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, if it is installed."""
    return pytest.importorskip("torch", reason='training needs the extra: pip install ".[zoo]"')
