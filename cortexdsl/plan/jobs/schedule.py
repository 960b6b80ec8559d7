"""Decide which outputs must be made again, and which jobs only wait for other machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
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
from cortexdsl.plan.job_files import debate_jobs, label_files, pool_files
from cortexdsl.plan.record import LaterRecordError, PlanRecord, read_plan
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
    jobs = list(asking_jobs(plan))
    outdated = {job.output for job in jobs if job.name in digests and digests[job.name] != job.digest()}
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
        edited = (job.output for job in jobs if job.name not in digests and _is_edited(plan, record, job))
        outdated |= {plan.layout.plan, *edited}
    return outdated


def _is_edited(plan: Plan, record: PlanRecord, job: AskingJob) -> bool:
    """Return whether the cell or the questions of a debate job have changed since plan.json was written."""
    if job.rule != "debate":
        return False
    dataset, cell, _ = job.place
    cells = {each.slug: each.digest for each in record.cells}
    known = record.datasets[dataset].digest if dataset in record.datasets else None
    return known != plan.task(dataset).digest or cells.get(cell) != plan.cell(cell).digest


@dataclass(frozen=True, slots=True)
class AskingJob:
    """A job that calls models or sources.

    Attributes
    ----------
    rule : str
    name : str
        Of its tally.
    place : tuple of str
        Its dataset; then its cell and its shard, if it has them, its judge, or its source.
    output : str
    logs : str
        The folder of its call logs.
    digest : callable
        Computes the digest of what the output depends on.
    batch : int
        As in `DebateJob`.
    """

    rule: str
    name: str
    place: tuple[str, ...]
    output: str
    logs: str
    digest: Callable[[], str]
    batch: int = 0


def asking_jobs(plan: Plan) -> Iterator[AskingJob]:
    """Yield every job that calls models or sources, debates first."""
    layout = plan.layout
    for job in debate_jobs(plan):
        records = job.records(layout)
        if job.phase is not None:
            digest = partial(str, plan.training(job.phase[0]).phase(job.phase[1]).digest)
            yield AskingJob("trajectories", f"{job.slug}~{job.shard}", job.key, records, "", digest)
        else:
            logs, digest = layout.calls(job.dataset, job.shard), partial(debate_digest, plan, *job.key)
            yield AskingJob("debate", "~".join(job.key), job.key, records, logs, digest, job.batch)
    for dataset in plan.tasks:
        logs = layout.judge_calls(dataset)
        for place in ((dataset, cell.slug) for cell in plan.cells):
            name = "~".join(place)
            if plan.is_judged(dataset):
                digest = partial(judge_digest, plan, *place)
                yield AskingJob("judge", f"{name}~judge", place, layout.judgements(*place), logs, digest)
            if plan.labelling is not None and plan.labelling.judge is not None:
                (labels,) = label_files(plan, *place)
                yield AskingJob("label", f"{name}~label", place, labels, logs, partial(label_digest, plan, *place))
        for judge in plan.tournament.judges if plan.tournament else ():
            name, place = f"{dataset}~ballots~{judge.name}", (dataset, judge.name)
            logs, digest = layout.ballot_calls(dataset), partial(ballots_digest, plan, *place)
            yield AskingJob("ballots", name, place, layout.ballots(*place), logs, digest)
        for source in dict.fromkeys(Path(path).stem for cell in plan.cells for path in pool_files(plan, dataset, cell)):
            name, place = f"{dataset}~pool~{source}", (dataset, source)
            yield AskingJob("pool", name, place, layout.pool(*place), "", partial(pool_digest, plan, *place))


def failed_outputs(plan: Plan) -> list[str]:
    """Return the outputs that miss what a failed call would have said, and that has had no reply since.

    Such a turn has no text, such an answer counts as not correct, such a turn has no label, and such a ballot prefers
    nobody. A log may hold more failures: of calls that no debate makes any more after an earlier call was repeated.
    """
    from cortexdsl.metrics.labels import unread_labels  # late: it loads pandas, and few runs ask again

    unread: dict[str, Callable[[Path], Iterable[str]]] = {
        "debate": _unread_turns, "judge": unread_calls, "label": unread_labels, "ballots": unread_ballots,
    }  # fmt: skip
    made = [job for job in asking_jobs(plan) if job.rule in unread and Path(job.output).exists()]
    failed: list[str] = []
    for folder in dict.fromkeys(job.logs for job in made):
        logs = LogFolder(Path(folder))
        logs.refresh()
        here = ((job.output, unread[job.rule](Path(job.output))) for job in made if job.logs == folder)
        failed += [output for output, calls in here if any(map(logs.has_error, calls))]
        logs.close()
    return failed


def _unread_turns(path: Path) -> list[str]:
    """Return the keys of the calls of turns without a text; none of damaged records, which are made again anyway."""
    try:
        return [turn.call for record in read_debates(path) for turn in record.debate.all_turns if not turn.text]
    except RecordError:
        return []


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
