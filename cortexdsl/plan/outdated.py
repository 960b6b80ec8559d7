"""Which results were made under another plan, as they say themselves: by digests, wherever the results came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.kept.store import LaterPlanError, read_plan
from cortexdsl.plan.training.phases import slug_of
from cortexdsl.records.tallies import Tallies


def outdated_outputs(plan: Plan) -> set[str]:
    """Return the outputs that were made under another plan than this one.

    The tally of a job has the digest of what its output depends on. Of debates whose tally has none (it is missing, or
    of an earlier version of cortexdsl), plan.json says which cells and questions they had.
    """
    digests = {tally.job: tally.digest for tally in Tallies(Path(plan.layout.ledgers)).read() if tally.digest}
    found = {output for job, output, digest in _outputs(plan) if job in digests and digests[job] != digest()}
    path = Path(plan.layout.plan)
    if not path.exists():
        return found
    try:
        record = read_plan(path)
    except LaterPlanError:
        return found
    except RecordError:  # damaged
        return found | {str(path)}
    if record.get("spec_digest") != plan.digest:
        found |= {plan.layout.plan, *(output for job, output in _edited(plan, record) if job not in digests)}
    return found


def _edited(plan: Plan, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (job, output) of the debates of cells and questions that have changed since plan.json was written."""
    cells = {cell["slug"]: cell["digest"] for cell in record["cells"]}
    datasets = {label: dataset["digest"] for label, dataset in record["datasets"].items()}
    for dataset, shards in plan.shards.items():
        is_same_task = datasets.get(dataset) == plan.task(dataset).digest
        for cell in plan.cells:
            if not is_same_task or cells.get(cell.slug) != cell.digest:
                for shard in shards:
                    place = dataset, cell.slug, shard.label
                    yield "~".join(place), plan.layout.debates(*place)


def _outputs(plan: Plan) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Yield (job, output, what computes its digest) of every job that asks models or sources."""
    layout = plan.layout
    for dataset, shards in plan.shards.items():
        for cell in plan.cells:
            for shard in shards:
                place = dataset, cell.slug, shard.label
                yield "~".join(place), layout.debates(*place), partial(plan.debate_digest, *place)
            if plan.is_judged(dataset):
                judged = layout.judgements(dataset, cell.slug)
                yield f"{dataset}~{cell.slug}~judge", judged, partial(plan.judge_digest, dataset, cell.slug)
        for source in dict.fromkeys(Path(path).stem for cell in plan.cells for path in plan.pools(dataset, cell)):
            pool = layout.pool(dataset, source)
            yield f"{dataset}~pool~{source}", pool, partial(plan.pool_digest, dataset, source)
    for training in plan.trainings:
        for phase in training.phases:
            for shard in training.shards:
                output = layout.trajectories(training.name, phase.label, shard.label)
                yield f"{slug_of(training.name, phase.label)}~{shard.label}", output, partial(str, phase.digest)
