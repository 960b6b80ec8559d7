"""Published figures stand beside an experiment's own, with their source, and only where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cortexdsl.report.data import read_data
from cortexdsl.report.published import FIGURES, published_figures, published_table
from tests.report.conftest import METRICS, plan, write_results


def results(folder: Path, dataset: str) -> Any:
    write_results(folder, datasets={"arithmetic": {"name": dataset}})
    return read_data(folder)


def test_the_papers_figure_stands_beside_ours(tmp_path: Path) -> None:
    """CortexDebate on MATH: 56.00 % in Table 1; all cells here have that protocol, and 75 % is what sparse has."""
    table = published_table(results(tmp_path, "math"))
    assert table is not None
    row = next(row for row in table.rows if row[0].text == "sparse" and row[2].text == "Accuracy")
    assert "Table 1" in row[3].text
    assert row[4].values == (pytest.approx(0.56),)
    assert row[5].values == (0.75, 0.70, 0.80)
    assert "arXiv 2507.03928, Table 1" in table.note
    assert "no replication" in table.note


def test_other_datasets_and_protocols_have_none(tmp_path: Path) -> None:
    assert "arithmetic" in METRICS
    assert published_table(results(tmp_path, "arithmetic")) is None
    cells = [cell | {"protocol": "mine"} for cell in plan()["cells"]]
    write_results(tmp_path / "own", datasets={"arithmetic": {"name": "math"}}, cells=cells)
    assert published_table(read_data(tmp_path / "own")) is None


def cell(name: str, **words: Any) -> dict[str, Any]:
    return {"cell": name, "method": "gd", "protocol": "group", "digest": name, "debaters": ["a", "b", "c", "d"],
            "settings": {"rounds": 3, "rounds_per_stage": 2}} | words  # fmt: skip


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        ({}, {0.86, 7362}),
        ({"settings": {"rounds": 4, "rounds_per_stage": 2}}, {0.88, 10241}),
        ({"settings": {"rounds": 3, "rounds_per_stage": 1}}, set()),
        ({"debaters": ["a", "b", "c"]}, set()),
        ({"axes": {"team": "four", "rounds": 3}}, {0.86, 7362}),
        ({"axes": {"rounds": 3, "groups": 2}}, set()),  # the row says nothing of groups
        ({"match": {"unit": "calls", "cell": "x"}}, set()),
    ],
)
def test_a_row_is_of_a_cell_that_is_what_it_states(tmp_path: Path, words: dict[str, Any], figures: set[float]) -> None:
    """As many debaters, the stated settings, and no axis of which the row says nothing."""
    write_results(tmp_path, datasets={"arithmetic": {"name": "gsm8k"}}, cells=[cell("gd", **words)])
    found = {round(one.value, 6) for one in published_figures(read_data(tmp_path))}
    assert found == figures


def test_every_row_has_a_figure_for_every_dataset() -> None:
    for table in yaml.safe_load(FIGURES.read_text(encoding="utf-8")):
        assert all(len(row["values"]) == len(table["datasets"]) for row in table["rows"])
        assert all(table[word] for word in ("source", "setting", "metric", "scale"))


ACC = {"method": "acc", "protocol": "acc", "debaters": ["a"], "settings": {"rounds": 5}}
PHASES = ("1-actor", "1-critic", "2-actor", "2-critic")


def trained(*agents: str, loss: str = "dpo", **words: Any) -> dict[str, Any]:
    """A plan in which agents are named after the phases that their models came out of; others learned nothing."""
    made = [{"phase": phase, "model": f"tiny/./results/x/train/acc/{phase}/model"} for phase in PHASES]
    known = {one["phase"]: one["model"] for one in made}
    return {
        "datasets": {"arithmetic": {"name": "boolq"}},
        "agents": [{"name": agent, "model": known.get(agent, "tiny/cricket")} for agent in agents],
        "trainings": [{"training": "acc", "optimiser": {"loss": loss}, "phases": made}],
        "cells": [cell("acc", **ACC | {"agents": list(agents)} | words)],
    }


@pytest.mark.parametrize(
    ("plan", "figures"),
    [
        (trained("1-actor", "1-critic"), {0.887, 0.877, 0.84}),  # ACC-Debate: Llama-3, Mistral, Gemma-2
        (trained("2-actor", "2-critic"), {0.894, 0.893, 0.845}),  # ACC-Debate+
        (trained("1-actor", "b"), {0.867, 0.873, 0.839}),  # Table 2
        (trained("a", "1-critic"), {0.834, 0.843, 0.774}),
        (trained("a", "b"), set()),  # the paper has no team of which nobody was trained
        (trained("1-actor", "1-critic", loss="ipo"), set()),
        (trained("1-actor", "1-critic", settings={"rounds": 3}), set()),
        (trained("a", "b", protocol="multi-llm", settings={"rounds": 4}, debaters=["a", "b"]), {0.812, 0.801, 0.75}),
        (trained("1-actor", "1-actor", loss="sft", protocol="multi-llm", settings={"rounds": 4}), {0.798, 0.84, 0.783}),
        (trained("1-actor", "1-actor", protocol="multi-llm", settings={"rounds": 4}), set()),
    ],
)
def test_a_row_of_trained_agents_is_of_agents_who_learned_the_same(
    tmp_path: Path, plan: dict[str, Any], figures: set[float]
) -> None:
    """Estornell et al. 2024, tables 1 and 2, the row of BoolQ: who was trained, by which loss, in which phase."""
    write_results(tmp_path, **plan)
    assert {one.value for one in published_figures(read_data(tmp_path))} == figures
