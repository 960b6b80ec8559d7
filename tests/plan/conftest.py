"""Fixtures of the tests of plans."""

from __future__ import annotations

import pytest

from cortexdsl.plan.experiment import Plan
from tests.plan.specs import plan


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The plan of `SPEC`, compiled once: it is frozen."""
    return plan(tmp_path_factory.mktemp("small"))
