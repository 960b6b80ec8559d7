"""Which jobs only wait: other machines or processes do what takes long, so that one loop attends to many of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cortexdsl.models.transports.transport import way_of
from cortexdsl.plan.experiment import Plan, pool_sources
from cortexdsl.terms import Model

AT_ONCE = 5
"""Jobs that wait at once: Snakemake (9.27) has so many threads more than cores, and those are for jobs that compute."""
IN_PROCESS = ("builtin/", "tiny/")
"""Models that this machine computes."""
HERE = ("ngram", "sentence-transformers/", "nli/")
"""How texts are compared by processors of this machine."""


def debates_wait(plan: Plan, cell: str) -> bool:
    """Say whether the debates of a cell (its slug) wait: its models and its similarity are asked elsewhere.

    The similarity of short texts by `ngram` is no work to speak of.
    """
    found = plan.cell(cell).debate
    models = [model.model for model in found.models]
    return not found.similarity.startswith(HERE[1:]) and not any(model.startswith(IN_PROCESS) for model in models)


def judge_waits(plan: Plan) -> bool:
    """Say whether judge jobs wait."""
    return plan.judging is not None and not plan.judging.model.model.startswith(IN_PROCESS)


def pool_waits(plan: Plan, source: str) -> bool:
    """Say whether the pools of a knowledge source wait: it is a search, or a server embeds its corpus."""
    entry = plan.knowledge[source]
    is_embedded = entry.retriever == "dense" and entry.index is None
    return entry.retriever == "search" or (is_embedded and not (entry.embedding or HERE[0]).startswith(HERE))


def ways(plan: Plan) -> list[str]:
    """Return the ways to what jobs wait for: `direct` and `litellm` to models, `search` to searches."""
    return sorted(set(_ways(plan)))


def _ways(plan: Plan) -> Iterator[str]:
    for cell in plan.cells:
        if debates_wait(plan, cell.slug):
            yield from map(_way, cell.debate.models)
        for source in filter(lambda name: pool_waits(plan, name), pool_sources(cell)):
            yield "search" if plan.knowledge[source].retriever == "search" else "litellm"
    if plan.judging is not None and judge_waits(plan):
        yield _way(plan.judging.model)


def _way(model: Model) -> str:
    return "direct" if way_of(model) == "direct" else "litellm"


def connections_per_job(plan: Plan, cores: int | None, *, is_warm: bool = False) -> int:
    """Return the connections that one job may take: those of the experiment, divided among the jobs that run at once.

    Beside a worker as many jobs wait for servers as keep all connections busy, in one loop.
    """
    if is_warm:
        return math.ceil(plan.limits.connections / AT_ONCE)
    return max(1, plan.limits.connections // min(max(1, cores or 1), max(1, plan.jobs)))
