"""Shards: the questions of a dataset, cut into jobs.

An experiment keeps its earlier shards, as call logs are stored by shard: with other shards all calls would be sent
again. They are in `cut.json` and not in `plan.json`, since Snakemake removes a file that a rule is about to write.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from cortexdsl.checksums import write_lines
from cortexdsl.core import StoppingRule, proportional_questions

START_SECONDS = 3.0  # fixed cost of a job that calls a model over the network (docs/benchmarks/README.md)
ORCHESTRATION_SHARE = 0.05  # of a job's time that its start may take
SECONDS_PER_CALL = 1.0  # assumed of a model server
LOCAL_SHARD = 100  # the built-in solver answers thousands of calls a second: almost all of a job's time is its start


@dataclass(frozen=True, slots=True)
class Shard:
    """The questions of one job: `first` to `end` (exclusive) in the dataset's order; replicate and number from 1."""

    replicate: int
    number: int
    first: int
    end: int

    @property
    def label(self) -> str:
        """The shard in file names: `r1-s03`."""
        return f"r{self.replicate}-s{self.number:02d}"


def shard_size(
    size: int | None,
    *,
    is_local: bool,
    connections: int,
    calls_per_question: int,
    kept: Callable[[int], int] = lambda auto: auto,
) -> int:
    """Return the number of questions of a job.

    `auto` makes a job so long that its fixed start is at most 5 % of it: with F seconds to start, C connections
    and q seconds of calls a question, 20 F C / q questions; at least 20. `kept` maps this number to the size that the
    experiment had before, if it had one.
    """
    if isinstance(size, int):
        return size
    seconds = max(1, calls_per_question) * SECONDS_PER_CALL
    remote = max(20, math.ceil(START_SECONDS / ORCHESTRATION_SHARE * connections / seconds))
    return kept(LOCAL_SHARD if is_local else remote)


def cut(questions: int, replicates: int, size: int) -> tuple[Shard, ...]:
    """Cut a dataset of some questions into shards of at most `size`, for every replicate."""
    return _shards([*range(size, questions, size), questions], replicates)


def cut_in_step(questions: int, replicates: int, rule: StoppingRule, largest: int) -> tuple[Shard, ...]:
    """Cut a dataset into the batches between looks, in proportion to the largest dataset of the experiment.

    A small dataset may have no question in some batch. The numbers of its shards then have gaps.
    """
    ends = [*range(min(rule.fewest, largest), largest, rule.batch), largest]
    return _shards([proportional_questions(end, questions, largest) for end in ends], replicates)


def _shards(ends: Sequence[int], replicates: int) -> tuple[Shard, ...]:
    return tuple(
        Shard(replicate, number, first, end)
        for replicate in range(1, replicates + 1)
        for number, (first, end) in enumerate(pairwise([0, *ends]), 1)
        if first < end
    )


def last_batch(shards: Mapping[str, Sequence[Shard]]) -> int:
    """Return the number of the last batch of questions."""
    return max(shard.number for cut in shards.values() for shard in cut)


def first_questions(
    ids: Mapping[str, Sequence[str]], shards: Mapping[str, Sequence[Shard]], batches: int | None
) -> Mapping[str, Sequence[str]]:
    """Return the ids of every dataset's questions: all, or those of the first batches."""
    if batches is None:
        return ids
    ends = {label: max(shard.end for shard in cut if shard.number <= batches) for label, cut in shards.items()}
    return {label: names[: ends[label]] for label, names in ids.items()}


def find(shards: Sequence[Shard], label: str) -> Shard | None:
    """Return the shard of a label; None if there is none."""
    return next((shard for shard in shards if shard.label == label), None)


SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class PreviousShards:
    """The earlier shards of an experiment: of its datasets, and of its trainings by name."""

    datasets: Sequence[Any] = ()
    trainings: Mapping[str, Any] = field(default_factory=dict)

    def size(self, auto: int) -> int:
        """Return the number of questions of a job: the earlier one, or `auto` if there was no job yet."""
        return previous_size(self.datasets, auto)

    def size_of(self, training: str, auto: int) -> int:
        """Return the number of questions of a training's job: the earlier one, else `auto`."""
        return previous_size([self.trainings.get(training, ())], auto)


def read_previous_shards(path: Path) -> PreviousShards:
    """Read the earlier shards of an experiment; empty if the file is missing or cannot be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return PreviousShards([*record["datasets"].values()], dict(record["trainings"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return PreviousShards()


def write_cut(path: Path, datasets: Mapping[str, Sequence[Shard]], trainings: Mapping[str, Sequence[Shard]]) -> None:
    """Write the shards of an experiment, atomically. A file that is equal already keeps its time."""
    cuts = {
        part: {name: [asdict(shard) for shard in cut if shard.replicate == 1] for name, cut in shards.items()}
        for part, shards in (("datasets", datasets), ("trainings", trainings))
    }
    text = json.dumps({"schema_version": SCHEMA_VERSION, **cuts})
    if not path.exists() or path.read_text(encoding="utf-8").strip() != text:
        write_lines(path, [text])


def previous_size(cuts: Sequence[Any], auto: int) -> int:
    """Return the size of a shard with which no question changes its shard.

    If a dataset has several shards, its first one has the full size. If none has, any size fits that leaves each
    dataset in one piece.
    """
    try:
        lengths = [[shard["end"] - shard["first"] for shard in cut] for cut in cuts]
    except (KeyError, TypeError):
        return auto
    exact: list[int] = [first for first, *more in filter(None, lengths) if more]
    whole: list[int] = [first for first, *more in filter(None, lengths) if not more]
    return max(1, *exact) if exact else max([auto, *whole])
