"""Pair the samples of several logs: the same questions, in one table of scores with a cell for each log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.core import by_key
from cortexdsl.errors import DataError, InputError
from cortexdsl.logs.samples import Log, LoggedSample
from cortexdsl.numbers import counted

_SHOWN = 5
_RESERVED = re.compile(r"\s*[][(),]+\s*")
"""What claims read as the end of a name."""


@dataclass(frozen=True, slots=True)
class PairedLogs:
    """A table of scores, and what was left out of it.

    Attributes
    ----------
    frame : DataFrame
        `dataset, cell, replicate, question_id, score`, the costs that are known, and `cluster` if it was asked for.
    notes : tuple of str
        Sentences: how many questions were paired, and which were not.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


def pair_logs(logs: Sequence[Log], score: str | None = None, cluster: str | None = None) -> PairedLogs:
    """Pair logs, dataset by dataset.

    Samples of a dataset are paired by what was asked if every log says it, else by their ids. Questions that some log
    lacks are left out and named; a sample that is there without a score stays, as a missing value.

    Parameters
    ----------
    logs : sequence of Log
    score : str or None
        The name of the score; None if each log has one score, or several of equal values.
    cluster : str or None
        A fact of the questions; those with an equal one are not independent.

    Raises
    ------
    DataError
        The logs are about different questions, two logs have the same model on a dataset without a difference in their
        names, or a sample stands twice.
    InputError
        There are several scores and none was chosen, or the chosen one or the cluster does not exist.
    """
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for dataset, found in by_key((log.dataset, log) for log in logs).items():
        name = _chosen(found, score)
        keyed = _keyed(dataset, found)
        shared = set.intersection(*map(set, keyed))
        notes += _left_out(dataset, found, keyed, shared)
        ids = {key: sample[0].id for key, sample in keyed[0].items()}
        for cell, samples in zip(_cells(found), keyed, strict=True):
            for key, several in samples.items():
                if key in shared:
                    rows += [_row(dataset, cell, ids[key], sample, name, cluster) for sample in several]
    frame = pd.DataFrame(rows)
    if cluster is not None and not frame["cluster"].any():
        known = sorted({label for log in logs for sample in log.samples for label in sample.labels})
        raise InputError(
            f"--cluster {cluster}: no sample has it\n    samples have: {', '.join(known[:20]) or 'no facts'}"
        )
    return PairedLogs(frame.dropna(axis="columns", how="all"), tuple(notes))


def _row(
    dataset: str, cell: str, identity: str, sample: LoggedSample, score: str, cluster: str | None
) -> dict[str, Any]:
    row = {"dataset": dataset, "cell": cell, "replicate": sample.epoch, "question_id": identity,
           "score": sample.scores.get(score), **sample.numbers}  # fmt: skip
    return row if cluster is None else row | {"cluster": sample.labels.get(cluster, "")}


def _chosen(logs: Sequence[Log], score: str | None) -> str:
    """Return the score that is compared: the one that was asked for, or the only one that all logs have."""
    by_log = [dict.fromkeys(name for sample in log.samples for name in sample.scores) for log in logs]
    names = [name for name in by_log[0] if all(name in others for others in by_log)]
    if score is not None:
        if score not in names:
            lacking = next(log for log, own in zip(logs, by_log, strict=True) if score not in own)
            own = ", ".join(dict.fromkeys(name for sample in lacking.samples for name in sample.scores))
            raise InputError(f"{lacking.source}: no score {score!r}\n    it has: {own}")
        return score
    if not names:
        each = "; ".join(f"{log.source}: {', '.join(own)}" for log, own in zip(logs, by_log, strict=True))
        raise DataError(f"these logs have no score in common\n    {each}")
    values = {
        tuple(sample.scores.get(name) for log in logs for sample in log.samples): name for name in reversed(names)
    }
    if len(values) > 1:
        raise InputError(
            f"{logs[0].source}: several scores\n    choose one: --score {' | '.join(sorted(values.values()))}"
        )
    return names[0]


def _keyed(dataset: str, logs: Sequence[Log]) -> list[dict[str, list[LoggedSample]]]:
    """Return the samples of each log by what pairs them."""
    by_asked = all(sample.digest for log in logs for sample in log.samples) and all(_is_unique(log) for log in logs)
    keyed = []
    for log in logs:
        samples = by_key((sample.digest if by_asked else sample.id, sample) for sample in log.samples)
        for several in samples.values():
            twice = [epoch for epoch, count in Counter(sample.epoch for sample in several).items() if count > 1]
            if twice:
                raise DataError(f"{log.source}: sample {several[0].id} stands twice (epoch {twice[0]})")
        keyed.append(samples)
    if not by_asked:
        _check_asked(dataset, logs, keyed)
    return keyed


def _is_unique(log: Log) -> bool:
    """Return whether samples with different ids were asked different things."""
    return len({(sample.id, sample.digest) for sample in log.samples}) == len({sample.digest for sample in log.samples})


def _check_asked(dataset: str, logs: Sequence[Log], keyed: Sequence[Mapping[str, list[LoggedSample]]]) -> None:
    """Refuse logs that call different questions by the same id."""
    for log, samples in zip(logs[1:], keyed[1:], strict=True):
        both = [key for key in samples if key in keyed[0]]
        other = [key for key in both if samples[key][0].digest and keyed[0][key][0].digest
                 and samples[key][0].digest != keyed[0][key][0].digest]  # fmt: skip
        if other:
            raise DataError(
                f"{log.source}: {len(other)} of {counted(len(both), 'question')} of {dataset} differ from those of"
                f" {logs[0].source} with the same id (first: {other[0]})\n    compare runs over the same questions"
            )


def _left_out(
    dataset: str, logs: Sequence[Log], keyed: Sequence[Mapping[str, list[LoggedSample]]], shared: set[str]
) -> Iterator[str]:
    if not shared:
        counts = ", ".join(f"{log.source} {len(samples)}" for log, samples in zip(logs, keyed, strict=True))
        raise DataError(
            f"{dataset}: the logs have no question in common ({counts} questions)\n"
            "    compare runs over the same questions"
        )
    if len(logs) > 1:
        yield f"{dataset}: {counted(len(shared), 'question is', 'questions are')} in all {len(logs)} logs."
    for log, samples in zip(logs, keyed, strict=True):
        others = [several[0].id for key, several in samples.items() if key not in shared]
        if others:
            more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
            yield (
                f"Left out of {Path(log.source).name}, because not all logs have them: "
                f"{counted(len(others), 'question')} ({', '.join(others[:_SHOWN])}{more})."
            )


def _cells(logs: Sequence[Log]) -> list[str]:
    """Return the cell of each log: its model, or, if several have the same, its file."""
    models = Counter(log.model for log in logs)
    names = [_RESERVED.sub(" ", log.model if models[log.model] == 1 else Path(log.source).stem).strip() for log in logs]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        sources = ", ".join(log.source for log, name in zip(logs, names, strict=True) if name == twice[0])
        raise DataError(f"{sources}: two runs that cannot be told apart ({twice[0]})\n    rename one of the files")
    return names
