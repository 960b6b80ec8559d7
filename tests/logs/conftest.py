"""The interpreter that has Inspect, in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def with_inspect(repository: Path) -> Path:
    """Python of `make logs`; the test is skipped without it."""
    python = repository / "build" / "logs" / "bin" / "python"
    if not python.is_file():
        pytest.skip("inspect-ai is not installed: `make logs` puts it into build/logs")
    return python
