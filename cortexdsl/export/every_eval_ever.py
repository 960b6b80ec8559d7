"""Records of Every Eval Ever (schema 0.3.0): for each dataset and cell a file of means, and one of its samples.

A debate is a sample of several turns. What the schema has no field for, such as who spoke and whom an agent had heard,
are further keys of the messages, which it allows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from cortexdsl import __version__
from cortexdsl.checksums import write_lines
from cortexdsl.errors import DataError
from cortexdsl.export.source import ExportSource, ScoredDebate
from cortexdsl.logs.formats import OWN_MODELS
from cortexdsl.plan.record import CellRecord
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
    scored = [(dataset, cell, [one for one in debates if one.score is not None])
              for dataset, cell, debates in source.cells()]  # fmt: skip
    written = [_write(source, dataset, cell, debates, target) for dataset, cell, debates in scored if debates]
    if not written:
        raise DataError(f"{folder}: no debate has a score yet\n    finish the experiment: cortexdsl run")
    return written


def _write(source: ExportSource, dataset: str, cell: CellRecord, debates: Sequence[ScoredDebate], target: Path) -> Path:
    """Write the two files of one dataset and cell; return that of the samples."""
    model, time = f"{OWN_MODELS}{cell.slug}", str(int(source.created.timestamp()))
    name = f"{source.plan.experiment}/{dataset}/{model}/{time}"
    head = {"schema_version": SCHEMA_VERSION, "evaluation_id": name, "model_id": model, "evaluation_name": dataset,
            "evaluation_result_id": "score"}  # fmt: skip
    rows = [well_formed(head | _sample(debate)) for debate in debates]
    identity = UUID(bytes=sha256(f"{name} {cell.digest}".encode()).digest()[:16], version=4)
    path = f"data/{dataset}/{model}/{identity}_samples.jsonl"
    write_lines(target / path, [json.dumps(row, allow_nan=False) for row in rows])
    details = {"format": "jsonl", "file_path": path, "hash_algorithm": "sha256", "total_rows": len(rows),
               "checksum": sha256((target / path).read_bytes()).hexdigest()}  # fmt: skip
    means = _means(source, dataset, cell, [row["evaluation"]["score"] for row in rows])
    record = {key: head[key] for key in ("schema_version", "evaluation_id")} | means
    record |= {"retrieved_timestamp": time, "detailed_evaluation_results": details}
    write_lines(target / path.replace("_samples.jsonl", ".json"), [json.dumps(well_formed(record), allow_nan=False)])
    return target / path


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


def _sample(scored: ScoredDebate) -> dict[str, Any]:
    debate = scored.record.debate
    asked: dict[str, Any] = {"raw": scored.asked, "reference": list(map(str, scored.golds))}
    digest = sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    if scored.choices:
        asked["choices"] = scored.choices
    messages, attributions = _messages(scored)
    sample: dict[str, Any] = {
        "sample_id": debate.question_id,
        "sample_hash": digest,
        "interaction_type": "multi_turn",
        "input": asked,
        "output": None,
        "messages": messages,
        "answer_attribution": attributions,
        "evaluation": {
            "score": scored.score, "is_correct": scored.score == 1, "num_turns": max(1, len(debate.all_turns))
        },
        "metadata": {
            "epoch": str(scored.record.header.replicate),
            "answer": debate.answer or "",
            "votes": json.dumps(dict(debate.votes)),
            "stop": debate.stop,
            "rounds": str(debate.rounds),
        },
    }  # fmt: skip
    tokens = [(call.prompt_tokens, call.completion_tokens) for turn in debate.all_turns for call in turn.calls]
    if all(count is not None for turn in tokens for count in turn):
        sent, replied = (sum(count or 0 for count in counts) for counts in zip(*tokens, strict=True))
        sample["token_usage"] = {"input_tokens": sent, "output_tokens": replied, "total_tokens": sent + replied}
    return sample


def _messages(scored: ScoredDebate) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the prompts and replies of a debate, and which answers were read from the replies."""
    messages: list[dict[str, Any]] = []
    attributions: list[dict[str, Any]] = []
    whole = scored.record.debate
    for stage, turn, model, prompts in scored.told():
        about = {"stage": stage, "round": turn.round}
        for prompt in prompts:
            messages.append({"turn_idx": len(messages), **prompt, "to": turn.speaker, **about})
        place = len(messages)
        messages.append({"turn_idx": place, "role": "assistant", "content": turn.text, "speaker": turn.speaker,
                         "model": model, **about, "turn": turn.turn, "heard": list(turn.heard)})  # fmt: skip
        if turn.answer is not None:
            is_last = stage == len(whole.stages) - 1 and turn.round == whole.stages[-1].rounds
            attributions.append({
                "turn_idx": place, "source": f"messages[{place}].content", "extracted_value": turn.answer,
                "extraction_method": "custom", "is_terminal": is_last and turn.answer == whole.answer,
            })  # fmt: skip
    return messages, attributions
