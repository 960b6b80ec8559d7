"""Every shipped spec is a spec: it is read, resolved and compiled, and editors know its schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import DataError, SpecError
from cortexdsl.plan.compiler import compile_spec
from tests.tracked import tracked

ROOT = Path(__file__).resolve().parents[2]
ALL = [path.relative_to(ROOT) for path in tracked("specs", "*.yaml")]
WHOLE = [path for path in ALL if not path.name.startswith("_")]


def test_the_quickstart_is_shipped() -> None:
    """`make demo` runs it."""
    assert Path("specs/quickstart.yaml") in WHOLE


@pytest.mark.parametrize("spec", WHOLE, ids=str)
def test_spec_compiles(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in a shipped spec would be the first thing that a new user meets."""
    monkeypatch.chdir(ROOT)
    try:
        plan = compile_spec(spec.as_posix())
    except DataError as error:  # raised after the whole text was found right
        pytest.skip(f"its data is not on this machine: {error}")
    except SpecError as error:  # tests/specs checks these on made-up data
        if not all(problem.what.endswith("is not set") for problem in error.problems):
            raise
        pytest.skip(f"its data is not on this machine: {error.problems[0].what}")
    assert plan.cells
    assert plan.title


@pytest.mark.parametrize("spec", ALL, ids=str)
def test_spec_names_its_schema(spec: Path) -> None:
    """One line gives completion and red underlines in any editor with a YAML language server."""
    first = (ROOT / spec).read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (ROOT / spec.parent / first.partition("$schema=")[2]).is_file()
