"""Records of Every Eval Ever (schema 0.3.0): for each dataset and cell a file of means, and one of its samples.

A debate is a sample of several turns. What the schema has no field for, such as who spoke and whom an agent had heard,
are further keys of the messages, which it allows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from cortexdsl import __version__
from cortexdsl.checksums import write_lines
from cortexdsl.errors import DataError
from cortexdsl.export.source import ExportSource, prompts, spoken
from cortexdsl.logs.formats import OWN_MODELS
from cortexdsl.plan.record import CellRecord
from cortexdsl.records import Record
from cortexdsl.records.rows import well_formed

SCHEMA_VERSION = "0.3.0"


def export_every_eval_ever(folder: Path, target: Path) -> list[Path]:
    """Write `data/DATASET/cortexdsl/CELL/UUID.json` and `UUID_samples.jsonl`, and return the files of samples.

    The same results give the same bytes.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    target : Path
        The folder that gets `data/`.

    Raises
    ------
    DataError
        No debate has a score yet.
    """
    source = ExportSource(folder)
    places = [(dataset, cell) for dataset in source.plan.datasets for cell in source.plan.cells]
    written = [path for dataset, cell in places for path in _written(source, dataset, cell, target)]
    if not written:
        raise DataError(f"{folder}: no debate has a score yet\n    finish the experiment: cortexdsl run")
    return written


def _written(source: ExportSource, dataset: str, cell: CellRecord, target: Path) -> Iterator[Path]:
    """Write the two files of one dataset and cell, unless it has no scored debate."""
    model, time = f"{OWN_MODELS}{cell.slug}", str(int(source.created.timestamp()))
    name = f"{source.plan.experiment}/{dataset}/{model}/{time}"
    head = {"schema_version": SCHEMA_VERSION, "evaluation_id": name, "model_id": model, "evaluation_name": dataset,
            "evaluation_result_id": "score"}  # fmt: skip
    scored = _scored(source, dataset, cell)
    rows = [well_formed(head | _sample(source, record, score, calls)) for record, score, calls in scored]
    if not rows:
        return
    identity = UUID(bytes=sha256(f"{name} {cell.digest}".encode()).digest()[:16], version=4)
    path = f"data/{dataset}/{model}/{identity}_samples.jsonl"
    lines = [json.dumps(row, allow_nan=False) for row in rows]
    write_lines(target / path, lines)
    details = {"format": "jsonl", "file_path": path, "hash_algorithm": "sha256", "total_rows": len(rows),
               "checksum": sha256((target / path).read_bytes()).hexdigest()}  # fmt: skip
    means = _means(source, dataset, cell, [row["evaluation"]["score"] for row in rows])
    record = {key: head[key] for key in ("schema_version", "evaluation_id")} | means
    record |= {"retrieved_timestamp": time, "detailed_evaluation_results": details}
    write_lines(target / path.replace("_samples.jsonl", ".json"), [json.dumps(well_formed(record), allow_nan=False)])
    yield target / path


def _scored(source: ExportSource, dataset: str, cell: CellRecord) -> Iterator[tuple[Record, float, Mapping[str, Any]]]:
    for records, calls in source.shards(dataset, cell):
        for record in records:
            score = source.score_at(dataset, record.header.cell, record.header.replicate, record.debate.question_id)
            if score is not None:
                yield record, score, calls


def _means(source: ExportSource, dataset: str, cell: CellRecord, scores: list[float]) -> dict[str, Any]:
    plan = source.plan
    agents = {agent.name: agent.model for agent in plan.agents}
    names = cell.agents or agents
    return {
        "source_metadata": {
            "source_name": plan.title or plan.experiment,
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": {"spec_digest": plan.spec_digest},
        },
        "eval_library": {"name": "cortexdsl", "version": __version__},
        "model_info": {
            "name": cell.name,
            "id": f"{OWN_MODELS}{cell.slug}",
            "developer": OWN_MODELS.removesuffix("/"),
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "protocol": cell.protocol,
                "settings": json.dumps(cell.settings, default=str),
                "agents": json.dumps({name: agents.get(name) for name in names}),
            },
        },
        "evaluation_results": [
            {
                "evaluation_result_id": "score",
                "evaluation_name": dataset,
                "source_data": {
                    "dataset_name": dataset,
                    "source_type": "other",
                    "additional_details": {key: str(value) for key, value in plan.datasets[dataset].facts().items()},
                },
                "metric_config": {"lower_is_better": False, "score_type": "continuous", "min_score": 0, "max_score": 1},
                "score_details": {"score": sum(scores) / len(scores), "uncertainty": {"num_samples": len(scores)}},
            }
        ],
    }


def _sample(source: ExportSource, record: Record, score: float, calls: Mapping[str, Any]) -> dict[str, Any]:
    debate, item = record.debate, source.item(record)
    asked: dict[str, Any] = {
        "raw": item.question.text if item else debate.question_id,
        "reference": [str(gold) for gold in item.gold] if item else [],
    }
    digest = sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    if item and item.question.options:
        asked["choices"] = [f"{label}: {text}" for label, text in item.question.options]
    messages, attributions = _messages(record, calls)
    sample: dict[str, Any] = {
        "sample_id": debate.question_id,
        "sample_hash": digest,
        "interaction_type": "multi_turn",
        "input": asked,
        "output": None,
        "messages": messages,
        "answer_attribution": attributions,
        "evaluation": {"score": score, "is_correct": score == 1, "num_turns": max(1, len(debate.all_turns))},
        "metadata": {
            "epoch": str(record.header.replicate),
            "answer": debate.answer or "",
            "votes": json.dumps(dict(debate.votes)),
            "stop": debate.stop,
            "rounds": str(debate.rounds),
        },
    }
    tokens = [(call.prompt_tokens, call.completion_tokens) for turn in debate.all_turns for call in turn.calls]
    if all(count is not None for turn in tokens for count in turn):
        sent, replied = (sum(count or 0 for count in counts) for counts in zip(*tokens, strict=True))
        sample["token_usage"] = {"input_tokens": sent, "output_tokens": replied, "total_tokens": sent + replied}
    return sample


def _messages(record: Record, calls: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the prompts and replies of a debate, and which answers were read from the replies."""
    messages: list[dict[str, Any]] = []
    attributions: list[dict[str, Any]] = []
    for stage, debate in enumerate(record.debate.stages):
        for turn, model in spoken(debate):
            about = {"stage": stage, "round": turn.round}
            for prompt in prompts(calls.get(turn.call or "")):
                messages.append({"turn_idx": len(messages), **prompt, "to": turn.speaker, **about})
            place = len(messages)
            messages.append({"turn_idx": place, "role": "assistant", "content": turn.text, "speaker": turn.speaker,
                             "model": model, **about, "turn": turn.turn, "heard": list(turn.heard)})  # fmt: skip
            if turn.answer is not None:
                is_last = turn.round == debate.rounds and debate is record.debate.stages[-1]
                attributions.append({
                    "turn_idx": place, "source": f"messages[{place}].content", "extracted_value": turn.answer,
                    "extraction_method": "custom", "is_terminal": is_last and turn.answer == record.debate.answer,
                })  # fmt: skip
    return messages, attributions
