"""Logs in the format of Inspect (UK AI Security Institute), version 2: one a dataset and cell, for Inspect View.

A debate is a sample: its question the input, its golds the target, its replicate the epoch, its turns the messages
(each prompt that a reply answered, then the reply, with its speaker), its answer the output, its score the score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cortexdsl import __version__
from cortexdsl.export.gathered import Gathered, prompts
from cortexdsl.records import Record
from cortexdsl.records.flat import well_formed
from cortexdsl.terms import Turn

VERSION = 2
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
    gathered = Gathered(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for dataset in gathered.plan["datasets"]:
        for cell in gathered.plan["cells"]:
            samples = list(_samples(gathered, dataset, cell))
            if samples:
                log = _log(gathered, dataset, cell, samples)
                when = str(log["eval"]["created"]).replace(":", "-")
                path = target / f"{when}_{dataset}-{cell['slug']}_{_id(dataset, cell)}.json"
                path.write_text(json.dumps(well_formed(log), ensure_ascii=True, allow_nan=False), encoding="utf-8")
                written.append(path)
    return written


def _samples(gathered: Gathered, dataset: str, cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for records, calls in gathered.shards(dataset, cell):
        for record in records:
            yield _sample(gathered, record, calls)


def _sample(gathered: Gathered, record: Record, calls: Mapping[str, Any]) -> dict[str, Any]:
    debate, item = record.debate, gathered.item(record)
    models = {agent.name: agent.model.model for agent in debate.agents}
    score = gathered.score(record)
    sample: dict[str, Any] = {
        "id": debate.question_id,
        "epoch": record.header.replicate,
        "input": item.question.text if item else debate.question_id,
        "target": list(item.gold) if item else "",
        "messages": [message for turn in debate.turns for message in _messages(turn, models, calls)],
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
        "model_usage": _usage(debate.turns, models),
        "attachments": {},
    }
    if item and item.question.options:
        sample["choices"] = [f"{label}: {text}" for label, text in item.question.options]
    if score is not None:
        sample["scores"] = {"score": {"value": score, "answer": debate.answer or "", "explanation": _said(record)}}
    return sample


def _messages(turn: Turn, models: Mapping[str, str], calls: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The prompt as it was sent, then the reply: who spoke, in which round, what was read from it."""
    known = prompts(calls.get(turn.call or ""))
    place = f"t{turn.turn}"
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
    model = models.get(turn.speaker, "")
    said = f"**{turn.speaker}**, round {turn.round}:\n\n{turn.text}"
    yield {"id": place, "role": "assistant", "content": said, "model": model, "metadata": metadata}


def _output(answer: str | None, models: Mapping[str, str]) -> dict[str, Any]:
    message = {"id": "answer", "role": "assistant", "content": answer or "", "source": "generate"}
    return {
        "model": ", ".join(dict.fromkeys(models.values())),
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": answer or "",
    }


def _usage(turns: Iterable[Turn], models: Mapping[str, str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for turn in turns:
        counts = found.setdefault(models.get(turn.speaker, "unknown"), dict.fromkeys(_COUNTS, 0))
        sent, said = turn.prompt_tokens or 0, turn.completion_tokens or 0
        for name, count in zip(_COUNTS, (sent, said, sent + said), strict=True):
            counts[name] += count
    return found


def _said(record: Record) -> str:
    votes = ", ".join(f"{answer}: {weight:g}" for answer, weight in record.debate.votes.items())
    tied = "; the vote was tied" if record.debate.was_tied else ""
    return f"votes {votes or 'none'}{tied}; ended by {record.debate.stop} after {record.debate.rounds} rounds"


def _log(gathered: Gathered, dataset: str, cell: Mapping[str, Any], samples: list[dict[str, Any]]) -> dict[str, Any]:
    plan = gathered.plan
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    created = datetime.fromtimestamp(Path(gathered.layout.plan).stat().st_mtime, UTC).isoformat(timespec="seconds")
    scored = [sample["scores"]["score"]["value"] for sample in samples if sample["scores"]]
    usage: dict[str, dict[str, int]] = {}
    for sample in samples:
        for model, counts in sample["model_usage"].items():
            total = usage.setdefault(model, dict.fromkeys(_COUNTS, 0))
            for name in _COUNTS:
                total[name] += counts[name]
    metrics = {"mean": {"name": "mean", "value": sum(scored) / len(scored)}} if scored else {}
    models = dict.fromkeys(agent["model"] for agent in plan["agents"])
    own, settings = _id(dataset, cell), dict(cell.get("settings") or {})
    return {
        "version": VERSION,
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
