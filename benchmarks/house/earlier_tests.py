"""A plugin of pytest that runs only tests whose functions an earlier version has, so that times can be compared.

EARLIER=COMMIT make test ARGS="-p benchmarks.house.earlier_tests"
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache

import pytest


@cache
def functions_of(commit: str) -> frozenset[str]:
    """Return the names of the test functions of a commit."""
    command = ["git", "grep", "-hE", r"def test_\w+", commit, "--", "tests"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return frozenset(re.findall(r"def (test_\w+)", found))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of functions that the commit does not have."""
    known = functions_of(os.environ["EARLIER"])
    others = [item for item in items if getattr(item, "originalname", item.name) not in known]
    items[:] = [item for item in items if getattr(item, "originalname", item.name) in known]
    config.hook.pytest_deselected(items=others)
