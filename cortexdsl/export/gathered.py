"""What exports are made of: debates with their questions, scores and the prompts of their calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cortexdsl.analysis.units.scores import read_rows
from cortexdsl.models.logs.appendlog import whole_lines
from cortexdsl.models.logs.lines import read_call
from cortexdsl.plan.kept.store import read_plan
from cortexdsl.plan.known import known_tasks
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records import Record, read_debates
from cortexdsl.tasks.task import Item


@dataclass(frozen=True)
class Gathered:
    """An experiment whose debates are being exported.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    """

    folder: Path

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """The plan."""
        return read_plan(Path(self.layout.plan))

    @property
    def layout(self) -> Layout:
        """Where its files lie."""
        return Layout(self.folder.as_posix())

    @cached_property
    def _known(self) -> tuple[Mapping[tuple[str, str], Item], str]:
        tasks, lacking = known_tasks(self.plan)
        return {(label, item.question.id): item for label, task in tasks.items() for item in task.items}, lacking

    @property
    def items(self) -> Mapping[tuple[str, str], Item]:
        """Questions with their golds by (dataset, question id), as far as they are known."""
        return self._known[0]

    @property
    def lacking(self) -> str:
        """Why questions and golds of some dataset are not known; empty where all are."""
        return self._known[1]

    @cached_property
    def _scores(self) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
        path = Path(self.layout.table("scores"))
        rows = read_rows(path) if path.is_file() else []
        return {tuple(str(row[key]) for key in ("dataset", "cell", "replicate", "question_id")): row for row in rows}

    def item(self, record: Record) -> Item | None:
        """Return a debate's question with its golds, where they are known."""
        return self.items.get((record.header.dataset, record.debate.question_id))

    def score(self, record: Record) -> float | None:
        """Return a debate's score; None where it was never scored."""
        header = record.header
        return self.score_at(header.dataset, header.cell, header.replicate, record.debate.question_id)

    def score_at(self, dataset: str, cell: str, replicate: int, question: str) -> float | None:
        """Return the score of the debate at a place of scores.csv."""
        row = self._scores.get((dataset, cell, str(replicate), question))
        value = str(row.get("score") or "") if row else ""
        return float(value) if value else None

    def shards(self, dataset: str, cell: Mapping[str, Any]) -> Iterator[tuple[list[Record], Mapping[str, Any]]]:
        """Yield one cell's debates, shard by shard, with the calls that they name."""
        for path in sorted(Path(self.layout.debates(dataset, str(cell["slug"]), "x")).parent.glob("*.jsonl")):
            records = list(read_debates(path))
            wanted = {turn.call for record in records for turn in record.debate.turns if turn.call}
            yield records, self._calls(dataset, path.stem, wanted)

    def _calls(self, dataset: str, shard: str, wanted: set[str]) -> Mapping[str, Any]:
        """The calls that some debates name, by key; logs that are gone, or packed away, give none."""
        found: dict[str, Any] = {}
        for log in sorted(Path(self.layout.calls(dataset, shard)).glob("*.jsonl")):
            for _, line in whole_lines(log):
                call = read_call(line)
                if call is not None and call["key"] in wanted:
                    found.setdefault(call["key"], call)
        return found


def prompts(call: Mapping[str, Any] | None) -> Sequence[Mapping[str, str]]:
    """Return the messages of a call as role and words; none where the call is not known."""
    if call is None:
        return []
    return [{"role": str(one.get("role", "user")), "content": str(one["content"])} for one in call["messages"]]
