"""Logs of Inspect (UK AI Security Institute), `.eval` and JSON, read by its own reader (the extra `logs`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cortexdsl.logs.samples import Log, LoggedSample, costs_of, digest_of, facts_of, score_of
from cortexdsl.records.inspect_logs import model_of, opened


def read(path: Path) -> Iterator[Log]:
    """Read one log.

    Raises
    ------
    InputError
        inspect_ai is not installed.
    DataError
        The log is damaged, did not finish, or has no scores that are numbers.
    """
    with opened(path) as (reader, head):
        summaries = reader.read_eval_log_sample_summaries(str(path))
    samples = tuple(_sample(path, summary) for summary in summaries)
    yield Log(str(path), "Inspect", str(head.eval.task), model_of(head), samples)


def _sample(path: Path, summary: Any) -> LoggedSample:
    scores: dict[str, float | None] = {}
    for name, score in (summary.scores or {}).items():
        values = score.value if isinstance(score.value, dict) else {"": score.value}
        for part, value in values.items():
            own = f"{name}/{part}" if part else name
            scores[own] = score_of(value, f"{path}: sample {summary.id}: score {own}")
    usage = list((summary.model_usage or {}).values())
    numbers = costs_of(
        input_tokens=sum(each.input_tokens for each in usage) if usage else None,
        output_tokens=sum(each.output_tokens for each in usage) if usage else None,
        seconds=summary.total_time,
    )
    asked = summary.input if isinstance(summary.input, str) else [each.model_dump() for each in summary.input]
    return LoggedSample(
        str(summary.id), summary.epoch, digest_of([asked, summary.target]), scores, numbers, facts_of(summary.metadata)
    )
