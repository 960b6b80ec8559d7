"""Logs for Inspect (UK AI Security Institute), version 2: one for each dataset and cell, for Inspect View.

A debate is a sample: its question is the input, its golds the target, its replicate the epoch, its turns the messages
(each prompt that a reply answered, then the reply, with its speaker), its answer the output, its score the score.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from cortexdsl import __version__
from cortexdsl.core import Debate, Turn
from cortexdsl.export.source import ExportSource, ScoredDebate
from cortexdsl.numbers import counted
from cortexdsl.plan.record import CODEC, CellRecord
from cortexdsl.records.rows import well_formed

_VERSION = 2
_READ = ("step", "answer", "unparsed", "confidence", "confidence_stated")
"""What a message says of its turn, besides who spoke and heard whom."""


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
    for dataset, cell, debates in source.cells():
        log = _log(source, dataset, cell, [_sample(debate) for debate in debates])
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


def _sample(scored: ScoredDebate) -> dict[str, Any]:
    debate = scored.record.debate
    models = {agent.name: agent.model.model for agent in debate.agents}
    outcome = {name: getattr(debate, name) for name in ("was_tied", "rounds", "stop")}
    sample: dict[str, Any] = {
        "id": debate.question_id,
        "epoch": scored.record.header.replicate,
        "input": scored.asked,
        "target": scored.golds or "",
        "messages": [_message(place, *each) for place, each in enumerate(scored.messages())],
        "output": _output(debate.answer, models),
        "scores": {},
        "metadata": {"votes": dict(debate.votes), **outcome, "agents": models},
        "store": {},
        "events": [],
        "model_usage": scored.tokens(),
        "attachments": {},
    }
    if scored.choices:
        sample["choices"] = scored.choices
    if scored.score is not None:
        score = {"value": scored.score, "answer": debate.answer or "", "explanation": _explanation(debate)}
        sample["scores"] = {"score": score}
    return sample


def _message(place: int, turn: Turn, message: dict[str, Any]) -> dict[str, Any]:
    """Return a message that Inspect View shows with its speaker, with what was read from it."""
    role, content, facts = message.pop("role"), message.pop("content"), {**message}
    if "speaker" in message:
        content = f"**{turn.speaker}**, round {turn.round}:\n\n{content}"
        facts |= {name: getattr(turn, name) for name in _READ if getattr(turn, name) is not None}
    own = {"model": facts.pop("model")} if "model" in facts else {}
    known = role in ("system", "user", "assistant", "tool")
    return {"id": str(place), "role": role if known else "user", "content": content, "metadata": facts, **own}


def _output(answer: str | None, models: Mapping[str, str]) -> dict[str, Any]:
    message = {"id": "answer", "role": "assistant", "content": answer or "", "source": "generate"}
    return {
        "model": ", ".join(dict.fromkeys(models.values())),
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": answer or "",
    }


def _explanation(debate: Debate) -> str:
    votes = ", ".join(f"{answer}: {weight:g}" for answer, weight in debate.votes.items())
    tied = "; the vote was tied" if debate.was_tied else ""
    return f"votes {votes or 'none'}{tied}; ended by {debate.stop} after {counted(debate.rounds, 'round')}"


def _log(source: ExportSource, dataset: str, cell: CellRecord, samples: list[dict[str, Any]]) -> dict[str, Any]:
    plan = source.plan
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    created, began, ended = (time.isoformat(timespec="seconds") for time in (source.created, *source.times))
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
        "stats": {"started_at": began, "completed_at": ended, "model_usage": usage},
        "samples": samples,
    }


def _id(*parts: str | CellRecord) -> str:
    """An id in the form that Inspect gives its own: letters and digits, the same for the same export."""
    return hashlib.sha256(json.dumps(parts, default=CODEC.write, sort_keys=True).encode()).hexdigest()[:22]
