"""Counterfactuals of a cell: which debates run again without which agents, edges, rounds or steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Literal

from cortexdsl.core import Cell, Debate, Method, RandomEdges, Sparse, Without
from cortexdsl.engine.ablation import why_needed
from cortexdsl.engine.methods import debating_agents
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.errors import InputError, Problem, nearest
from cortexdsl.language.error_recovery import Doubtful
from cortexdsl.language.grammar.counterfactuals import (
    LeftOut,
    PermutationsForm,
    ShapleyText,
    WhatifText,
    parse_left_out,
)
from cortexdsl.language.methods.grid import point_slug
from cortexdsl.language.spec import Spec
from cortexdsl.plan.rehearsal.explain import rehearse_example

MOST_EXACT = 8
"""The largest number of agents for which all coalitions debate (8 have 255); for more, a sample is drawn."""


@dataclass(frozen=True, slots=True)
class Coalitions:
    """The coalitions of agents that debate, for the Shapley value of each agent.

    Attributes
    ----------
    players : tuple of str
        The principal role's agents.
    orders : tuple of tuple of str
        Random orders in which agents join; empty: all coalitions.
    """

    players: tuple[str, ...]
    orders: tuple[tuple[str, ...], ...] = ()

    @property
    def fewer(self) -> tuple[tuple[str, ...], ...]:
        """The coalitions that are neither empty nor complete, each once, in the players' order."""
        if not self.orders:
            sizes = range(1, len(self.players))
            return tuple(names for size in sizes for names in combinations(self.players, size))
        drawn = {frozenset(order[:k]): None for order in self.orders for k in range(1, len(order))}
        return tuple(tuple(name for name in self.players if name in names) for names in drawn)

    def without(self, names: Iterable[str]) -> Without:
        """Return what is left out when only a coalition debates."""
        coalition = set(names)
        return Without(agents=tuple(name for name in self.players if name not in coalition))


@dataclass(frozen=True, slots=True)
class Whatif:
    """The counterfactuals of one cell.

    Attributes
    ----------
    cell : str
        Its name.
    without : tuple of Without
        Each in its own debates.
    coalitions : Coalitions or None
    """

    cell: str
    without: tuple[Without, ...]
    coalitions: Coalitions | None = None

    @property
    def debated(self) -> tuple[Without, ...]:
        """Everything that is left out in a debate of its own, each once."""
        alone = [self.coalitions.without(names) for names in self.coalitions.fewer] if self.coalitions else []
        return tuple(dict.fromkeys([*self.without, *alone]))


def whatif_slug(cell: Cell, without: Without) -> str:
    """Return the name in paths of a cell's debates without something."""
    return point_slug(cell.slug, {"without": str(without)})


def whatif_of(cell: Cell, left_out: Sequence[str], shapley: ShapleyText, seed: int) -> Whatif:
    """Return the counterfactuals of a cell.

    Parameters
    ----------
    cell : Cell
    left_out : sequence of str
        As in the spec: `agent`, `edge=ann:bob`.
    shapley : `exact`, a form with permutations, or None
    seed : int
        Of the experiment: orders are drawn from it.

    Raises
    ------
    InputError
        There is no such thing to leave out, the debate cannot run without it, or the cell grows to a budget.
    """
    if reason := _why_fixed(cell):
        raise InputError(f"{reason[0]}\n    {reason[1]}")
    without: dict[Without, None] = {}
    for text in left_out:
        without |= dict.fromkeys(_without(parse_left_out(text), cell))
    return Whatif(cell.name, tuple(without), None if shapley is None else _coalitions(cell, shapley, seed))


def _why_fixed(cell: Cell) -> tuple[str, str] | None:
    """Return why nothing can be left out of a cell, and the remedy; None if something can."""
    if cell.match is None or not cell.match.grow:
        return None
    what = f"{cell.name} grows to the budget of {cell.match.cell}, which a debate without something would change"
    return what, "name a cell that is not matched by grow"


def resolve_whatifs(
    spec: Spec, cells: Sequence[Cell], doubtful: Doubtful
) -> tuple[tuple[Whatif, ...], tuple[Problem, ...]]:
    """Return the counterfactuals of a spec, and the problems with them."""
    named = {name: cell for cell in cells for name in (cell.name, *cell.aliases)}
    whatifs: list[Whatif] = []
    problems: list[Problem] = []
    for name, text in spec.text.whatif.items():
        if any(doubtful.has(section, name.partition("[")[0]) for section in ("methods", "grid")):
            continue
        if name not in named:
            what, remedy = f"whatif: there is no cell {name!r}", nearest(name, named, say="cells")
            problems.append(spec.problem(("whatif", name), what, remedy))
            continue
        if reason := _why_fixed(named[name]):
            problems.append(spec.problem(("whatif", name), f"whatif: {reason[0]}", reason[1]))
            continue
        parts, wrong = _parts(spec, name, text, named[name])
        problems += wrong
        if not wrong:
            merged = dict.fromkeys(without for part in parts for without in part.without)
            drawn = next((part.coalitions for part in parts if part.coalitions), None)
            whatifs.append(Whatif(named[name].name, tuple(merged), drawn))
    return tuple(whatifs), tuple(problems)


