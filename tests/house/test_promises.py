"""The mutants of promises (`benchmarks/house/promises.py`) edit texts that are there; others would test nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_text_of_each_mutant_stands_once_in_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "house"))
    spec = importlib.util.spec_from_file_location("promises", ROOT / "benchmarks" / "house" / "promises.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "promises", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    assert len(module.MUTANTS) > 40
    counts = {
        mutant.name: (ROOT / "cortexdsl" / mutant.file).read_text(encoding="utf-8").count(mutant.old)
        for mutant in module.MUTANTS
    }
    assert {name: count for name, count in counts.items() if count != 1} == {}
