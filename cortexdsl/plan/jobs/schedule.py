"""Decide which outputs must be made again, and which jobs only wait for other machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cortexdsl.core import Model
from cortexdsl.engine.methods import pool_sources
from cortexdsl.errors import RecordError
from cortexdsl.models.call_log.folder import LogFolder
from cortexdsl.models.transports.registry import runs_here, way_of
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import ballots_digest, debate_digest, judge_digest, label_digest, pool_digest
from cortexdsl.plan.job_files import label_files, pool_files
from cortexdsl.plan.record import LaterRecordError, PlanRecord, read_plan
from cortexdsl.plan.training import slug_of
from cortexdsl.records import read_debates
from cortexdsl.records.tallies import Tallies
from cortexdsl.tasks.balloting import unread_ballots
from cortexdsl.tasks.judging import unread_calls

AT_ONCE = 5
"""Jobs that wait at once: Snakemake (9.27) has this many threads more than cores, and those are for computing jobs."""
DEFAULT_RATE = (100, 1)
"""Jobs that Snakemake starts at most, and in how many seconds, if its command has no `--max-jobs-per-timespan`."""
LOCAL_SIMILARITIES = ("ngram", "sentence-transformers/", "nli/")
"""Similarities that this machine computes."""


def outdated_outputs(plan: Plan) -> set[str]:
    """Return the outputs that were made under another plan than this one, wherever they were made.

    The tally of a job holds the digest of what its output depends on. If it holds none (it is missing, or of an earlier
    version of cortexdsl), the cells and questions in plan.json are compared.
    """
    digests = {tally.job: tally.digest for tally in Tallies(Path(plan.layout.spent)).read() if tally.digest}
    outdated = {output for job, output, digest in job_outputs(plan) if job in digests and digests[job] != digest()}
    path = Path(plan.layout.plan)
    if not path.exists():
        return outdated
    try:
        record = read_plan(path)
    except LaterRecordError:
        return outdated
    except RecordError:  # damaged
        return outdated | {str(path)}
    if record.spec_digest != plan.digest:
        outdated |= {plan.layout.plan, *(output for job, output in _edited(plan, record) if job not in digests)}
    return outdated


def _edited(plan: Plan, record: PlanRecord) -> Iterator[tuple[str, str]]:
    """Yield (job, output) of the debates of cells and questions that have changed since plan.json was written."""
    cells = {cell.slug: cell.digest for cell in record.cells}
    datasets = {label: dataset.digest for label, dataset in record.datasets.items()}
    for dataset, shards in plan.shards.items():
        is_same_task = datasets.get(dataset) == plan.task(dataset).digest
        for cell in plan.cells:
            if not is_same_task or cells.get(cell.slug) != cell.digest:
                for shard in shards:
                    place = dataset, cell.slug, shard.label
                    yield "~".join(place), plan.layout.debates(*place)


def job_outputs(plan: Plan) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Yield (job, output, what computes its digest) of every job that calls models or sources."""
    layout = plan.layout
    for dataset, shards in plan.shards.items():
        for cell in plan.cells:
            for shard in shards:
                place = dataset, cell.slug, shard.label
                yield "~".join(place), layout.debates(*place), partial(debate_digest, plan, *place)
            if plan.is_judged(dataset):
                judgements = layout.judgements(dataset, cell.slug)
                yield f"{dataset}~{cell.slug}~judge", judgements, partial(judge_digest, plan, dataset, cell.slug)
            if plan.labelling is not None and plan.labelling.judge is not None:
                (labels,) = label_files(plan, dataset, cell.slug)
                yield f"{dataset}~{cell.slug}~label", labels, partial(label_digest, plan, dataset, cell.slug)
        for judge in plan.tournament.judges if plan.tournament else ():
            ballots = layout.ballots(dataset, judge.name)
            yield f"{dataset}~ballots~{judge.name}", ballots, partial(ballots_digest, plan, dataset, judge.name)
        for source in dict.fromkeys(Path(path).stem for cell in plan.cells for path in pool_files(plan, dataset, cell)):
            pool = layout.pool(dataset, source)
            yield f"{dataset}~pool~{source}", pool, partial(pool_digest, plan, dataset, source)
    for fitted in {each.label: each for each in plan.learned}.values():
        for shard in fitted.shards:
            place = fitted.label, plan.cell_named(fitted.cell).slug, shard.label
            yield "~".join(place), layout.debates(*place), partial(debate_digest, plan, *place)
    for training in plan.trainings:
        for phase in training.phases:
            for shard in training.shards:
                output = layout.trajectories(training.name, phase.label, shard.label)
                yield f"{slug_of(training.name, phase.label)}~{shard.label}", output, partial(str, phase.digest)


