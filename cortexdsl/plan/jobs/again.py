"""Which finished debates and judgements have calls that failed, so that they may be asked again."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.errors import RecordError
from cortexdsl.models.logs.calls import LogFolder
from cortexdsl.plan.experiment import Plan
from cortexdsl.records import read_debates
from cortexdsl.tasks.grading.judgements import unread_calls


def failed_jobs(plan: Plan) -> list[tuple[str, str, str]]:
    """Return the finished jobs, as (dataset, cell, shard), with a turn whose call failed and has no reply since.

    A log may hold more failures: calls that no debate made any longer once an earlier one was asked again.
    """
    found = []
    for dataset, shards in plan.shards.items():
        for shard in shards:
            logs = LogFolder(Path(plan.layout.calls(dataset, shard.label)))
            logs.refresh()
            for cell in plan.cells:
                if _has_failures(Path(plan.layout.debates(dataset, cell.slug, shard.label)), logs):
                    found.append((dataset, cell.slug, shard.label))
            logs.close()
    return found


def failed_judgements(plan: Plan) -> list[tuple[str, str]]:
    """Return the judged cells, as (dataset, cell), with an answer about which the judge's call failed.

    Such an answer counts as not correct.
    """
    found = []
    for dataset in filter(plan.is_judged, plan.tasks):
        logs = LogFolder(Path(plan.layout.judge_calls(dataset)))
        logs.refresh()
        for cell in plan.cells:
            path = Path(plan.layout.judgements(dataset, cell.slug))
            if path.exists() and any(logs.has_error(call) for call in unread_calls(path)):
                found.append((dataset, cell.slug))
        logs.close()
    return found


def _has_failures(records: Path, logs: LogFolder) -> bool:
    if not records.exists():
        return False
    try:
        turns = (turn for record in read_debates(records) for turn in record.debate.turns)
        return any(not turn.text and logs.has_error(turn.call) for turn in turns)
    except RecordError:  # damaged: made again from the log
        return True
