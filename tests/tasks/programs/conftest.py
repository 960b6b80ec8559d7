"""Tests that run programs are skipped if there is no sandbox."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.programs import sandbox


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `sandboxed` if programs cannot be run here."""
    reason = sandbox.problem()
    for item in items:
        if reason and item.get_closest_marker("sandboxed"):
            item.add_marker(pytest.mark.skip(reason=reason))
