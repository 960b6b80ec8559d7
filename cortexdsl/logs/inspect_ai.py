"""Logs of Inspect (UK AI Security Institute), `.eval` and JSON, read by its own reader (the extra `logs`)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError, InputError
from cortexdsl.logs.samples import Log, LoggedSample, costs_of, digest_of, facts_of, score_of

_MOST_BYTES = 4 << 30
"""Of the summaries of a log, unpacked: more than a million samples; a zip bomb is larger."""


def read(path: Path) -> Iterator[Log]:
    """Read one log.

    Raises
    ------
    InputError
        inspect_ai is not installed.
    DataError
        The log is damaged, did not finish, or has no scores that are numbers.
    """
    try:
        reader = import_module("inspect_ai.log")
    except ImportError:
        raise InputError(
            f"{path}: a log of Inspect is read by its own library\n    install it: pip install 'cortexdsl[logs]'"
        ) from None
    try:
        head = reader.read_eval_log(str(path), header_only=True)
        summaries = reader.read_eval_log_sample_summaries(str(path))
    except Exception as error:  # its readers raise what they like
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(
            f"{path}: Inspect cannot read it: {first[0][:200]}\n"
            "    is it whole, and of no newer Inspect than the one that is installed here?"
        ) from None
    if head.status != "success":
        raise DataError(
            f"{path}: this run did not finish ({head.status}, {len(summaries)} samples)\n"
            f"    finish it: inspect eval-retry {path.name}"
        )
    samples = tuple(_sample(path, summary) for summary in summaries)
    yield Log(str(path), "Inspect", str(head.eval.task), _model(head.eval), samples)


def _model(head: Any) -> str:
    """Return what ran: the model, with the solver if the run names one."""
    return f"{head.model}, {head.solver}" if head.solver else str(head.model)


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


def is_archive(path: Path) -> bool:
    """Return whether a ZIP archive has the form of a log.

    Raises
    ------
    DataError
        Its summaries unpack to more than a log holds.
    """
    with zipfile.ZipFile(path) as archive:
        sizes = {one.filename: one.file_size for one in archive.infolist() if not one.filename.startswith("samples/")}
    if (size := sum(sizes.values())) > _MOST_BYTES:
        raise DataError(f"{path}: it unpacks to {size >> 30} GiB of summaries: more than a log of Inspect holds")
    return not sizes.keys().isdisjoint(("header.json", "_journal/start.json"))
