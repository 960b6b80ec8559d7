"""Each promise of docs/guarantees.md names a test, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROMISE = re.compile(r"^\| (\d+) \| (?!`tests/)(.+) \| (.+) \|$", re.MULTILINE)
TESTS = re.compile(r"^\| (\d+) \| (`tests/.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    """Both pages: the promises, and their tests."""
    pages = ("docs/guarantees.md", "docs/guarantees-tests.md")
    return "\n".join((repository / name).read_text(encoding="utf-8") for name in pages)


def test_promises_are_numbered_in_order(page: str) -> None:
    numbers = [int(number) for number, *_ in PROMISE.findall(page)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 30


def test_each_promise_is_attacked_by_a_test_that_exists(page: str, repository: Path) -> None:
    rows = TESTS.findall(page)
    assert [number for number, _ in rows] == [number for number, *_ in PROMISE.findall(page)]
    for number, tests in rows:
        for path, name in TEST.findall(tests):
            text = (repository / path).read_text(encoding="utf-8") if (repository / path).is_file() else ""
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"promise {number}: {path} has no {name}"
