"""Debates of MALLM are imported as records; their form is that of its `scheduler.py` and `utils/types.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.records import debate_files, read_debates


def memory(number: int, turn: int, agent: str, message: str, *known: int, persona: str = "") -> dict[str, Any]:
    return {"message_id": number, "turn": turn, "agent_id": agent, "persona": persona or agent,
            "contribution": "improve", "message": message, "agreement": None, "solution": None,
            "memory_ids": list(known), "additional_args": {}}  # fmt: skip


def debate(identity: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    personas = [{"agentId": agent, "model": "m/small", "persona": agent, "personaDescription": f"is {agent}"}
                for agent in ("a", "b")]  # fmt: skip
    return {"dataset": "data/datasets/sums.json", "exampleId": identity, "personas": personas, "paradigm": "memory",
            "input": ["3 + 4?"], "context": None, "references": ["7"], "finalAnswer": "7", "turns": 2,
            "clockSeconds": 1.5, "globalMemory": list(messages), **more}  # fmt: skip


MESSAGES = [memory(0, 1, "a", "Answer: 7"), memory(1, 1, "b", "Answer: 8", 0), memory(2, 2, "a", "Answer: 7", 0, 1),
            memory(3, 2, "b", "Let me see.", 1), memory(4, 2, "b", "Answer: 7", 1, 2)]  # fmt: skip


def imported(folder: Path, *rows: dict[str, Any]) -> int:
    (folder / "mallm.json").write_text(json.dumps(rows, indent=4))
    return main(["import", str(folder / "mallm.json"), "--out", str(folder / "results" / "old")])


def test_debates_become_records_with_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = debate("q2", *MESSAGES[:2], finalAnswer="8")
    assert imported(tmp_path, debate("q1", *MESSAGES), wrong) == 0
    assert "sums: 2 debates, 6 turns" in capsys.readouterr().out
    first, second = (record for path in debate_files(tmp_path / "results" / "old") for record in read_debates(path))
    assert (first.header.dataset, first.header.cell) == ("sums", "memory")
    turns = first.debate.turns
    assert [(turn.speaker, turn.round, turn.answer) for turn in turns] == [
        ("a", 0, "7"), ("b", 0, "8"), ("a", 1, "7"), ("b", 1, "7")
    ]  # fmt: skip
    assert turns[3].text == "Let me see.\n\nAnswer: 7"
    assert [turn.heard for turn in turns] == [(), (), (1,), ()]
    assert [(agent.model.model, agent.persona) for agent in first.debate.agents] == [("m/small", "is a"),
                                                                                     ("m/small", "is b")]  # fmt: skip
    assert (first.debate.answer, second.debate.answer) == ("7", "8")
    scores = (tmp_path / "results" / "old" / "scores.csv").read_text().splitlines()
    column = scores[0].split(",").index("score")
    assert [float(line.split(",")[column]) for line in scores[1:]] == [1, 0]
    assert main(["show", str(tmp_path / "results" / "old")]) == 0


def test_agents_that_share_a_persona_are_told_apart(tmp_path: Path) -> None:
    messages = [memory(0, 1, "x", "Answer: 7", persona="Teacher"), memory(1, 1, "y", "Answer: 7", persona="Teacher")]
    assert imported(tmp_path, debate("q1", *messages)) == 0
    (path,) = debate_files(tmp_path / "results" / "old")
    (record,) = read_debates(path)
    assert [agent.name for agent in record.debate.agents] == ["Teacher", "Teacher 2"]


def test_a_baseline_has_one_agent(tmp_path: Path) -> None:
    messages = [{"message_id": k, "turn": k, "message": "Answer: 7", "solution": "7"} for k in range(2)]
    assert imported(tmp_path, debate("q1", *messages, personas=None, paradigm=None)) == 0
    (path,) = debate_files(tmp_path / "results" / "old")
    (record,) = read_debates(path)
    assert (record.header.cell, [turn.speaker for turn in record.debate.turns]) == ("baseline", ["agent", "agent"])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (debate("q1"), "debate 1 does not have the form of MALLM: it has no message"),
        (debate("q1", {"turn": 1, "message_id": 0}), "debate 1 does not have the form of MALLM: it lacks 'message'"),
        (debate("q1", *MESSAGES, input=None), "debate 1 does not have the form of MALLM"),
        (debate("q1", *MESSAGES, finalAnswer=7), "final is an integer, not a string"),
        (debate("q1", MESSAGES[0] | {"message": 7}), "text is an integer, not a string"),
        (debate("q1", MESSAGES[0] | {"turn": "x"}), "round[0] is a string, not an integer"),
        (debate("q1", MESSAGES[0] | {"memory_ids": [[1]]}), "unhashable type"),
    ],
)
def test_damaged_debates_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], expected: str
) -> None:
    assert imported(tmp_path, row) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
