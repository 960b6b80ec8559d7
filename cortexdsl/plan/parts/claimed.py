"""Whether every claim of a spec can be answered by the cells that it has: found before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cortexdsl.debate.roles import debating_roles, most_rounds
from cortexdsl.errors import InputError, Problem
from cortexdsl.spec.check.mending import Doubtful
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import OTHERS, Comparison, Quantity
from cortexdsl.spec.claims.metric_names import AFTER_ROUNDS, canonical
from cortexdsl.spec.load import Spec
from cortexdsl.spec.text.messages import dotted, nearest
from cortexdsl.terms import Cell

_DOUBTED = ("methods", "grid", "teams", "agents", "protocols", "models", "datasets")


def unanswerable(spec: Spec, cells: Sequence[Cell], doubtful: Doubtful) -> Iterator[Problem]:
    """Yield the claims that no run of these cells can answer, or whose answer is known without one.

    They name a value that a grid does not have, a round that no debate reaches, an agent who does not debate there; or
    they compare a mean with itself under another name. Nothing is yielded where cells themselves are in doubt.
    """
    if any(route[0] in _DOUBTED for route in doubtful.routes):
        return
    arms = [Arm(cell.name, cell.method, cell.aliases, cell.axes) for cell in cells]
    by_name = {cell.name: cell for cell in cells}
    for i, claim in spec.claims:
        route = ("hypotheses", i)
        try:
            designs = list(_leaves(design_of(claim, arms)))
        except InputError as error:
            yield spec.problem(route, f"{dotted(route)}: {error}")
            continue
        for design in designs:
            for what, remedy in _amiss(design, by_name):
                yield spec.problem(route, f"{dotted(route)}: {what}", remedy)


def _leaves(design: Design) -> Iterator[Design]:
    if not design.parts:
        yield design
    for part in design.parts:
        yield from _leaves(part)


def _amiss(design: Design, cells: dict[str, Cell]) -> Iterator[tuple[str, str]]:
    if not isinstance(design.claim, Comparison):
        return
    # Of `every other`, some may have fewer rounds: there the last one counts.
    named = design.quantities[:1] if design.claim.reference == OTHERS else design.quantities
    met: dict[Quantity, Quantity] = {}
    for quantity in named:
        yield from _of_quantity(quantity, cells[quantity.name])
        first = met.setdefault(_simplest(quantity, cells[quantity.name]), quantity)
        if first != quantity:
            yield f"{first} and {quantity} are the same", _why_same(first, quantity, cells[quantity.name])


def _of_quantity(quantity: Quantity, cell: Cell) -> Iterator[tuple[str, str]]:
    last = most_rounds(cell.debate)
    if quantity.round is not None and quantity.round > last:
        rounds = f"{last} round{'s' * (last != 1)}" if last else "no round"
        remedy = f"write {replace(quantity, round=None)}: at the end"
        yield f"{cell.name} has {rounds} after its opening, so that there is no round {quantity.round}", remedy
    debaters = _debaters(cell)
    if quantity.agent is not None and quantity.agent not in debaters:
        yield f"{cell.name} has no debater {quantity.agent}", nearest(quantity.agent, debaters, say="debaters")


def _debaters(cell: Cell) -> list[str]:
    cast = cell.debate.cast
    return list(dict.fromkeys(agent.name for role in debating_roles(cell.debate) for agent in cast.get(role, ())))


def _simplest(quantity: Quantity, cell: Cell) -> Quantity:
    """The same mean by its plainest name: the last round is the end, and nobody recalibrates what is not."""
    metric = canonical(quantity.metric)
    if not cell.debate.recalibration:
        metric = metric.replace("_recalibrated", "_raw")
        if cell.debate.confidence.source == "stated":
            metric = metric.replace("_raw", "_stated")
    after = quantity.round
    if after is not None and after >= most_rounds(cell.debate) and metric in AFTER_ROUNDS:
        after = None
    return replace(quantity, metric=metric, round=after)


def _why_same(first: Quantity, second: Quantity, cell: Cell) -> str:
    if first.round != second.round:
        return f"its debates end after round {most_rounds(cell.debate)} at the latest"
    return f"{cell.method} does not recalibrate" if first.metric != second.metric else "compare two means"
