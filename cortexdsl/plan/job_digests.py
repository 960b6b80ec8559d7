"""Digests of what each kind of job depends on: a job runs again if its digest has changed."""

from __future__ import annotations

from cortexdsl.core.metrics import METRICS, grouped
from cortexdsl.plan.digests import digest
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.parts import Judging, Labelling

_COLUMNS = sorted({metric.column for metric in METRICS.values() if not metric.group})
"""Columns of every scores.csv. If a later version adds a column, the cells are scored again from their records."""
_SCORING = 2
"""Increase this if records get other scores; the cells are then scored again."""


def look_digest(plan: Plan) -> str:
    """Digest of what an interim look depends on, apart from the debates."""
    cells = [(cell.name, cell.aliases, cell.method, cell.axes) for cell in plan.cells]
    correction = plan.analysis.get("correction")
    return digest(plan.replicates, cells, plan.question_digests, plan.hypotheses, correction, *plan.stopping_rules)


def whatif_digest(plan: Plan) -> str:
    """Digest of what the counterfactuals depend on, apart from the debates."""
    whatifs = [(whatif, plan.cell_named(whatif.cell).digest) for whatif in plan.whatifs]
    return digest(plan.seed, plan.replicates, whatifs, plan.question_digests)


def debate_digest(plan: Plan, dataset: str, cell: str, shard: str) -> str:
    """Return the digest of what one job's records depend on."""
    place = plan.shard(dataset, shard)
    return digest(plan.cell(cell).digest, plan.task(dataset).digest, place.first, place.end)


def rounds_digest(plan: Plan) -> str:
    """Return the digest of what the requests of all rounds depend on, apart from the replies of earlier rounds."""
    judges = plan.judging, plan.labelling, plan.tournament
    judged = [judges] if any(judge.engine is not None for judge in plan.judges) else []
    return digest([cell.digest for cell in plan.cells], plan.question_digests, *judged)


def score_digest(plan: Plan, dataset: str, cell: str) -> str:
    """Return the digest of what one cell's scores depend on, apart from the records."""
    own, shards = plan.cell(cell), [shard.label for shard in plan.shards[dataset]]
    asked = grouped(plan.named_metrics)
    sizes = [plan.call_sizes(own)] if any(metric.group in ("compute", "log") for metric in asked) else []
    more: list[object] = [[metric.column for metric in asked], *sizes] if asked else []
    more += [plan.labelling.labels] if plan.labelling is not None else []
    scored = own.name, own.method, shards, plan.is_judged(dataset)
    return digest(plan.task(dataset).digest, *scored, _COLUMNS, _SCORING, *more)


def judge_digest(plan: Plan, dataset: str, cell: str) -> str:
    """Return the digest of what one cell's judgements depend on, apart from the records."""
    return _judged_digest(plan, plan.judging, dataset, cell)


def label_digest(plan: Plan, dataset: str, cell: str) -> str:
    """Return the digest of what the labels of one cell's turns depend on, apart from the records."""
    return _judged_digest(plan, plan.labelling, dataset, cell)


def _judged_digest(plan: Plan, judge: Judging | Labelling | None, dataset: str, cell: str) -> str:
    shards = [shard.label for shard in plan.shards[dataset]]
    return digest(judge, plan.seed, plan.task(dataset).digest, plan.cell(cell).name, shards)


def ballots_digest(plan: Plan, dataset: str, judge: str) -> str:
    """Return the digest of what the ballots of a judge depend on, apart from the records."""
    cells = [(cell.name, [shard.label for shard in plan.shards[dataset]]) for cell in plan.cells]
    prompt = plan.tournament.prompt_digest if plan.tournament else ""
    return digest(plan.tournament_judge(judge), prompt, plan.seed, plan.task(dataset).digest, cells)


def pool_digest(plan: Plan, dataset: str, source: str) -> str:
    """Return the digest of what a pool depends on, apart from its inputs."""
    return digest(plan.source(source).parameters, plan.task(dataset).digest)