def _parts(spec: Spec, name: str, text: WhatifText, cell: Cell) -> tuple[list[Whatif], list[Problem]]:
    parts, wrong = [], []
    words = [(("without", i), (left_out,), None) for i, left_out in enumerate(text.without)]
    for below, left_out, shapley in [*words, (("shapley",), (), text.shapley)]:
        try:
            parts.append(whatif_of(cell, left_out, shapley, spec.text.seed))
        except InputError as error:
            what, _, remedy = str(error).partition("\n")
            route = ("whatif", name, *below)
            at = route if spec.node.find(route) is not None else route[:3]
            wrong.append(spec.problem(at, f"whatif.{name}: {what}", remedy.strip()))
    return parts, wrong


def _without(left_out: LeftOut, cell: Cell) -> list[Without]:
    method, example = cell.debate, rehearse_example(cell.debate)
    known = _known(left_out.kind, method, example)
    if not left_out.names:
        names = _players(method) if left_out.kind == "agent" else known
        each = [_of(left_out.kind, (name,)) for name in known if name in names]
        can_go = [without for without in each if why_needed(method, without) is None]
        if not can_go:
            raise InputError(
                f"{cell.name} has no {left_out.kind} that it could do without\n    leave out something else"
            )
        return can_go
    for name in left_out.names:
        if name not in known:
            there = nearest(name, known, say=f"{left_out.kind}s") or f"it has no {left_out.kind} to leave out"
            raise InputError(f"{_absent(left_out.kind, name, method)} in {cell.name}\n    {there}")
    without = _of(left_out.kind, left_out.names)
    if reason := why_needed(method, without):
        raise InputError(f"{cell.name} cannot do without {without}: {reason[0]}\n    {reason[1]}")
    return [without]


def _of(kind: str, names: tuple[str, ...]) -> Without:
    if kind == "edge":
        pairs = [name.split(":") for name in names]
        return Without(edges=tuple((speaker, listener) for speaker, listener in pairs))
    if kind == "round":
        return Without(rounds=tuple(int(name) for name in names))
    return Without(agents=names) if kind == "agent" else Without(steps=names)


def _known(kind: str, method: Method, example: Debate) -> tuple[str, ...]:
    """Return the names that can be left out of one kind: agents, edges, rounds or steps of a debate of full length.

    If weights or chance choose the edges, all possible edges count.
    """
    if kind == "agent":
        return tuple(dict.fromkeys(turn.speaker for turn in example.turns))
    if kind == "round":
        return tuple(str(number) for number in range(1, example.rounds + 1))
    if kind == "step":
        return tuple(dict.fromkeys(turn.step for turn in example.turns))
    edges = {(example.turns[heard].speaker, turn.speaker): None for turn in example.turns for heard in turn.heard}
    for step in method.steps.values():
        if isinstance(step.hears, Sparse | RandomEdges):
            names = [agent.name for agent in method.cast[step.role]]
            edges |= dict.fromkeys(permutations(names, 2))
    return tuple(f"{speaker}:{listener}" for speaker, listener in edges if speaker != listener)


def _absent(kind: str, name: str, method: Method) -> str:
    if kind != "edge":
        return f"there is no {kind} {name}"
    speaker, _, listener = name.partition(":")
    agents = {agent.name for cast in method.cast.values() for agent in cast}
    unknown = [agent for agent in (speaker, listener) if agent not in agents]
    return f"there is no agent {unknown[0]}" if unknown else f"{listener} never hears {speaker}"


def _players(method: Method) -> tuple[str, ...]:
    return tuple(agent.name for agent in debating_agents(method))


def _coalitions(cell: Cell, shapley: Literal["exact"] | PermutationsForm, seed: int) -> Coalitions:
    players = _players(cell.debate)
    if len(players) < 2:
        raise InputError(f"{cell.name} has one debater, {players[0]}, who is worth all of it\n    remove shapley")
    for player in players:
        alone = Coalitions(players).without((player,))
        if reason := why_needed(cell.debate, alone):
            raise InputError(f"{cell.name} cannot do without {alone}: {reason[0]}\n    remove shapley")
    if shapley == "exact":
        if len(players) > MOST_EXACT:
            raise InputError(
                f"{len(players)} debaters have {2 ** len(players) - 2:,} coalitions besides all of them\n"
                "    draw some: shapley: {permutations: 20}"
            )
        return Coalitions(players)
    drawn = seeded_random("shapley", seed, 0, "")
    return Coalitions(players, tuple(tuple(drawn.sample(players, len(players))) for _ in range(shapley.permutations)))
