"""Cells of a spec: its arms, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cortexdsl.core import EMPTY, Cell, KnowledgeSource
from cortexdsl.errors import Problem
from cortexdsl.language.methods.resolved_cells import ResolvedCell
from cortexdsl.language.spec import Spec
from cortexdsl.plan.digests import cell_digest
from cortexdsl.templates.templates import Templates


def merge_cells(
    spec: Spec, arms: Sequence[ResolvedCell], templates: Templates, fits: Mapping[str, str] = EMPTY
) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Merge arms with equal digests into one cell, named after the first of them; the others are its aliases.

    `fits` are the digests of the fitted functions of the spec.

    Returns
    -------
    (tuple of Cell, tuple of Problem)
        Cells in the order of the spec; a problem for each arm that is matched to a matched one.
    """
    problems: list[Problem] = []
    cells: dict[str, Cell] = {}
    digests: dict[str, str] = {}
    knowledge = knowledge_of(spec)
    # A matched arm's digest holds that of the cell it is matched to.
    for arm in sorted(arms, key=lambda arm: arm.match is not None):
        if arm.match and arm.match.cell not in digests:
            if any(other.name == arm.match.cell for other in arms):
                what, route = f"{arm.match.cell} is matched itself", ("methods", arm.method, "budget")
                problems.append(spec.problem(route, what, "name a cell that is not matched"))
            continue
        budget = digests[arm.match.cell] if arm.match else None
        own = cell_digest(
            arm.debate, spec.text.seed, templates.digest, arm.match, budget, arm.steps, knowledge, spec.models, fits
        )
        digests[arm.name] = own
        if own in cells:
            cells[own] = replace(cells[own], aliases=(*cells[own].aliases, arm.name))
        else:
            named = arm.name, arm.slug, arm.method, ()
            cells[own] = Cell(*named, arm.settings, arm.axes, arm.debate, own, arm.match, arm.steps)
    order = {arm.name: k for k, arm in enumerate(arms)}
    return tuple(sorted(cells.values(), key=lambda cell: order[cell.name])), tuple(problems)


def knowledge_of(spec: Spec) -> dict[str, KnowledgeSource]:
    """Return the knowledge sources of a spec by name."""
    return dict(spec.text.knowledge)
