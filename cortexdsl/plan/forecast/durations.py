"""How long a run takes: by the rates of its models, and in batches, whose waves follow one another."""

from __future__ import annotations

from dataclasses import dataclass

from cortexdsl.core import Cell, RateLimit, by_key
from cortexdsl.engine.methods import with_samples
from cortexdsl.metrics.budgets import chain_of_stages
from cortexdsl.models.endpoints.rates import KINDS, least_seconds
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import rehearsed_loads
from cortexdsl.plan.forecast.warnings import models_of
from cortexdsl.plan.rehearsal.estimate import CostEstimate
from cortexdsl.plan.rehearsal.explain import rehearse_example

_UNITS = {1.0: "s", 60.0: "min", 3600.0: "hour", 86_400.0: "day"}


@dataclass(frozen=True, slots=True)
class LeastTime:
    """The limit of a rate that takes the models of one key longest.

    Attributes
    ----------
    models : tuple of str
        The entries that share the rate.
    kind : str
        `requests` or `tokens`.
    limit : RateLimit
    amount : float
        Requests or tokens of the run.
    seconds : float
    """

    models: tuple[str, ...]
    kind: str
    limit: RateLimit
    amount: float
    seconds: float


def least_times(plan: Plan) -> list[LeastTime]:
    """Return the least time of debates and judgements for each model with a rate, the longest first."""
    rated = [model for model in models_of(plan) if model.rate is not None]
    if not rated:
        return []
    loads = rehearsed_loads(plan)
    sharing = by_key(((model.api_base, model.api_key_env, model.model), model) for model in rated)
    times = []
    for models in sharing.values():
        names = tuple(dict.fromkeys(model.name for model in models))
        rate = models[0].rate
        assert rate is not None
        for k, (kind, limits) in enumerate(zip(KINDS, (rate.requests, rate.tokens), strict=True)):
            amount = sum(loads.get(name, (0.0, 0.0))[k] for name in names)
            times += [LeastTime(names, kind, limit, amount, least_seconds(limit, amount)) for limit in limits]
    return sorted(times, key=lambda time: -time.seconds)


def limit_text(limit: RateLimit) -> str:
    """Return one limit of a rate as specs write it: `500/min`."""
    sizes = ((10**6, "M"), (1000, "k"), (1, ""))
    size, letter = next((size, letter) for size, letter in sizes if not limit.amount % size)
    return f"{limit.amount // size}{letter}/{_UNITS[limit.seconds]}"


def most_waves(plan: Plan) -> int:
    """Return how many waves follow one another at most, if all jobs run at once and no debate ends early."""
    judge = any(model.is_batched for model in plan.judges)
    longest = max((_waves_of(plan, cell) for cell in plan.cells), default=0)
    return longest * (plan.batches if plan.stopping else 1) + judge


def _waves_of(plan: Plan, cell: Cell) -> int:
    """Return how many calls of a cell follow one another: those of a matched cell are of another one, made at once."""
    budget = plan.budget_of(cell)
    method = cell.debate if budget is None else with_samples(cell.debate, 1)
    waves = int(chain_of_stages(rehearse_example(method), lambda call: 1.0))
    return waves + (0 if budget is None else _waves_of(plan, budget))


def both_ways(plan: Plan, total: CostEstimate) -> list[str]:
    """Return what a run costs in batches and how many follow one another, and what it would cost by single calls."""
    if not any(model.is_batched for model in plan.called_models):
        return []
    batched, single = _dollars(total.total_dollars), _dollars(total.ordinary_dollars)
    return [
        f"In batches: {batched}; at most {most_waves(plan)} waves, one after the other, if all jobs run at once. Most "
        f"waves take an hour, and none more than 24. By single calls: {single}."
    ]


def _dollars(dollars: float | None) -> str:
    return "unknown dollars" if dollars is None else f"${dollars:,.2f}"
