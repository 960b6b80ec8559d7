"""How an experiment was cut into jobs before: its call logs lie by shard, and another cut would ask all calls again.

`cut.json` says it, and not `plan.json`: Snakemake removes what a rule is about to write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cortexdsl.plan.parts.shards import Shard
from cortexdsl.records.files import write_lines

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Earlier:
    """The shards that an experiment had: of its datasets, and of its trainings by name."""

    datasets: Sequence[Any] = ()
    trainings: Mapping[str, Any] = field(default_factory=dict)

    def size(self, auto: int) -> int:
        """Return the questions that a job takes: as many as before, or `auto` where there was no job yet."""
        return size_kept(self.datasets, auto)

    def size_of(self, training: str, auto: int) -> int:
        """Return the questions that a job of a training takes, likewise."""
        return size_kept([self.trainings.get(training, ())], auto)


def earlier(path: Path) -> Earlier:
    """Read how an experiment was cut; a file that is not there, or cannot be read, says nothing."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Earlier([*record["datasets"].values()], dict(record["trainings"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Earlier()


def write_cut(path: Path, datasets: Mapping[str, Sequence[Shard]], trainings: Mapping[str, Sequence[Shard]]) -> None:
    """Write how an experiment is cut, atomically; nothing is touched where that stands there already."""
    cuts = {
        part: {name: [asdict(shard) for shard in cut if shard.replicate == 1] for name, cut in shards.items()}
        for part, shards in (("datasets", datasets), ("trainings", trainings))
    }
    text = json.dumps({"schema_version": SCHEMA_VERSION, **cuts})
    if not path.exists() or path.read_text(encoding="utf-8").strip() != text:
        write_lines(path, [text])


def size_kept(cuts: Sequence[Any], auto: int) -> int:
    """Return the size of a shard with which no question changes its shard.

    Where a dataset was cut, the first of its shards is as long as all were allowed to be; where none was, any size
    does that leaves each in one piece.
    """
    try:
        lengths = [[shard["end"] - shard["first"] for shard in cut] for cut in cuts]
    except (KeyError, TypeError):
        return auto
    exact: list[int] = [first for first, *more in filter(None, lengths) if more]
    whole: list[int] = [first for first, *more in filter(None, lengths) if not more]
    return max(1, *exact) if exact else max([auto, *whole])
