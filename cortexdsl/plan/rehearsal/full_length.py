"""Methods at their full length: every loop runs to its end, and every step tells all that it may tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cortexdsl.core import (
    NEVER,
    Choose,
    Keep,
    Memory,
    Method,
    Repeat,
    SchedulePart,
    Shows,
    Sparse,
    Step,
    Topology,
    TurnFilter,
)
from cortexdsl.engine.methods import learned_of, principal_roles, scheduled_choices, with_expressions
from cortexdsl.expressions.evaluation import parse
from cortexdsl.expressions.fitted import with_fitted

STAND_IN = "0.5"
"""The value of every fitted function in a rehearsal, before anything is fitted."""
_SEATED = frozenset({"position", "n_agents"})
"""Names whose values in a rehearsed choice are those of a real one, if no agent can have left before."""
_ALWAYS = 2.0
"""A confidence that no debate reaches."""
_KNOWN = frozenset({"round", "n_agents", "consensus", "approved"})
"""Names whose values in a rehearsed debate are those of the longest real debate."""


def full_length(method: Method) -> Method:
    """Return a method at its full length: replies end no loop and remove no agent.

    Turns that a condition could leave out are shown. If there is a call for each edge, all edges stay.

    Choices by the agents' places are made, and so are choices by chance that keep a fixed number of agents (the k
    highest, all but the k lowest). A question is handed on, whatever the confidence. Other choices keep all agents,
    as agents of equal weight stay together. A role that only decides which template an agent gets goes to the first
    candidate, so that every template is rendered.
    """
    method = with_stand_ins(method)
    known, only_templates = known_choices(method), template_roles(method)

    def item(part: SchedulePart) -> SchedulePart:
        if isinstance(part, Choose) and part.role in only_templates and part not in known:
            return replace(part, weight="-position", keep=Keep("top", 1))
        if isinstance(part, Choose):
            is_known = part in known or keeps_a_number(part)
            return part if is_known else replace(part, weight="1", keep=Keep("all"))
        if isinstance(part, Repeat):
            until, unless = (text if _is_known(text) else NEVER for text in (part.until, part.unless))
            return replace(part, body=tuple(map(item, part.body)), until=until, unless=unless)
        return part

    steps = {name: _fullest(step) for name, step in method.steps.items()}
    fullest = replace(method, steps=steps, schedule=tuple(map(item, method.schedule)))
    if method.defer is None:
        return fullest
    always = replace(method.defer, below=_ALWAYS, where="", method=full_length(method.defer.method))
    return replace(fullest, defer=always)


def with_stand_ins(method: Method) -> Method:
    """Return a method in which a number stands for each fitted value."""
    stand_ins = dict.fromkeys(learned_of(method), STAND_IN)
    return with_expressions(method, lambda text: with_fitted(text, stand_ins)) if stand_ins else method


def _fullest(step: Step) -> Step:
    """Return a step that is shown every turn that a condition could leave out, with a call for each edge."""

    def all_of(told: Shows | Memory | TurnFilter) -> Any:
        return replace(told, where="") if isinstance(told, TurnFilter) else told

    hears = _all_of(step.hears) if step.each in _PER_EDGE else step.hears
    return replace(step, hears=hears, shows=tuple(map(all_of, step.shows)), memory=all_of(step.memory))


_PER_EDGE = ("edge", "pair", "match")
"""Values of `each` with one call for each edge that stays."""


def _all_of(hears: Topology) -> Topology:
    """Return a topology from which replies remove no edge; weights that are known in advance still count."""
    if not isinstance(hears, Sparse) or parse(hears.weight).names <= _SEATED:
        return hears
    return Sparse("1", Keep("all"), _all_of(hears.within))  # type: ignore[arg-type]  # a layout stays a layout


def known_choices(method: Method) -> frozenset[Choose]:
    """Return the choices that are the same in every debate: by the agents' places, if no agent can have left before."""
    by_place = frozenset(part for part in scheduled_choices(method.schedule) if parse(part.weight).names <= _SEATED)
    removing = {part for part in scheduled_choices(method.schedule) if part.role in principal_roles(method)}
    return by_place if removing <= by_place else frozenset()


def keeps_a_number(choice: Choose) -> bool:
    """Return whether a choice keeps the same number of agents in every debate: drawn weights are never equal."""
    keep = choice.keep
    return keep.declaration.retained is not None and "random" in parse(choice.weight).names


def keeps_everybody(choice: Choose) -> bool:
    """Return whether a choice keeps all candidates, whatever they weigh; they may stand in another order."""
    return choice.keep == Keep("all")


def template_roles(method: Method) -> frozenset[str]:
    """Return the roles that only decide which template an agent gets: no step is spoken by them or hears them."""
    steps = method.steps.values()
    spoken_or_heard = {role for step in steps for role in (step.role, *getattr(step.hears, "roles", ()))}
    return frozenset({role for step in steps for role in step.by_role} - spoken_or_heard - {*principal_roles(method)})


def _is_known(condition: str) -> bool:
    return condition == NEVER or parse(condition).names <= _KNOWN
