"""Shards: how the questions of a dataset are cut into jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cortexdsl.terms import StoppingRule, in_step

START_SECONDS = 3.0  # fixed cost of a job that calls a model over the network (docs/benchmarks.md)
ORCHESTRATION_SHARE = 0.05  # of a job's time that its start may take
SECONDS_PER_CALL = 1.0  # assumed of a model server, where nothing is known
LOCAL_SHARD = 100  # the built-in solver answers thousands of calls a second: a job is all start


@dataclass(frozen=True, slots=True)
class Shard:
    """The questions of one job: replicate `r`, shard `s`, both from 1; their places in the dataset's order."""

    replicate: int
    number: int
    first: int
    end: int

    @property
    def label(self) -> str:
        """The shard in file names: `r1-s03`."""
        return f"r{self.replicate}-s{self.number:02d}"


def shard_size(
    asked: int | str,
    *,
    is_local: bool,
    connections: int,
    calls_per_question: int,
    kept: Callable[[int], int] = lambda auto: auto,
) -> int:
    """Return how many questions a job takes.

    `auto` makes a job so long that its fixed start is at most 5 % of it: with F seconds to start, C connections
    and q seconds of calls a question, 20 F C / q questions; at least 20. In place of that number `auto` takes what
    `kept` makes of it: the size that an experiment had before.
    """
    if isinstance(asked, int):
        return asked
    seconds = max(1, calls_per_question) * SECONDS_PER_CALL
    remote = max(20, math.ceil(START_SECONDS / ORCHESTRATION_SHARE * connections / seconds))
    return kept(LOCAL_SHARD if is_local else remote)


def cut(questions: int, replicates: int, size: int) -> tuple[Shard, ...]:
    """Cut a dataset of some questions into shards of at most `size`, for every replicate."""
    return _shards([*range(size, questions, size), questions], replicates)


def cut_in_step(questions: int, replicates: int, rule: StoppingRule, largest: int) -> tuple[Shard, ...]:
    """Cut a dataset into the batches between looks, at one pace with the largest dataset of the experiment.

    A small dataset may have no question in some batch; the numbers of its shards then have gaps.
    """
    ends = [*range(min(rule.fewest, largest), largest, rule.batch), largest]
    return _shards([in_step(end, questions, largest) for end in ends], replicates)


def _shards(ends: Sequence[int], replicates: int) -> tuple[Shard, ...]:
    return tuple(
        Shard(replicate, number, first, end)
        for replicate in range(1, replicates + 1)
        for number, (first, end) in enumerate(pairwise([0, *ends]), 1)
        if first < end
    )


def find(shards: Sequence[Shard], label: str) -> Shard | None:
    """Return the shard of a label, if there is one."""
    return next((shard for shard in shards if shard.label == label), None)
