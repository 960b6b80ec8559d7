"""The specs of published tables: each is checked whole, on made-up questions in the benchmarks' own formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.plan import compile_spec
from tests.specs.made_data import write_all
from tests.tracked import tracked

ROOT = Path(__file__).resolve().parents[2]
PAPERS = [path.stem for path in tracked("specs/papers", "[!_]*.yaml")]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return write_all(tmp_path_factory.mktemp("data"))


@pytest.fixture
def here(data: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout, with every variable that names a dataset."""
    monkeypatch.chdir(ROOT)
    for name, path in data.items():
        monkeypatch.setenv(name, path)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", PAPERS)
def test_a_published_table_can_be_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`cortexdsl check` finds nothing: names, settings, claims, and every prompt on real rows."""
    assert main(["check", f"specs/papers/{name}.yaml"]) == 0
    said = capsys.readouterr()
    assert "it can run" in said.out
    assert said.err == ""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", PAPERS)
def test_nothing_is_spent_without_a_limit(name: str) -> None:
    limits = compile_spec(f"specs/papers/{name}.yaml").limits
    assert limits.dollars or limits.tokens or limits.calls


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ("cortexdebate-tables-1-7-8", 9),  # seven baselines, CortexDebate, and sampling at its price
        ("cortexdebate-tables-2-3-4", 7),  # the seven rows of table 2
        ("cortexdebate-table-9", 4),
        ("cortexdebate-table-10", 3),
        ("cortexdebate-table-11", 7),
        ("cortexdebate-figure-5", 30),  # six teams times five numbers of rounds
        ("groupdebate-table-1", 12),  # two methods, three teams, two numbers of rounds
        ("groupdebate-figure-11", 4),
        ("madke-figures-4-5", 6),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_table_has_as_many_cells_as_the_paper_has_rows(spec: str, cells: int) -> None:
    assert len(compile_spec(f"specs/papers/{spec}.yaml").cells) == cells
