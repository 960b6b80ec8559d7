"""What a spec may cost is bounded before it runs: by some limit, and by dollars only where dollars can be counted."""

from __future__ import annotations

from collections.abc import Sequence

from cortexdsl.errors import Problem, SpecError
from cortexdsl.models.reach.providers import nearest_provider, provider_of
from cortexdsl.models.transports.prices import PRICE_REMEDY, has_price, runs_here
from cortexdsl.spec.load import Spec
from cortexdsl.terms import Cell, Model


def check_money(spec: Spec, cells: Sequence[Cell], judge: Model | None) -> None:
    """Refuse what could spend money by surprise.

    Raises
    ------
    SpecError
        A model may cost money and the spec sets no limit; or the limit is in dollars and a model has no price, so
        that its calls would count as free.
    """
    limits = spec.limits
    used = {model.name: model for cell in cells for model in cell.debate.models}
    if judge is not None:
        used[judge.name] = judge
    problems: list[Problem] = []
    for name, model in used.items():
        if limits.calls is limits.tokens is limits.dollars is None and may_cost(model):
            what = f"{name} ({model.model}) may cost money, and the spec sets no limits"
            problems.append(spec.problem(("models", name), what, "write limits: {dollars: 5}, or calls: or tokens:"))
        if limits.dollars is not None and not has_price(model):
            what = f"{name} ({model.model}) has no price, so that `limits: dollars` would count its calls as free"
            problems.append(spec.problem(("models", name), what, PRICE_REMEDY))
    if problems:
        raise SpecError(problems)


def check_providers(spec: Spec) -> None:
    """Refuse models of which litellm knows no provider: every call to them would fail.

    Raises
    ------
    SpecError
    """
    problems = []
    for name, model in spec.models.items():
        if provider_of(model.model) is not None or model.is_tool:
            continue
        provider, slash, rest = model.model.partition("/")
        near = nearest_provider(model.model)
        what = f"there is no provider {provider!r}" if slash else f"{model.model} does not say of which provider it is"
        hint = f"did you mean {near}/{rest}? " if near and slash else ""
        remedy = f"{hint}write PROVIDER/NAME as litellm does, or openai/NAME with api_base: for a server of your own"
        problems.append(spec.problem(("models", name, "model"), what, remedy))
    if problems:
        raise SpecError(problems)


def may_cost(model: Model) -> bool:
    """Say whether a model may cost money: it has a price, or it is a hosted one without an address of one's own."""
    if runs_here(model):
        return False
    if model.price is not None:
        return not model.price.is_free
    return model.api_base is None
