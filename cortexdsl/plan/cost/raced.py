"""The cells that a race drops at its first look, since no claim names them."""

from __future__ import annotations

from cortexdsl.errors import Problem
from cortexdsl.plan.experiment import Plan
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import parse_claim
from cortexdsl.spec.load import Spec


def dropped_at_once(plan: Plan) -> tuple[str, ...]:
    """Return the cells that no claim names, nor a cell that is matched to their budget; without racing, none."""
    if not plan.is_racing:
        return ()
    arms = [Arm(cell.name, cell.method, cell.aliases, cell.axes) for cell in plan.cells]
    named = {name for text in plan.hypotheses for name in _cells(design_of(parse_claim(text), arms))}
    budgets = {budget.name for cell in plan.cells if cell.name in named and (budget := plan.budget_of(cell))}
    return tuple(cell.name for cell in plan.cells if cell.name not in named | budgets)


def _cells(design: Design) -> set[str]:
    return {*design.cells}.union(*(_cells(part) for part in design.parts))


def race_in_words(plan: Plan) -> str:
    """Say which cells a race drops at once, and which families compare them; empty if there are none."""
    dropped = dropped_at_once(plan)
    if not dropped:
        return ""
    assert plan.stopping is not None
    families = {
        family.name: [name for name in dropped if name in (*family.compare, family.to)] for family in plan.families
    }
    compared = [f"family {family} compares {', '.join(cells)}" for family, cells in families.items() if cells]
    return "; ".join([
        f"rule: racing stops {len(dropped)} of {len(plan.cells)} cells at the first look, after"
        f" {plan.stopping.fewest} questions, since no claim names them: {', '.join(dropped)}",
        *compared,
    ])  # fmt: skip


def unclaimed(plan: Plan, spec: Spec) -> list[Problem]:
    """Warn of the cells that a race drops at once."""
    said = race_in_words(plan)
    if not said:
        return []
    remedy = f"claim something of each, such as accuracy({plan.cells[0].name}) > accuracy(every other), or write rule:"
    return [spec.problem(("stopping",), said, f"{remedy} together")]
