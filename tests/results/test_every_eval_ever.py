"""Records of Every Eval Ever: valid by its published schema, and read back with the same verdicts."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from typing import Any

import jsonschema
import pytest

from cortexdsl.cli.verbs import run
from cortexdsl.export.every_eval_ever import export_every_eval_ever
from tests.results.made import write_scored

SCHEMAS = Path(__file__).with_name("schemas")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made experiment with its scores; only to be read."""
    return write_scored(tmp_path_factory.mktemp("records") / "results" / "made")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_records_are_valid_and_say_where_their_samples_are(made: Path, tmp_path: Path) -> None:
    means, samples = (
        jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))
        for name in ("eval", "instance_level_eval")
    )
    found = export_every_eval_ever(made, tmp_path)
    assert len(found) == 3
    for path in found:
        record = json.loads(path.with_name(path.name.replace("_samples.jsonl", ".json")).read_text())
        means.validate(record)
        for row in rows(path):
            samples.validate(row)
            assert (row["evaluation_id"], row["model_id"]) == (record["evaluation_id"], record["model_info"]["id"])
        details = record["detailed_evaluation_results"]
        assert tmp_path / details["file_path"] == path
        assert details["checksum"] == sha256(path.read_bytes()).hexdigest()
        assert details["total_rows"] == len(rows(path)) == 8


def test_a_sample_is_a_debate_with_its_speakers(made: Path, tmp_path: Path) -> None:
    """q-1: 7, 7 and 3 are said, then three times 7; only the first replicate has prompts in the call log."""
    (path,) = (path for path in export_every_eval_ever(made, tmp_path) if path.parent.name == "sparse")
    first = next(row for row in rows(path) if (row["sample_id"], row["metadata"]["epoch"]) == ("q-1", "1"))
    assert [message["role"] for message in first["messages"]] == ["user", "assistant"] * 6
    assert [message["turn_idx"] for message in first["messages"]] == list(range(12))
    assert [message.get("speaker") for message in first["messages"]][1::2] == ["ann", "bob", "cy"] * 2
    read = [(one["extracted_value"], one["is_terminal"]) for one in first["answer_attribution"]]
    assert read == [("7", False), ("7", False), ("3", False), *[("7", True)] * 3]
    assert first["evaluation"] == {"score": 1.0, "is_correct": True, "num_turns": 6}
    assert first["token_usage"] == {"input_tokens": 300, "output_tokens": 60, "total_tokens": 360}


def test_the_same_results_give_the_same_bytes(made: Path, tmp_path: Path) -> None:
    first, second = ([path.read_bytes() for path in export_every_eval_ever(made, tmp_path / name)] for name in "ab")
    assert first == second


def test_they_are_compared_as_the_results_are(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ledger that is published with them is not taken for a log."""
    claim = ["--claim", "accuracy(sparse) > accuracy(full)"]
    assert run(["export", str(made), "--to", "every-eval-ever", "--out", str(tmp_path / "out")]) == 0
    assert "3 cells written" in capsys.readouterr().out
    (tmp_path / "out" / "ledger.jsonl").write_text("{}\n")
    found = []
    for source in (made, tmp_path / "out"):
        assert run(["compare", str(source), "--to", "full", "--json"]) == 0
        compared = {row["cell"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
        run(["compare", str(source), *claim])
        verdicts = Counter(word for word in capsys.readouterr().out.split() if word.isupper() and len(word) > 5)
        found.append((compared["sparse"], verdicts))
    assert found[0] == found[1]
    assert found[0][1]


def test_results_without_a_score_are_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(copytree(made, tmp_path / "unscored"))
    (folder / "scores.csv").unlink()
    assert run(["export", str(folder), "--to", "every-eval-ever", "--out", str(tmp_path / "out")]) == 2
    assert "no debate has a score yet" in capsys.readouterr().err
