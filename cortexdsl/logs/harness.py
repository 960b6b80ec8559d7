"""Samples of lm-evaluation-harness (EleutherAI): `samples_TASK_TIME.jsonl`, next to `results_TIME.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.logs.samples import Log, LoggedSample, digest_of, facts_of, score_of

_TIME = len("2026-01-21T03-44-18.458309")


def read(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Log]:
    """Read the samples of one task.

    A sample has a row for each filter of the task; a score is called `METRIC,FILTER`, as in the results of the tool.
    """
    task, time = path.stem.removeprefix("samples_")[: -_TIME - 1], path.stem[-_TIME:]
    scores: dict[str, dict[str, float | None]] = {}
    asked: dict[str, str] = {}
    labels: dict[str, Mapping[str, str]] = {}
    for number, row in enumerate(rows, 1):
        doc = str(row["doc_id"])
        asked[doc] = str(row.get("doc_hash") or digest_of(row.get("doc")))
        labels[doc] = facts_of(row.get("doc"))
        for metric in row.get("metrics") or ():
            value = row.get(metric)
            if isinstance(value, bool | int | float):  # others are parts of a statistic of all samples
                name = f"{metric},{row['filter']}" if row.get("filter") else str(metric)
                scores.setdefault(doc, {})[name] = score_of(value, f"{path}:{number}: {name}")
    samples = tuple(LoggedSample(doc, 1, asked[doc], scores.get(doc, {}), labels=labels[doc]) for doc in asked)
    yield Log(str(path), "lm-evaluation-harness", task, _model(path, time), samples)


def _model(path: Path, time: str) -> str:
    """Return the name of the model, from the results next to the samples; else that of their folder."""
    results = path.with_name(f"results_{time}.json")
    try:
        found = json.loads(results.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return path.parent.name
    except (OSError, ValueError) as error:
        raise DataError(f"{results}: cannot be read: {error}") from None
    return str(found.get("model_name") or found.get("model_source") or path.parent.name)