def failed_jobs(plan: Plan) -> list[tuple[str, str, str]]:
    """Return the finished jobs, as (dataset, cell, shard), with a turn whose call failed and has had no reply since.

    A log may hold more failures: of calls that no debate makes any more after an earlier call was repeated.
    """
    jobs = []
    for dataset, shards in plan.shards.items():
        for shard in shards:
            logs = LogFolder(Path(plan.layout.calls(dataset, shard.label)))
            logs.refresh()
            for cell in plan.cells:
                if _has_failures(Path(plan.layout.debates(dataset, cell.slug, shard.label)), logs):
                    jobs.append((dataset, cell.slug, shard.label))
            logs.close()
    return jobs


def failed_judging(plan: Plan) -> list[str]:
    """Return the outputs of judges that miss what a failed call would have said: judgements, labels and ballots.

    Such an answer counts as not correct, such a turn has no label, and such a ballot prefers nobody.
    """
    from cortexdsl.metrics.labels import unread_labels  # late: it loads pandas, and few runs ask again

    found: list[str] = []
    for dataset in plan.tasks:
        judgements = [plan.layout.judgements(dataset, cell.slug) for cell in plan.cells if plan.is_judged(dataset)]
        labels = [path for cell in plan.cells for path in label_files(plan, dataset, cell.slug)]
        judges = plan.tournament.judges if plan.tournament else ()
        ballots = [plan.layout.ballots(dataset, judge.name) for judge in judges]
        told, compared = plan.layout.judge_calls(dataset), plan.layout.ballot_calls(dataset)
        found += _with_failed_calls(told, judgements, unread_calls)
        found += _with_failed_calls(told, labels, unread_labels)
        found += _with_failed_calls(compared, ballots, unread_ballots)
    return found


def _with_failed_calls(folder: str, outputs: list[str], unread: Callable[[Path], tuple[str, ...]]) -> list[str]:
    made = [path for path in outputs if Path(path).exists()]
    if not made:
        return []
    logs = LogFolder(Path(folder))
    logs.refresh()
    failed = [path for path in made if any(logs.has_error(call) for call in unread(Path(path)))]
    logs.close()
    return failed


def _has_failures(records: Path, logs: LogFolder) -> bool:
    if not records.exists():
        return False
    try:
        turns = (turn for record in read_debates(records) for turn in record.debate.all_turns)
        return any(not turn.text and logs.has_error(turn.call) for turn in turns)
    except RecordError:  # damaged: made again from the log
        return True


def debates_wait(plan: Plan, cell: str) -> bool:
    """Return whether the debates of a cell (its slug) only wait: other machines compute its replies and similarities.

    The similarity `ngram` takes next to no time.
    """
    method = plan.cell(cell).debate
    is_compared_here = method.similarity.startswith(LOCAL_SIMILARITIES[1:])
    return not is_compared_here and not any(map(runs_here, method.models))


def judge_waits(plan: Plan) -> bool:
    """Return whether the jobs of judges only wait."""
    return bool(plan.judges) and not any(map(runs_here, plan.judges))


def pool_waits(plan: Plan, source: str) -> bool:
    """Return whether the pools of a knowledge source only wait: it is a search, or a server embeds its corpus."""
    entry = plan.knowledge[source]
    is_embedded = entry.retriever == "dense" and entry.index is None
    is_embedded_here = (entry.embedding or LOCAL_SIMILARITIES[0]).startswith(LOCAL_SIMILARITIES)
    return entry.retriever == "search" or (is_embedded and not is_embedded_here)


def ways(plan: Plan) -> list[str]:
    """Return how jobs reach what they wait for: models by `direct` and `litellm`, searches by `search`."""
    return sorted(set(_ways(plan)))


def _ways(plan: Plan) -> Iterator[str]:
    for cell in plan.cells:
        if debates_wait(plan, cell.slug):
            yield from map(_way, cell.debate.models)
        for source in filter(lambda name: pool_waits(plan, name), pool_sources(cell.debate)):
            yield "search" if plan.knowledge[source].retriever == "search" else "litellm"
    if judge_waits(plan):
        yield from map(_way, plan.judges)


def _way(model: Model) -> str:
    return "direct" if way_of(model) == "direct" else "litellm"


def is_batched(plan: Plan, cell: str) -> bool:
    """Return whether all calls of a cell's debates (its slug) wait for batches: they take no connection."""
    return all(model.is_batched or model.is_program for model in plan.cell(cell).debate.models)


def connections_per_job(plan: Plan, cores: int | None, *, is_warm: bool = False) -> int:
    """Return the connections that one job may take: those of the experiment, divided among the jobs that run at once.

    In a worker's event loop, enough jobs wait for servers at once to keep all connections busy.
    """
    if is_warm:
        return math.ceil(plan.limits.connections / AT_ONCE)
    return max(1, plan.limits.connections // min(max(1, cores or 1), max(1, plan.jobs)))


def lift_default_rate(scheduler: Any) -> None:
    """Let Snakemake's scheduler start any number of jobs a second, unless the user limits them.

    With a limit, each job that ends leaves a timer that wakes the scheduler every second and renews itself, so that
    the work of Snakemake's own process grows with the square of the number of jobs. Local processes need no limit.
    """
    limiter = scheduler.job_rate_limiter
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == DEFAULT_RATE:
        scheduler.job_rate_limiter = None
