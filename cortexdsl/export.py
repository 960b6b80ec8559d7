"""Experiments in the formats of other programs: logs for Inspect, a dataset for the Hugging Face hub.

Logs have the format of Inspect (UK AI Security Institute), version 2: one for each dataset and cell, for Inspect View.
A debate is a sample: its question is the input, its golds the target, its replicate the epoch, its turns the messages
(each prompt that a reply answered, then the reply, with its speaker), its answer the output, its score the score.

A dataset is a folder with a card and a table for each of debates, turns, edges and questions.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl import __version__
from cortexdsl.core import Debate, Turn
from cortexdsl.errors import InputError
from cortexdsl.metrics.scores import read_rows
from cortexdsl.models.call_log.folder import LogFolder
from cortexdsl.numbers import counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.history import recorded_tasks
from cortexdsl.plan.persistence.store import read_plan
from cortexdsl.records import Record, debate_files, read_debates
from cortexdsl.records.rows import debate_rows, edge_rows, turn_rows, well_formed
from cortexdsl.tasks.task import Item

_VERSION = 2
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")
RowMaker: TypeAlias = Callable[[Iterable[Record]], Iterator[dict[str, Any]]]
TABLES: Mapping[str, RowMaker] = {"debates": debate_rows, "turns": turn_rows, "edges": edge_rows}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_CONTENTS = {
    "questions": "one row a question: its words, options and accepted answers",
    "debates": "one row a debate, nested: agents, turns, edges, votes, answer, score",
    "turns": "one row a turn: who said what, in which round, what was read from it",
    "edges": "one row for each speaker and listener of a step: whether heard, and the weight",
}


@dataclass(frozen=True)
class ExportSource:
    """A results folder to be exported: debates with their questions, scores and the prompts of their calls."""

    folder: Path

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """The plan."""
        return read_plan(Path(self.layout.plan))

    @property
    def layout(self) -> Layout:
        """The paths of its files."""
        return Layout(self.folder.as_posix())

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
    def _scores(self) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
        path = Path(self.layout.table("scores"))
        rows = read_rows(path) if path.is_file() else []
        return {tuple(str(row[key]) for key in ("dataset", "cell", "replicate", "question_id")): row for row in rows}

    def item(self, record: Record) -> Item | None:
        """Return a debate's question with its golds, if they are known."""
        return self.items.get((record.header.dataset, record.debate.question_id))

    def score_at(self, *place: object) -> float | None:
        """Return the score of the debate at a place of scores.csv: dataset, cell, replicate, question."""
        value = str(self._scores.get(tuple(map(str, place)), {}).get("score") or "")
        return float(value) if value else None

    def shards(self, dataset: str, cell: Mapping[str, Any]) -> Iterator[tuple[list[Record], Mapping[str, Any]]]:
        """Yield one cell's debates, shard by shard, with the calls that they name."""
        for path in sorted(Path(self.layout.debates(dataset, str(cell["slug"]), "x")).parent.glob("*.jsonl")):
            records = list(read_debates(path))
            wanted = {turn.call for record in records for turn in record.debate.all_turns if turn.call}
            yield records, self._calls(dataset, path.stem, wanted)

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
    return [{"role": str(one.get("role", "user")), "content": str(one["content"])} for one in call["messages"]]


