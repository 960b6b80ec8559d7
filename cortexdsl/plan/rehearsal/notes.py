"""What one made-up debate cannot show: ties that its replies make, and steps that other replies lead to or past."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

import numpy as np

from cortexdsl.debate.roles import choices, spoken
from cortexdsl.plan.rehearsal.estimate import keeps_a_number, known_choices, parting
from cortexdsl.plan.rehearsal.wording import bare, chosen
from cortexdsl.terms import NEVER, Debate, Graph, Item, Method, Repeat, SitePlace


def notes(method: Method, debated: Debate, agreed: Debate | None, never: Collection[SitePlace] = ()) -> Iterator[str]:
    """Yield what to know of a rehearsed debate.

    Parameters
    ----------
    method : Method
        As it is written.
    debated : Debate
        In which nobody agrees, and every loop runs its full length.
    agreed : Debate
        In which all agree and are sure, every judge is content, and conditions are what they are; None where such
        replies make a weight no number.
    never : collection of SitePlace
        Where conditions are never true.
    """
    yield from _branches(method, debated, agreed, never)
    yield from _choices(method)
    for step in dict.fromkeys(graph.step for graph in debated.graphs if graph.weight is not None):
        if all(_is_tied(graph) for graph in debated.graphs if graph.step == step):
            yield f"{step}: all edges weigh alike here, and are kept or dropped together"
    if debated.was_tied:
        others = "the most votes win" if method.decide.rule == "weighted" else "the highest summed confidence wins"
        said = "there is no answer" if debated.answer is None else f"{others}, then a draw"
        yield f"the vote is tied here, since all answers differ: {said}"


def _branches(method: Method, debated: Debate, agreed: Debate | None, never: Collection[SitePlace]) -> Iterator[str]:
    """Say which steps are not in every debate, and what is spoken if all agree.

    Conditions at the places in `never` pass nothing over.
    """
    drawn = {turn.step for turn in debated.turns}
    conditions = _conditions(method.schedule, never)
    for step in dict.fromkeys(spoken(method.schedule)):
        why = " and ".join(f"where {bare(one)}" for one in conditions.get(step, ()))
        if step not in drawn:
            yield f"{step} is not drawn: {f'passed over {why}' if why else 'nobody speaks in it here'}"
        elif why:
            yield f"{step} is drawn, but not in every debate: passed over {why}"
    if agreed is not None and _order(agreed) != _order(debated):
        yield f"where all agree and are sure from the beginning: {_order(agreed)}"


def _order(debated: Debate) -> str:
    """List the steps as they were spoken."""
    steps = [next(turns).step for _, turns in groupby(debated.turns, key=lambda turn: turn.execution)]
    counted = [(step, len(list(same))) for step, same in groupby(steps)]
    return ", ".join(f"{step} x{times}" if times > 1 else step for step, times in counted)


def _conditions(
    schedule: Sequence[Item], never: Collection[SitePlace], above: tuple[str, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the conditions under which a step is passed over, of steps that some always guards: the fewest."""
    found: dict[str, tuple[str, ...]] = {}
    for part in schedule:
        if isinstance(part, Repeat):
            is_passed = part.unless != NEVER and ("unless", part) not in never
            inner = _conditions(part.body, never, (*above, part.unless) if is_passed else above)
        else:
            inner = {part: above} if isinstance(part, str) else {}
        for step, conditions in inner.items():
            found[step] = min(found.get(step, conditions), conditions, key=len)
    return found


def _choices(method: Method) -> Iterator[str]:
    """Say of whom the rehearsal cannot know whether they are chosen."""
    known: Collection[object] = known_choices(method)
    parted = parting(method)
    for part in dict.fromkeys(choices(method.schedule)):
        if part not in known and (part.role in parted or not keeps_a_number(part)):
            who = "the first in line is chosen here" if part.role in parted else "everybody is chosen here"
            yield f"choose {part.role} ({chosen(part)}): {who}; in a debate it follows from what is said"


def _is_tied(graph: Graph) -> bool:
    """Tell whether nobody has two candidates that weigh differently, and somebody has two."""
    columns = [column[~np.isnan(column)] for column in np.asarray(graph.weight).T]
    several = [column for column in columns if len(column) > 1]
    return bool(several) and all(np.ptp(column) <= 1e-9 * max(1.0, np.abs(column).max()) for column in several)
