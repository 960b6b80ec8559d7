"""Which finished debates have calls that failed, so that they may be asked again."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.models.logs.calls import LogFolder
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.shards import Shard


def failed_shards(plan: Plan) -> list[tuple[str, Shard]]:
    """Return the (dataset, shard) whose call logs hold a failure for which no reply came since.

    A failed call may be shared by all cells of its shard: debates of each of them may have heard of it.
    """
    return [
        (dataset, shard)
        for dataset, shards in plan.shards.items()
        for shard in shards
        if _has_failures(Path(plan.layout.calls(dataset, shard.label)))
    ]


def _has_failures(folder: Path) -> bool:
    logs = LogFolder(folder)
    logs.refresh()
    try:
        return logs.has_failures()
    finally:
        logs.close()


def failed_debates(plan: Plan) -> list[str]:
    """Return the finished debate records that may be other once those failures are asked again."""
    paths = [
        plan.layout.debates(dataset, cell.slug, shard.label)
        for dataset, shard in failed_shards(plan)
        for cell in plan.cells
    ]
    return [path for path in paths if Path(path).exists()]
