"""Logs for Inspect (UK AI Security Institute), version 2: one for each dataset and cell, for Inspect View.

A debate is a sample: its question is the input, its golds the target, its replicate the epoch, its turns the messages
(each prompt that a reply answered, then the reply, with its speaker), its answer the output, its score the score.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from cortexdsl import __version__
from cortexdsl.core import Debate, Turn
from cortexdsl.export.source import ExportSource, prompts, spoken
from cortexdsl.numbers import counted
from cortexdsl.plan.record import CODEC, CellRecord
from cortexdsl.records import Record
from cortexdsl.records.rows import well_formed

_VERSION = 2
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")


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
    for dataset in source.plan.datasets:
        for cell in source.plan.cells:
            shards = source.shards(dataset, cell)
            samples = [_sample(source, record, calls) for records, calls in shards for record in records]
            if samples:
                log = _log(source, dataset, cell, samples)
                when = str(log["eval"]["created"]).replace(":", "-")
                written.append(_write(well_formed(log), target / f"{when}_{dataset}-{cell.slug}_{_id(dataset, cell)}"))
    return written


def _write(log: Mapping[str, Any], stem: Path) -> Path:
    """Write a log by Inspect's own writer as `.eval`, which its tools read sample by sample; without it as JSON."""
    try:
        inspect = import_module("inspect_ai.log")
    except ImportError:
        path = stem.with_name(f"{stem.name}.json")
        path.write_text(json.dumps(log, ensure_ascii=True, allow_nan=False), encoding="utf-8")
        return path
    path = stem.with_name(f"{stem.name}.eval")
    inspect.write_eval_log(inspect.EvalLog.model_validate(log), str(path), format="eval")
    return path


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
            for turn, model in spoken(stage)
            for message in _messages(turn, model, calls, number)
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


def _messages(turn: Turn, model: str, calls: Mapping[str, Any], stage: int) -> Iterator[dict[str, Any]]:
    """The prompt as it was sent, then the reply: who spoke, in which round, what was read from it."""
    known = prompts(calls.get(turn.call or ""))
    place = f"{f's{stage}' if stage else ''}t{turn.turn}"
    for number, message in enumerate(known):
        role = message["role"] if message["role"] in ("system", "user", "assistant", "tool") else "user"
        about = {"to": turn.speaker, "round": turn.round}
        yield {"id": f"{place}-{number}", "role": role, "content": message["content"], "metadata": about}
    metadata = {
        "speaker": turn.speaker,
        "text": turn.text,
        "stage": stage,
        "round": turn.round,
        "turn": turn.turn,
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
    for turn, model in (each for stage in debate.stages for each in spoken(stage)):
        calls = (turn, *turn.requests)
        sent, replied = (
            sum(getattr(call, kind) or 0 for call in calls) for kind in ("prompt_tokens", "completion_tokens")
        )
        used.setdefault(model, Counter()).update(dict(zip(_COUNTS, (sent, replied, sent + replied), strict=True)))
    return {model: dict(counts) for model, counts in used.items()}


def _explanation(record: Record) -> str:
    votes = ", ".join(f"{answer}: {weight:g}" for answer, weight in record.debate.votes.items())
    tied = "; the vote was tied" if record.debate.was_tied else ""
    return (
        f"votes {votes or 'none'}{tied}; ended by {record.debate.stop} after {counted(record.debate.rounds, 'round')}"
    )


def _log(source: ExportSource, dataset: str, cell: CellRecord, samples: list[dict[str, Any]]) -> dict[str, Any]:
    plan = source.plan
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    created = source.created.isoformat(timespec="seconds")
    scored = [sample["scores"]["score"]["value"] for sample in samples if sample["scores"]]
    usage: dict[str, Counter[str]] = {}
    for model, counts in (each for sample in samples for each in sample["model_usage"].items()):
        usage.setdefault(model, Counter()).update(counts)
    metrics = {"mean": {"name": "mean", "value": sum(scored) / len(scored)}} if scored else {}
    models = dict.fromkeys(agent.model for agent in plan.agents)
    own, settings = _id(dataset, cell), dict(cell.settings)
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "eval_id": own,
            "run_id": _id(plan.experiment, plan.spec_digest),
            "created": created,
            "task": f"{plan.experiment}/{dataset}/{cell.name}",
            "task_id": own,
            "task_version": 0,
            "task_args": settings,
            "dataset": {"name": dataset, "samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": ", ".join(models) or "unknown",
            "solver": cell.name,
            "config": {"epochs": plan.replicates},
            "packages": {"cortexdsl": __version__},
            "metadata": {
                "cell": cell.name,
                "digest": cell.digest,
                "spec_digest": plan.spec_digest,
            },
        },
        "plan": {
            "name": "debate",
            "steps": [{"solver": cell.protocol, "params": settings}],
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": "score", "scorer": "score", "params": {}, "metrics": metrics}],
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": usage},
        "samples": samples,
    }


def _id(*parts: str | CellRecord) -> str:
    """An id in the form that Inspect gives its own: letters and digits, the same for the same export."""
    return hashlib.sha256(json.dumps(parts, default=CODEC.write, sort_keys=True).encode()).hexdigest()[:22]
