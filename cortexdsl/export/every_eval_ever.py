"""Records of Every Eval Ever (schema 0.3.0): for each dataset and cell a file of means, and one of its samples.

A debate is a sample of several turns. What the schema has no field for, such as who spoke and whom an agent had heard,
are further keys of the messages, which it allows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from cortexdsl import __version__
from cortexdsl.checksums import write_lines
from cortexdsl.core import Debate, Turn
from cortexdsl.errors import DataError
from cortexdsl.export.source import TOKENS, ExportSource, ScoredDebate
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
    messages = list(scored.messages())
    sample: dict[str, Any] = {
        "sample_id": debate.question_id,
        "sample_hash": digest,
        "interaction_type": "multi_turn",
        "input": asked,
        "output": None,
        "messages": [{"turn_idx": place, **message} for place, (_, message) in enumerate(messages)],
        "answer_attribution": list(_attributions(debate, messages)),
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
    counts = (count for turn in debate.all_turns for call in turn.calls
              for count in (call.prompt_tokens, call.completion_tokens))  # fmt: skip
    if all(count is not None for count in counts):
        used = scored.tokens().values()
        sample["token_usage"] = {kind: sum(counts[kind] for counts in used) for kind in TOKENS}
    return sample


def _attributions(debate: Debate, messages: Sequence[tuple[Turn, Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield which answers were read from the replies."""
    last = (len(debate.stages) - 1, debate.stages[-1].rounds)
    for place, (turn, message) in enumerate(messages):
        if "speaker" in message and turn.answer is not None:
            is_last = (message["stage"], turn.round) == last
            yield {
                "turn_idx": place, "source": f"messages[{place}].content", "extracted_value": turn.answer,
                "extraction_method": "custom", "is_terminal": is_last and turn.answer == debate.answer,
            }  # fmt: skip
