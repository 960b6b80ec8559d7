"""Cells: what the arms of a spec come to, once equal ones are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cortexdsl.errors import Problem
from cortexdsl.plan.parts.digests import method_digest
from cortexdsl.plan.parts.tools import tool_sources
from cortexdsl.protocols.arms.arms import Arm
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.spec.load import Spec
from cortexdsl.terms import Cell


def cells_of(spec: Spec, found: Sequence[Arm], templates: Templates) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Merge arms whose digests are equal: one cell, called as the first of them, the others its aliases.

    Returns
    -------
    (tuple of Cell, tuple of Problem)
        Cells in the order of the spec, and arms that are matched to a matched one.
    """
    problems: list[Problem] = []
    cells: dict[str, Cell] = {}
    digests: dict[str, str] = {}
    # A matched arm's digest holds that of the cell it is matched to.
    for arm in sorted(found, key=lambda arm: arm.match is not None):
        if arm.match and arm.match.cell not in digests:
            if any(other.name == arm.match.cell for other in found):
                what, route = f"{arm.match.cell} is matched itself", ("methods", arm.method, "match", arm.match.unit)
                problems.append(spec.problem(route, what, "name a cell that is not matched"))
            continue
        budget = digests[arm.match.cell] if arm.match else None
        pools = [spec.text.knowledge[name] for name in _sources(arm) if name in spec.text.knowledge]
        own = method_digest(
            arm.debate, spec.text.seed, templates.digest, arm.match, budget,
            [pool.model_dump(mode="json") for pool in pools], spec.models.get(arm.debate.similarity),
        )  # fmt: skip
        digests[arm.name] = own
        if own in cells:
            cells[own] = replace(cells[own], aliases=(*cells[own].aliases, arm.name))
        else:
            cells[own] = Cell(arm.name, arm.slug, arm.method, (), arm.settings, arm.axes, arm.debate, own, arm.match)
    order = {arm.name: k for k, arm in enumerate(found)}
    return tuple(sorted(cells.values(), key=lambda cell: order[cell.name])), tuple(problems)


def _sources(arm: Arm) -> tuple[str, ...]:
    """Return the knowledge that an arm's steps are handed, and that its tools search."""
    pools = [name for step in arm.debate.steps.values() for name in step.material.get("pool", ())]
    return tuple(dict.fromkeys([*pools, *tool_sources(arm.debate)]))
