"""Experiments in the formats of other programs, read back: by their JSON, and by the programs where they are here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.verbs import run
from cortexdsl.export.hub import export_hub
from cortexdsl.export.inspect_logs import export_inspect
from tests.results.made import write_scored


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made experiment with its scores; only to be read."""
    return write_scored(tmp_path_factory.mktemp("exported") / "results" / "made")


def log_of(made: Path, target: Path, cell: str) -> dict[str, Any]:
    (path,) = (path for path in export_inspect(made, target) if f"sums-{cell}_" in path.name)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_each_cell_is_a_log_and_each_debate_a_sample(made: Path, tmp_path: Path) -> None:
    """Three cells, four questions, two replicates: the question's id and the replicate tell samples apart."""
    assert len(export_inspect(made, tmp_path / "logs")) == 3
    log = log_of(made, tmp_path / "logs", "sparse")
    assert log["version"] == 2
    assert log["eval"]["task"] == "made/sums/sparse"
    assert {(sample["id"], sample["epoch"]) for sample in log["samples"]} == {
        (f"q-{number}", epoch) for number in range(1, 5) for epoch in (1, 2)
    }
    # q-1 and q-3 end right, q-2 wrong, q-4 is tied between 7 and 3, in both replicates.
    assert log["results"]["scores"][0]["metrics"]["mean"]["value"] == pytest.approx(0.75)
    assert log["stats"]["model_usage"]["builtin/solver"]["input_tokens"] == 8 * 6 * 50


def test_a_sample_tells_who_was_asked_what_and_said_what(made: Path, tmp_path: Path) -> None:
    """The prompts come from the call logs; the second replicate has none, and its replies stand alone."""
    samples = log_of(made, tmp_path / "logs", "sparse")["samples"]
    first = next(sample for sample in samples if (sample["id"], sample["epoch"]) == ("q-1", 1))
    assert [message["role"] for message in first["messages"]] == ["user", "assistant"] * 6
    assert first["messages"][0]["content"] == "What is 3 + 4? This is prompt 0."
    assert "ann" in first["messages"][1]["content"]
    assert first["messages"][1]["metadata"]["speaker"] == "ann"
    again = next(sample for sample in samples if sample["epoch"] == 2)
    assert {message["role"] for message in again["messages"]} == {"assistant"}


def test_the_same_experiment_gives_the_same_logs(made: Path, tmp_path: Path) -> None:
    """Ids are made of what they name, times of the plan's."""
    first, second = (export_inspect(made, tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_dataset_has_a_card_and_tables_of_one_type_a_column(made: Path, tmp_path: Path) -> None:
    """Weights are unknown in all but one cell: the type is learned from every row, not from the first."""
    parquet = pytest.importorskip("pyarrow.parquet")
    counts = export_hub(made, tmp_path / "set")
    assert counts == {"debates": 24, "turns": 2 * (2 * 4 * 6 + 4 * 3), "edges": 2 * 2 * 4 * 9}
    card = (tmp_path / "set" / "README.md").read_text()
    assert card.startswith("---\npretty_name: ")
    assert "- config_name: debates\n  data_files: data/debates.parquet\n  default: true" in card
    for name, count in counts.items():
        table = parquet.read_table(tmp_path / "set" / "data" / f"{name}.parquet")
        assert table.num_rows == count
    edges = parquet.read_table(tmp_path / "set" / "data" / "edges.parquet").to_pandas()
    assert edges["weight"].dtype == float
    assert edges.loc[edges["cell"] == "full", "weight"].isna().all()


def test_datasets_loads_it_offline(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the library itself, where it is installed (the extra `data`)."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    library = pytest.importorskip("datasets", reason="datasets is not installed: the extra data")
    export_hub(made, tmp_path / "set")
    loaded = library.load_dataset(str(tmp_path / "set"), "debates", cache_dir=str(tmp_path / "cache"))
    assert loaded["train"].num_rows == 24


def test_the_verb_says_what_it_wrote_and_what_it_does_not_know(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The spec of this experiment is gone: its questions' words are not known, and that is said."""
    assert run(["export", str(made), "--to", "inspect", "--out", str(tmp_path / "logs")]) == 0
    said = capsys.readouterr()
    assert "3 logs written" in said.out
    assert "questions and golds are not all known: specs/made.yaml" in said.err
    assert run(["export", str(made / "debates"), "--to", "inspect", "--out", str(tmp_path / "x")]) == 2
    assert "a folder with plan.json" in capsys.readouterr().err
    (tmp_path / "file").write_text("mine")
    assert run(["export", str(made), "--to", "huggingface", "--out", str(tmp_path / "file")]) == 2
    assert (tmp_path / "file").read_text() == "mine"
