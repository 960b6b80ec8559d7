"""Results as data frames, on an experiment small enough to count."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cortexdsl as cx
from cortexdsl.errors import DataError
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import begin_run, end_run
from tests.results.made import write_scored

NOTEBOOK = Path(__file__).parents[2] / "docs" / "python.ipynb"


def test_frames_have_a_row_for_each_thing(scored: Path) -> None:
    """Three cells, four questions, two replicates; six turns a debate, three without rounds; nine pairs a graph."""
    run = cx.open(scored)
    assert run.cells == ("sparse", "full", "vote[k=1]")
    assert len(run.scores) == len(run.debates) == 24
    assert len(run.turns) == 2 * (2 * 4 * 6 + 4 * 3)
    assert len(run.edges) == 2 * 2 * 4 * 9
    assert run.scores.groupby("cell").score.mean().round(4).to_dict() == {
        "full": 0.5, "sparse": 0.75, "vote[k=1]": 0.75,
    }  # fmt: skip
    assert run.debates.loc[0, "agents"] == ["ann", "bob", "cy"]
    assert run.scores.question_id.iloc[0] == "q-1"


def test_an_experiment_is_opened_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_scored(tmp_path / "results" / "quickstart", "quickstart")
    monkeypatch.chdir(tmp_path)
    assert cx.open("quickstart").cells == cx.open("results/quickstart").cells


def test_opening_results_of_a_run_that_ended_early_warns(tmp_path: Path) -> None:
    """The run had the scores left to make, and nobody runs it now."""
    folder = write_scored(tmp_path / "results" / "quickstart", "quickstart")
    (folder / "scores.csv").unlink()
    begin_run(Layout(folder.as_posix()), [(folder / "scores.csv").as_posix()], "x", has_lock=False)
    end_run(Layout(folder.as_posix()), "stopped", "Ctrl-C")
    with pytest.warns(UserWarning, match=r"Stopped by Ctrl-C while \w+\. Tables here may be incomplete"):
        cx.open(folder)


def test_compare_is_the_test_of_the_workflow(scored: Path) -> None:
    """sparse is right on q-3 where full is wrong, and else they agree: a quarter, on one of four questions."""
    found = cx.open(scored).compare("sparse", to="full").iloc[0]
    assert (found.cell, found.reference, found.difference, found.discordant) == ("sparse", "full", 0.25, 1)
    everything = cx.open(scored).compare(to="full", metric=["accuracy", "input_tokens"])
    assert list(zip(everything.metric, everything.cell, strict=True)) == [
        (metric, cell) for metric in ("accuracy", "input_tokens") for cell in ("sparse", "vote[k=1]")
    ]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    made = write_scored(tmp_path / "results" / "quickstart", "quickstart")
    with pytest.raises(DataError, match="no such folder of results"):
        cx.open(tmp_path / "nowhere")
    (made / "rounds.csv").unlink(missing_ok=True)
    with pytest.raises(DataError, match=r"rounds\.csv: not there; run the experiment"):
        _ = cx.open(made).rounds


def test_the_import_is_light() -> None:
    """Whoever imports the package for its version pays for nothing else."""
    code = "import cortexdsl, sys; print(sorted({'pandas', 'numpy', 'scipy', 'yaml', 'jinja2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_notebook_runs(scored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of docs/python.ipynb, in order, in one namespace, beside results/quickstart."""
    monkeypatch.chdir(scored.parents[1])
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    codes = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(codes) > 5
    names: dict[str, object] = {}
    for number, code in enumerate(codes, 1):
        made = code.replace("debate[topology=trust, recalibration=none]", "sparse").replace('"debate"', '"full"')
        exec(compile(made, f"python.ipynb, cell {number}", "exec"), names)
