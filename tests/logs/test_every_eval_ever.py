"""Samples of Every Eval Ever are imported as records; what an export writes is the same debate again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.export.every_eval_ever import export_every_eval_ever
from cortexdsl.records import Record, debate_files, read_debates
from tests.results.made import write_scored
from tests.results.told import told


def sample(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"turn_idx": k, **message} for k, message in enumerate(messages)]
    final = {"turn_idx": 0, "source": "messages[0].content", "extracted_value": "7", "extraction_method": "custom",
             "is_terminal": True}  # fmt: skip
    return {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "x/small", "evaluation_name": "sums",
            "sample_id": "q1", "interaction_type": "multi_turn", "input": {"raw": "3 + 4?", "reference": ["7"]},
            "output": None, "messages": numbered, "answer_attribution": [final],
            "evaluation": {"score": 1.0, "is_correct": True}, **more}  # fmt: skip


def said(text: str | None, role: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def imported(folder: Path, *rows: dict[str, Any]) -> int:
    (folder / "x_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return main(["import", str(folder / "x_samples.jsonl"), "--out", str(folder / "results" / "old")])


def records(folder: Path) -> list[Record]:
    return [record for path in debate_files(folder) for record in read_debates(path)]


def test_an_exported_debate_is_the_same_debate_again(tmp_path: Path) -> None:
    """Speakers, rounds, replies, who heard whom, answers and scores; for every cell of the experiment."""
    made = write_scored(tmp_path / "results" / "made")
    again = []
    for number, path in enumerate(export_every_eval_ever(made, tmp_path / "out")):
        again.append(tmp_path / "results" / f"again{number}")
        assert main(["import", str(path), "--out", str(again[-1])]) == 0
    assert told(*again) == told(made)


def test_the_proposed_extension_is_what_is_written_and_read(tmp_path: Path, repository: Path) -> None:
    """The example of the page is read as it says, and its keys are those of an export."""
    page = (repository / "docs" / "decisions" / "049-debates-in-every-eval-ever.md").read_text()
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    earlier = [said("Answer: 8", speaker=name, stage=0, round=0, turn=k, heard=[]) for k, name in enumerate("xyz")]
    assert imported(tmp_path, sample(*earlier, example)) == 0
    (record,) = records(tmp_path / "results" / "old")
    last = record.debate.turns[-1]
    assert (last.speaker, last.round, last.answer, last.heard) == ("ann", 1, "7", (1,))
    made = write_scored(tmp_path / "results" / "made")
    first = json.loads(export_every_eval_ever(made, tmp_path / "out")[0].read_text().splitlines()[0])
    written = {key for message in first["messages"] for key in message} - {"turn_idx", "role", "content"}
    assert written == {key for key in written if f"| `{key}` |" in page}
    assert len(written) == 7


def test_messages_without_speakers_are_rounds_of_one_agent(tmp_path: Path) -> None:
    """Prompts, tools and empty messages are not replies."""
    messages = [said("3 + 4?", "user"), said("Answer: 8"), said(None), said("Sure?", "user"), said("Answer: 7")]
    assert imported(tmp_path, sample(*messages, metadata={"epoch": "2"})) == 0
    (record,) = records(tmp_path / "results" / "old")
    assert (record.header.dataset, record.header.cell, record.header.replicate) == ("sums", "small", 2)
    assert [(turn.speaker, turn.round, turn.answer) for turn in record.debate.turns] == [
        ("agent", 0, "8"), ("agent", 1, "7")
    ]  # fmt: skip
    assert [agent.model.model for agent in record.debate.agents] == ["x/small"]


def test_choices_and_models_of_speakers(tmp_path: Path) -> None:
    asked = {"raw": "3 + 4?", "reference": ["B"], "choices": ["A: 8", "B: 7"]}
    final = [{"turn_idx": 0, "source": "messages[0].content", "extracted_value": "B", "extraction_method": "custom",
              "is_terminal": True}]  # fmt: skip
    messages = [said("Answer: B", speaker=name, model=f"m/{name}") for name in ("ann", "bob")]
    assert imported(tmp_path, sample(*messages, input=asked, answer_attribution=final)) == 0
    (record,) = records(tmp_path / "results" / "old")
    assert [(agent.name, agent.model.model) for agent in record.debate.agents] == [("ann", "m/ann"), ("bob", "m/bob")]
    assert [(turn.round, turn.answer) for turn in record.debate.turns] == [(0, "B"), (0, "B")]
    assert record.debate.answer == "B"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (sample(messages=None), "it has no message of a model; only debates are imported"),
        (sample(said("7"), input={"raw": "?"}), "it lacks 'reference'"),
        (sample(said("7", round="x")), "invalid literal for int"),
    ],
)
def test_damaged_samples_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], expected: str
) -> None:
    assert imported(tmp_path, row) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "x_samples.jsonl:1 does not have the form of Every Eval Ever" in error
    assert expected in error