def export_inspect(folder: Path, target: Path) -> list[Path]:
    """Write one log for each dataset and cell that has debates, and return them.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    target : Path
        Of the logs; `inspect view --log-dir TARGET` opens them.
    """
    source = ExportSource(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for dataset in source.plan["datasets"]:
        for cell in source.plan["cells"]:
            shards = source.shards(dataset, cell)
            samples = [_sample(source, record, calls) for records, calls in shards for record in records]
            if samples:
                log = _log(source, dataset, cell, samples)
                when = str(log["eval"]["created"]).replace(":", "-")
                path = target / f"{when}_{dataset}-{cell['slug']}_{_id(dataset, cell)}.json"
                path.write_text(json.dumps(well_formed(log), ensure_ascii=True, allow_nan=False), encoding="utf-8")
                written.append(path)
    return written


def _sample(source: ExportSource, record: Record, calls: Mapping[str, Any]) -> dict[str, Any]:
    header, debate, item = record.header, record.debate, source.item(record)
    models = {agent.name: agent.model.model for agent in debate.agents}
    score = source.score_at(header.dataset, header.cell, header.replicate, debate.question_id)
    sample: dict[str, Any] = {
        "id": debate.question_id,
        "epoch": header.replicate,
        "input": item.question.text if item else debate.question_id,
        "target": list(item.gold) if item else "",
        "messages": [
            message
            for number, stage in enumerate(debate.stages)
            for turn, model in _spoken(stage)
            for message in _messages(turn, model, calls, f"s{number}" if number else "")
        ],
        "output": _output(debate.answer, models),
        "scores": {},
        "metadata": {
            "votes": dict(debate.votes),
            "was_tied": debate.was_tied,
            "rounds": debate.rounds,
            "stop": debate.stop,
            "agents": models,
        },
        "store": {},
        "events": [],
        "model_usage": _usage(debate),
        "attachments": {},
    }
    if item and item.question.options:
        sample["choices"] = [f"{label}: {text}" for label, text in item.question.options]
    if score is not None:
        sample["scores"] = {
            "score": {"value": score, "answer": debate.answer or "", "explanation": _explanation(record)}
        }
    return sample


def _spoken(stage: Debate) -> list[tuple[Turn, str]]:
    """Return the turns of a stage, each with the name of its model."""
    models = {number: model.model for number, model in stage.models_of_turns().items()}
    return [(turn, models.get(turn.turn, "unknown")) for turn in stage.turns]


def _messages(turn: Turn, model: str, calls: Mapping[str, Any], stage: str = "") -> Iterator[dict[str, Any]]:
    """The prompt as it was sent, then the reply: who spoke, in which round, what was read from it."""
    known = prompts(calls.get(turn.call or ""))
    place = f"{stage}t{turn.turn}"
    for number, message in enumerate(known):
        role = message["role"] if message["role"] in ("system", "user") else "user"
        about = {"to": turn.speaker, "round": turn.round}
        yield {"id": f"{place}-{number}", "role": role, "content": message["content"], "metadata": about}
    metadata = {
        "speaker": turn.speaker,
        "round": turn.round,
        "step": turn.step,
        "answer": turn.answer,
        "unparsed": turn.unparsed,
        "confidence": turn.confidence,
        "confidence_stated": turn.confidence_stated,
        "heard": list(turn.heard),
    }
    said = f"**{turn.speaker}**, round {turn.round}:\n\n{turn.text}"
    yield {"id": place, "role": "assistant", "content": said, "model": model, "metadata": metadata}


def _output(answer: str | None, models: Mapping[str, str]) -> dict[str, Any]:
    message = {"id": "answer", "role": "assistant", "content": answer or "", "source": "generate"}
    return {
        "model": ", ".join(dict.fromkeys(models.values())),
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": answer or "",
    }


def _usage(debate: Debate) -> dict[str, dict[str, int]]:
    used: dict[str, Counter[str]] = {}
    for turn, model in (each for stage in debate.stages for each in _spoken(stage)):
        sent, replied = turn.prompt_tokens or 0, turn.completion_tokens or 0
        used.setdefault(model, Counter()).update(dict(zip(_COUNTS, (sent, replied, sent + replied), strict=True)))
    return {model: dict(counts) for model, counts in used.items()}


def _explanation(record: Record) -> str:
    votes = ", ".join(f"{answer}: {weight:g}" for answer, weight in record.debate.votes.items())
    tied = "; the vote was tied" if record.debate.was_tied else ""
    return (
        f"votes {votes or 'none'}{tied}; ended by {record.debate.stop} after {counted(record.debate.rounds, 'round')}"
    )


def _log(source: ExportSource, dataset: str, cell: Mapping[str, Any], samples: list[dict[str, Any]]) -> dict[str, Any]:
    plan = source.plan
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    created = datetime.fromtimestamp(Path(source.layout.plan).stat().st_mtime, UTC).isoformat(timespec="seconds")
    scored = [sample["scores"]["score"]["value"] for sample in samples if sample["scores"]]
    usage: dict[str, Counter[str]] = {}
    for model, counts in (each for sample in samples for each in sample["model_usage"].items()):
        usage.setdefault(model, Counter()).update(counts)
    metrics = {"mean": {"name": "mean", "value": sum(scored) / len(scored)}} if scored else {}
    models = dict.fromkeys(agent["model"] for agent in plan["agents"])
    own, settings = _id(dataset, cell), dict(cell.get("settings") or {})
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "eval_id": own,
            "run_id": _id(str(plan["experiment"]), str(plan.get("spec_digest", ""))),
            "created": created,
            "task": f"{plan['experiment']}/{dataset}/{cell['cell']}",
            "task_id": own,
            "task_version": 0,
            "task_args": settings,
            "dataset": {"name": dataset, "samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": ", ".join(models) or "unknown",
            "config": {"epochs": plan["replicates"]},
            "packages": {"cortexdsl": __version__},
            "metadata": {
                "cell": cell["cell"],
                "digest": cell.get("digest"),
                "spec_digest": plan.get("spec_digest", ""),
            },
        },
        "plan": {
            "name": "debate",
            "steps": [{"solver": str(cell["protocol"]), "params": dict(cell.get("settings") or {})}],
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": "score", "scorer": "score", "params": {}, "metrics": metrics}],
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": usage},
        "samples": samples,
    }


def _id(*parts: Any) -> str:
    """An id in the form that Inspect gives its own: letters and digits, the same for the same export."""
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()[:22]


def export_hub(folder: Path, target: Path) -> dict[str, int]:
    """Write README.md and data/*.parquet, and return how many rows each table has.

    `datasets.load_dataset(TARGET, "debates")` reads it, here and from the hub.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    target : Path
        A folder; an earlier export in it is replaced.

    Raises
    ------
    InputError
        pyarrow (the extra `data`) is not installed.
    """
    source = ExportSource(folder)
    counts = {}
    for name, rows in TABLES.items():
        counts[name] = _write(target / "data" / f"{name}.parquet", partial(_parts, source, rows, name == "debates"))
    if questions := [well_formed(row) for row in _questions(source)]:
        counts["questions"] = _write(target / "data" / "questions.parquet", lambda: [questions])
    (target / "README.md").write_text(card(source.plan, counts), encoding="utf-8")
    return counts


def card(plan: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """Return the dataset's card: metadata that the hub reads, and what is in it."""
    largest = max(counts.values())
    size = next((name for most, name in _SIZES if largest < most), "1M<n<10M")
    title = str(plan.get("title") or plan["experiment"])
    head = ["---", f"pretty_name: {json.dumps(title)}", "tags:", "- multi-agent-debate", "- cortexdsl"]
    head += ["size_categories:", f"- {size}", "configs:"]
    for name in counts:
        head += [f"- config_name: {name}", f"  data_files: data/{name}.parquet"]
        head += ["  default: true"] if name == "debates" else []
    models = ", ".join(dict.fromkeys(f"`{agent['model']}`" for agent in plan["agents"]))
    datasets = ", ".join(f"{label} ({counted(len(ids), 'question')})" for label, ids in plan["questions"].items())
    body = [
        "---", "", f"# {_line(title)}", "",
        "Debates of language models on questions, with who heard whom, what each said and which answer was taken.", "",
        f"- Questions: {datasets}; {counted(plan['replicates'], 'replicate')}, seed {plan['seed']}",
        f"- Agents: {models}",
        f"- Cells: {', '.join(_line(str(cell['cell'])) for cell in plan['cells'])}",
        f"- Spec digest: `{plan.get('spec_digest', '')}`", "", "## Tables", "",
    ]  # fmt: skip
    body += [f"- `{name}` ({counted(count, 'row')}): {_CONTENTS[name]}" for name, count in counts.items()]
    body += [
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        'debates = load_dataset("PLACE", "debates")',
        "```",
        "",
    ]
    body += ["Check the licences of the questions and of the models before you publish this; none is stated here.", ""]
    return "\n".join([*head, *body])


def _parts(source: ExportSource, rows: RowMaker, has_score: bool) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each file of records."""
    for path in debate_files(source.folder):
        made = rows(read_debates(path))
        yield [well_formed(_scored(source, row) if has_score else row) for row in made]


def _scored(source: ExportSource, row: dict[str, Any]) -> dict[str, Any]:
    return row | {"score": source.score_at(row["dataset"], row["cell"], row["replicate"], row["question_id"])}


def _questions(source: ExportSource) -> Iterator[dict[str, Any]]:
    for (dataset, question), item in source.items.items():
        yield {
            "dataset": dataset,
            "question_id": question,
            "question": item.question.text,
            "context": item.question.context,
            "options": [{"label": str(label), "text": str(text)} for label, text in item.question.options],
            "gold": list(item.gold),
            "kind": item.kind,
        }


def _write(path: Path, parts: Callable[[], Iterable[list[dict[str, Any]]]]) -> int:
    """Write a table part by part: once to learn the types of all rows, and once with them."""
    pyarrow, parquet = _pyarrow()
    schema, count = pyarrow.schema([]), 0
    for rows in parts():
        if rows:
            found = pyarrow.Table.from_pylist(rows).schema
            schema = pyarrow.unify_schemas([schema, found], promote_options="permissive")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with parquet.ParquetWriter(part, schema, compression="zstd") as writer:
        for rows in parts():
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    part.replace(path)
    return count


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("a dataset is written with pyarrow: install cortexdsl[data]") from None


def _line(text: str) -> str:
    return " ".join(text.split())
