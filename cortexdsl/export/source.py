"""A results folder to be exported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from cortexdsl.core import Turn
from cortexdsl.metrics.scores import scores_by_debate
from cortexdsl.models.call_log.folder import LogFolder
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.history import recorded_tasks
from cortexdsl.plan.record import CellRecord, PlanRecord, read_plan
from cortexdsl.records import Record, read_debates
from cortexdsl.records.tallies import JobTally, Tallies
from cortexdsl.tasks.task import Item

TOKENS = ("input_tokens", "output_tokens", "total_tokens")


@dataclass(frozen=True, slots=True)
class ScoredDebate:
    """A debate to be exported.

    Attributes
    ----------
    record : Record
    item : Item or None
        Its question with its golds, if they are known.
    score : float or None
    calls : mapping of key to call
        Those that its turns name and the call logs have.
    """

    record: Record
    item: Item | None
    score: float | None
    calls: Mapping[str, Any]

    @property
    def asked(self) -> str:
        """The text of its question; the id if the text is not known."""
        return self.item.question.text if self.item else self.record.debate.question_id

    @property
    def golds(self) -> list[str]:
        """The accepted answers; empty if they are not known."""
        return list(self.item.gold) if self.item else []

    @property
    def choices(self) -> list[str]:
        """The options of its question, each after its letter."""
        return [f"{label}: {text}" for label, text in self.item.question.options] if self.item else []

    def messages(self) -> Iterator[tuple[Turn, dict[str, Any]]]:
        """Yield each message after its turn: the prompts as they were sent, then the reply, and who spoke when."""
        for number, stage in enumerate(self.record.debate.stages):
            models = {turn: model.model for turn, model in stage.models_of_turns().items()}
            for turn in stage.turns:
                when = {"stage": number, "round": turn.round}
                for prompt in prompts(self.calls.get(turn.call or "")):
                    yield turn, {**prompt, "to": turn.speaker, **when}
                yield turn, {
                    "role": "assistant", "content": turn.text, "speaker": turn.speaker,
                    "model": models.get(turn.turn, "unknown"), **when, "turn": turn.turn, "heard": list(turn.heard),
                }  # fmt: skip

    def tokens(self) -> dict[str, dict[str, int]]:
        """Return the `TOKENS` of each model; unknown counts are left out."""
        used: dict[str, Counter[str]] = {}
        for turn, message in self.messages():
            if "speaker" in message:
                sent = sum(call.prompt_tokens or 0 for call in turn.calls)
                replied = sum(call.completion_tokens or 0 for call in turn.calls)
                counts = dict(zip(TOKENS, (sent, replied, sent + replied), strict=True))
                used.setdefault(message["model"], Counter()).update(counts)
        return {model: dict(counts) for model, counts in used.items()}


@dataclass(frozen=True)
class ExportSource:
    """A results folder to be exported: debates with their questions, scores and the prompts of their calls."""

    folder: Path

    @cached_property
    def plan(self) -> PlanRecord:
        """The plan."""
        return read_plan(Path(self.layout.plan))

    @property
    def layout(self) -> Layout:
        """The paths of its files."""
        return Layout(self.folder.as_posix())

    @property
    def created(self) -> datetime:
        """The time of the plan: the same for each export of the same results."""
        return datetime.fromtimestamp(int(Path(self.layout.plan).stat().st_mtime), UTC)

    @cached_property
    def tallies(self) -> Sequence[JobTally]:
        """What its jobs spent."""
        return Tallies(Path(self.layout.spent)).read()

    @property
    def times(self) -> tuple[datetime, datetime]:
        """When its first job began and its last one ended; the time of the plan if no job said so."""
        seconds = [time for tally in self.tallies for time in (tally.began, tally.updated)]
        if not seconds:
            return self.created, self.created
        first, last = (datetime.fromtimestamp(int(time), UTC) for time in (min(seconds), max(seconds)))
        return first, last

    @cached_property
    def _known(self) -> tuple[Mapping[tuple[str, str], Item], str]:
        tasks, lacking = recorded_tasks(self.plan)
        return {(label, item.question.id): item for label, task in tasks.items() for item in task.items}, lacking

    @property
    def items(self) -> Mapping[tuple[str, str], Item]:
        """The known questions with their golds, by (dataset, question id)."""
        return self._known[0]

    @property
    def lacking(self) -> str:
        """Why questions and golds of some dataset are not known; empty if all are."""
        return self._known[1]

    @cached_property
    def _scores(self) -> Mapping[tuple[str, ...], str]:
        return scores_by_debate(Path(self.layout.table("scores")))

    def score_at(self, *place: object) -> float | None:
        """Return the score of the debate at a place of scores.csv: dataset, cell, replicate, question."""
        value = self._scores.get(tuple(map(str, place)), "")
        return float(value) if value else None

    def cells(self) -> Iterator[tuple[str, CellRecord, list[ScoredDebate]]]:
        """Yield the debates of each dataset and cell that has some."""
        for dataset in self.plan.datasets:
            for cell in self.plan.cells:
                paths = sorted(Path(self.layout.debates(dataset, cell.slug, "x")).parent.glob("*.jsonl"))
                if debates := [debate for path in paths for debate in self._shard(dataset, path)]:
                    yield dataset, cell, debates

    def _shard(self, dataset: str, path: Path) -> Iterator[ScoredDebate]:
        records = list(read_debates(path))
        wanted = {turn.call for record in records for turn in record.debate.all_turns if turn.call}
        calls = self._calls(dataset, path.stem, wanted)
        for record in records:
            header, question = record.header, record.debate.question_id
            score = self.score_at(header.dataset, header.cell, header.replicate, question)
            yield ScoredDebate(record, self.items.get((header.dataset, question)), score, calls)

    def _calls(self, dataset: str, shard: str, wanted: set[str]) -> Mapping[str, Any]:
        """The calls that some debates name, by key; logs that were removed or archived give none."""
        with closing(LogFolder(Path(self.layout.calls(dataset, shard)))) as logs:
            logs.refresh()
            calls = {key: logs.find(key, None, errors_again=False) for key in sorted(wanted)}
        return {key: call for key, call in calls.items() if call is not None}


def prompts(call: Mapping[str, Any] | None) -> Sequence[Mapping[str, str]]:
    """Return the messages of a call as role and content; none if the call is not known."""
    if call is None:
        return []
    return [{"role": str(one.get("role", "user")), "content": _content(one)} for one in call["messages"]]


def _content(message: Mapping[str, Any]) -> str:
    """Return the text of a message, with the functions that it calls."""
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    calls = [f"{function['name']}({function['arguments']})" for function in functions]
    return "\n".join(filter(None, (str(message["content"]), *calls)))
