"""Cells, and the digests that identify them: only what can change a cell's records changes its digest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from cortexdsl.core import Cell, Method
from cortexdsl.engine.methods import expression_sites, pool_sources, principal_roles, scheduled_choices, stages_of
from cortexdsl.errors import Problem
from cortexdsl.expressions.evaluation import parse
from cortexdsl.language.methods.resolved_cells import ResolvedCell
from cortexdsl.language.prompts.templates import Templates
from cortexdsl.language.spec import Spec
from cortexdsl.plan.digests import digest
from cortexdsl.plan.models import tool_sources

ENGINE_VERSION = 2
"""Increase this if the engine makes another record from the same replies; finished debates then run again."""


def method_digest(method: Method, seed: int, prompt_digest: Callable[[str], str], *more: Any) -> str:
    """Return the digest of a cell's method.

    Parameters
    ----------
    method : Method
    seed : int
        Of the experiment.
    prompt_digest : callable
        From a template's name to the digest of its text and of the templates that it includes.
    more : values
        Other things that the records depend on (the matched budget, knowledge).
    """
    named = templates_of(method)
    prompts = {prompt: prompt_digest(prompt) for prompt in named}
    return digest(ENGINE_VERSION, seed, method, prompts, *_changed_meanings(method), *more)


def templates_of(method: Method) -> list[str]:
    """Return the templates of a method, and of the one that it hands questions on to."""
    named = [prompt for step in method.steps.values() for prompt in step.prompts]
    named += [method.confidence.prompt] if method.confidence.prompt else []
    return named + (templates_of(method.defer.method) if method.defer else [])


def _changed_meanings(method: Method) -> tuple[str, ...]:
    """Name the expressions whose meaning changed for this method since earlier versions.

    `place` now counts the agents that still debate. It used to keep the gaps of agents that a choice had removed.
    """
    may_leave = any(choice.role in principal_roles(method) for choice in scheduled_choices(method.schedule))
    return (
        ("place",)
        if may_leave and any("place" in parse(site.expression).names for site, _ in expression_sites(method))
        else ()
    )


def merge_cells(
    spec: Spec, arms: Sequence[ResolvedCell], templates: Templates
) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Merge arms with equal digests into one cell, named after the first of them; the others are its aliases.

    Returns
    -------
    (tuple of Cell, tuple of Problem)
        Cells in the order of the spec; a problem for each arm that is matched to a matched one.
    """
    problems: list[Problem] = []
    cells: dict[str, Cell] = {}
    digests: dict[str, str] = {}
    # A matched arm's digest holds that of the cell it is matched to.
    for arm in sorted(arms, key=lambda arm: arm.match is not None):
        if arm.match and arm.match.cell not in digests:
            if any(other.name == arm.match.cell for other in arms):
                what, route = f"{arm.match.cell} is matched itself", ("methods", arm.method, "match", arm.match.unit)
                problems.append(spec.problem(route, what, "name a cell that is not matched"))
            continue
        budget = digests[arm.match.cell] if arm.match else None
        pools = [spec.text.knowledge[name] for name in _sources(arm) if name in spec.text.knowledge]
        own = method_digest(
            arm.debate, spec.text.seed, templates.digest, arm.match, budget,
            [pool.model_dump(mode="json") for pool in pools], spec.models.get(arm.debate.similarity), *arm.steps,
            *([spec.models.get(stage.similarity) for stage in stages_of(arm.debate)] if arm.debate.defer else []),
        )  # fmt: skip
        digests[arm.name] = own
        if own in cells:
            cells[own] = replace(cells[own], aliases=(*cells[own].aliases, arm.name))
        else:
            named = arm.name, arm.slug, arm.method, ()
            cells[own] = Cell(*named, arm.settings, arm.axes, arm.debate, own, arm.match, arm.steps)
    order = {arm.name: k for k, arm in enumerate(arms)}
    return tuple(sorted(cells.values(), key=lambda cell: order[cell.name])), tuple(problems)


def _sources(arm: ResolvedCell) -> tuple[str, ...]:
    """Return the names of the knowledge that an arm's steps read, and that its tools search."""
    return tuple(dict.fromkeys([*pool_sources(arm.debate), *tool_sources(arm.debate)]))
