"""Each test of a promise is recorded to fail on a mutant of it, and the mutants edit texts that are there."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def promises() -> Iterator[ModuleType]:
    """The script `benchmarks/house/promises.py`."""
    spec = importlib.util.spec_from_file_location("promises", ROOT / "benchmarks" / "house" / "promises.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks" / "house"))
        patch.setitem(sys.modules, "promises", module)  # dataclasses look their module up
        spec.loader.exec_module(module)
        yield module


def test_the_text_of_each_mutant_stands_once_in_its_file(promises: ModuleType) -> None:
    """Others would test nothing; and an edit that is not Python would fail every test."""
    assert len(promises.MUTANTS) > 40
    counts = {}
    for mutant in promises.MUTANTS:
        text = (ROOT / "cortexdsl" / mutant.file).read_text(encoding="utf-8")
        counts[mutant.name] = text.count(mutant.old)
        if mutant.file.endswith(".py"):
            compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")
    assert {name: count for name, count in counts.items() if count != 1} == {}


def test_each_test_of_a_promise_has_a_mutant_and_a_row_of_the_page(promises: ModuleType) -> None:
    """A test that is added to a promise needs a mutant, and `make promises` with --record. No test is known to pass."""
    rows = {promises.row_of(mutant, test): (mutant.promise, test) for mutant in promises.MUTANTS
            for test in promises.tests_of(mutant)}  # fmt: skip
    assert set(promises.recorded()) == set(rows)
    assert "no" not in promises.recorded().values()
    listed = {(number, test) for number, tests in promises.named_tests().items() for test in tests}
    assert set(rows.values()) == listed
