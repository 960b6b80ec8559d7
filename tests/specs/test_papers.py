"""The specs of published tables: each is checked whole, on made-up questions in the benchmarks' own formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.engine.methods import debating_agents
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.persistence.store import plan_record
from cortexdsl.plan.rehearsal.estimate import CostEstimate
from cortexdsl.report.data import ReportData
from cortexdsl.report.published import published_figures
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


@pytest.mark.parametrize(
    ("spec", "metric", "dataset", "stated"),
    [
        (
            "groupdebate-table-1",
            "accuracy",
            "gsm8k",
            {
                ("mad", "four", 3): 84, ("mad", "four", 4): 86, ("mad", "five", 3): 86, ("mad", "five", 4): 88,
                ("mad", "six", 3): 88, ("mad", "six", 4): 90, ("gd", "four", 3): 86, ("gd", "four", 4): 88,
                ("gd", "five", 3): 90, ("gd", "five", 4): 91, ("gd", "six", 3): 90, ("gd", "six", 4): 92,
            },
        ),
        (
            "groupdebate-table-1",
            "total_tokens",
            "math",  # six agents exceeded the model's window
            {
                ("mad", "four", 3): 19949, ("mad", "four", 4): 30461, ("mad", "five", 3): 21609,
                ("mad", "five", 4): 40223,
                ("gd", "four", 3): 9249, ("gd", "four", 4): 12760, ("gd", "five", 3): 14553, ("gd", "five", 4): 19410,
                ("gd", "six", 3): 15842, ("gd", "six", 4): 19736,
            },
        ),
        (
            "groupdebate-table-2",
            "accuracy",
            "mmlu",
            {("cot",): 53, ("reflection",): 53.5, ("cot-sc-40",): 67.1, ("mad-5-3",): 63, ("gd-5-3",): 78},
        ),
        (
            "madke-tables-2-3",
            "co2",
            "hotpotqa",
            {("madke",): 61.2, ("madke-none",): 53.6, ("madke-wiki",): 53.6, ("madke-web",): 61.2},
        ),
        (
            "madke-tables-2-3",
            "judged",
            "nq",
            {("sp",): 55, ("cot",): 64.8, ("sc",): 54.8, ("rag",): 71, ("mad",): 66, ("madke",): 74.8},
        ),
        ("madke-tables-2-3-fever", "accuracy", "fever", {("sp",): 59.6, ("cot",): 62.5, ("sc",): 59.6, ("rag",): 66.8,
                                                         ("mad",): 51.6, ("madke",): 68.6}),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_the_papers_figures_stand_beside_their_cells(
    spec: str, metric: str, dataset: str, stated: Mapping[tuple[object, ...], float]
) -> None:
    """Read off the papers' tables: each cell has its row's figure, and cells that no row is of have none."""
    plan = compile_spec(f"specs/papers/{spec}.yaml")
    results = ReportData(plan_record(plan, CostEstimate(), {}), *[()] * 7)
    cells = {cell.name: cell for cell in plan.cells}
    found = {}
    paper = "2409.14051" if spec.startswith("group") else "2312.04854"
    for one in published_figures(results):
        is_asked = (one.metric, one.dataset) == (metric, dataset) and paper in one.source
        if is_asked and "GPT-3.5" not in one.setting:
            settings = cells[one.cell].settings
            team = (
                {4: "four", 5: "five", 6: "six"}[len(debating_agents(cells[one.cell].debate))]
                if "table-1" in spec
                else ""
            )
            key = (cells[one.cell].method, team, settings["rounds"]) if team else (one.cell,)
            assert key not in found
            found[key] = one.value if metric == "total_tokens" else round(100 * one.value, 6)
    assert found == dict(stated)
