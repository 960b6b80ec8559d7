"""docs/benchmarks/guarantees.md names a test for each promise of docs/guarantees.md, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROMISE = re.compile(r"^\| (\d+) \| (.+) \|$", re.MULTILINE)
TESTS = re.compile(r"^\| (\d+) \| .+ \| (`tests/.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.fixture(scope="module")
def promises(repository: Path) -> list[tuple[str, str]]:
    """Numbers and texts of the promises."""
    return PROMISE.findall((repository / "docs/guarantees.md").read_text(encoding="utf-8"))


def test_promises_are_numbered_in_order(promises: list[tuple[str, str]]) -> None:
    numbers = [int(number) for number, _ in promises]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 30


def test_each_promise_is_attacked_by_a_test_that_exists(promises: list[tuple[str, str]], repository: Path) -> None:
    rows = TESTS.findall((repository / "docs/benchmarks/guarantees.md").read_text(encoding="utf-8"))
    assert [number for number, _ in rows] == [number for number, _ in promises]
    for number, tests in rows:
        assert TEST.findall(tests)
        for path, name in TEST.findall(tests):
            text = (repository / path).read_text(encoding="utf-8") if (repository / path).is_file() else ""
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"promise {number}: {path} has no {name}"
