"""A dataset and an answer kind of one's own: one declaration each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.verbs import run
from cortexdsl.core import Dataset
from cortexdsl.tasks.load import GENERATORS, load
from cortexdsl.tasks.reading.choice import Unparsed
from cortexdsl.tasks.reading.kinds import KINDS, KindEntry, kind_named
from cortexdsl.tasks.registry import entry_of, registry

_HOUR = re.compile(r"\b(\d{1,2}):(\d{2})\b")


@dataclass(frozen=True, slots=True)
class Hour:
    """An answer kind: a time of day, spelled as `09:05`."""

    name: str = "hour"
    want: str = "a time of day such as 09:05"

    def canonical(self, gold: str) -> str | None:
        found = _HOUR.search(gold)
        return f"{int(found[1]):02d}:{found[2]}" if found else None

    def exact(self, fragment: str) -> str | Unparsed:
        return self.canonical(fragment) or Unparsed("no time of day on the answer line")

    def within(self, fragment: str) -> str | Unparsed | None:
        return self.canonical(fragment)

    def search(self, text: str) -> str | Unparsed:
        return self.canonical(text) or Unparsed("no time of day")


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(KINDS, "hour", KindEntry(lambda options, labels: Hour(), "times of day"))
    yield
    kind_named.cache_clear()


@pytest.mark.usefixtures("hours")
def test_a_kind_is_one_declaration(tmp_path: Path) -> None:
    """It is loaded, asked for, read both ways, found in the reply, and graded."""
    path = tmp_path / "trains.jsonl"
    path.write_text('{"question": "When does the train leave?", "answer": "9:05"}\n', encoding="utf-8")
    task = load(Dataset("trains", path=str(path), kind="hour"))
    question = task.questions[0]
    assert "Answer: <a time of day such as 09:05>" in task.answer_format
    assert (task.kind, task.metric, task.gold(question.id)) == ("hour", "accuracy", ("09:05",))
    reader = task.reader(question)
    reply = "It leaves early.\nAnswer: 9:05\nConfidence: 0.8"
    assert reader.strict(reply).value == reader.lenient("I think that the answer is 9:05.").value == "09:05"
    assert reader.place_of("09:05", reply) == (reply.index("9:05"), reply.index("9:05") + 4)
    assert task.grade(question.id, "09:05") == 1.0
    assert task.grade(question.id, "09:06") == 0.0


@pytest.mark.usefixtures("hours")
def test_the_command_line_knows_the_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"kind": "hour", "gold": "9:05", "output": "Answer: 9:05"}\n', encoding="utf-8")
    assert run(["grade", str(rows)]) == 0
    assert "100.0%" in capsys.readouterr().out


def test_a_dataset_is_one_entry_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {
        "title": "Capitals",
        "kind": "text",
        "question": "country",
        "answer": "capital",
        "files": {"test": ["c.csv"]},
    }
    monkeypatch.setitem(registry(), "capitals", entry_of("capitals", words))
    (tmp_path / "c.csv").write_text("country,capital\nFrance,Paris\nPeru,Lima\n", encoding="utf-8")
    task = load(Dataset("c", name="capitals", path=str(tmp_path)))
    assert {item.question.text: item.gold for item in task.items} == {"France": ("Paris",), "Peru": ("Lima",)}


def test_a_generated_dataset_is_an_entry_and_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubles(seed: int) -> Iterator[dict[str, Any]]:
        number = seed
        while True:
            number += 1
            yield {"id": f"double-{number}", "question": f"Twice {number}?", "answer": str(2 * number)}

    monkeypatch.setitem(registry(), "doubles", entry_of("doubles", {"kind": "number", "generated": True}))
    monkeypatch.setitem(GENERATORS, "doubles", doubles)
    task = load(Dataset("d", name="doubles", size=3, seed=4))
    assert [item.gold for item in task.items] == [("10",), ("12",), ("14",)]
