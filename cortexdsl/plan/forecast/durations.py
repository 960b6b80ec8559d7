"""How long a run takes at least, by the rates of its models."""

from __future__ import annotations

from dataclasses import dataclass

from cortexdsl.core import RateLimit, by_key
from cortexdsl.models.endpoints.rates import KINDS, least_seconds
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import rehearsed_loads
from cortexdsl.plan.forecast.warnings import models_of

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
