"""What the debates of a cell cost besides tokens: from its call logs and the plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from cortexdsl.core import CallCost, Cell, DebateCosts
from cortexdsl.core.metrics import grouped
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.models.call_log.costs import read_costs
from cortexdsl.plan.experiment import Plan
from cortexdsl.records import Record


def debate_costs(
    plan: Plan, dataset: str, cell: Cell, records: Sequence[Record], metrics: Iterable[str]
) -> DebateCosts:
    """Return what some metrics need besides the records of a cell: sizes of models and, if asked for, the call log."""
    calls: dict[str, CallCost] = {}
    if any(metric.group == "log" for metric in grouped(metrics)):
        debates = {(record.header.replicate, record.debate.question_id): record.debate for record in records}
        for shard in plan.shards[dataset]:
            places = [(shard.replicate, question.id) for question in plan.questions(dataset, shard)]
            spent = [call.call for place in places if place in debates for call in debate_calls(debates[place])]
            log = Path(plan.layout.call_log(dataset, cell.slug, shard.label))
            calls |= read_costs(log, spent) if spent else {}
    return DebateCosts(calls, plan.call_sizes(cell))
