"""Counterfactuals of a cell: which debates run again without which agents, edges, rounds, steps or turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from cortexdsl.core import Ablation, Cell, Debate, Method, RandomEdges, Sparse
from cortexdsl.engine.ablation import why_needed
from cortexdsl.engine.methods import debating_agents
from cortexdsl.errors import InputError, Problem, nearest
from cortexdsl.language.grammar.counterfactuals import LeftOut, parse_left_out
from cortexdsl.language.methods.grid import point_slug
from cortexdsl.language.nodes import Route
from cortexdsl.language.spec import Spec
from cortexdsl.plan.parts import Whatif
from cortexdsl.plan.rehearsal.explain import rehearse_example


def whatif_slug(cell: Cell, without: Ablation) -> str:
    """Return the name in paths of a cell's debates without something."""
    return point_slug(cell.slug, {"without": str(without)})


def resolve_whatifs(spec: Spec, cells: Sequence[Cell]) -> tuple[tuple[Whatif, ...], tuple[Problem, ...]]:
    """Return the counterfactuals of a spec, and the problems with them."""
    named = {name: cell for cell in cells for name in (cell.name, *cell.aliases)}
    whatifs: list[Whatif] = []
    problems: list[Problem] = []
    for name, text in spec.text.whatif.items():
        if name not in named:
            what, remedy = f"whatif: there is no cell {name!r}", nearest(name, named, say="cells")
            problems.append(spec.problem(("whatif", name), what, remedy))
            continue
        cell = named[name]
        if cell.match is not None and cell.match.grow:
            what = (
                f"{cell.name} grows to the budget of {cell.match.cell}, which a debate without something would change"
            )
            remedy = "name a cell that is not matched by grow"
            problems.append(spec.problem(("whatif", name), f"whatif: {what}", remedy))
            continue
        left_out, wrong = _left_out(spec, name, text, cell)
        problems += wrong
        if not wrong:
            whatifs.append(Whatif(cell.name, tuple(dict.fromkeys(left_out))))
    return tuple(whatifs), tuple(problems)


def _left_out(spec: Spec, name: str, texts: Sequence[str], cell: Cell) -> tuple[list[Ablation], list[Problem]]:
    left_out, wrong = [], []
    for i, text in enumerate(texts):
        try:
            left_out += _without(parse_left_out(text), cell)
        except InputError as error:
            what, _, remedy = str(error).partition("\n")
            route: Route = ("whatif", name, i)
            at = route if spec.node.find(route) is not None else route[:2]
            wrong.append(spec.problem(at, f"whatif.{name}: {what}", remedy.strip()))
    return left_out, wrong


def _without(left_out: LeftOut, cell: Cell) -> list[Ablation]:
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


def _of(kind: str, names: tuple[str, ...]) -> Ablation:
    if kind == "edge":
        pairs = [name.split(":") for name in names]
        return Ablation(edges=tuple((speaker, listener) for speaker, listener in pairs))
    if kind == "round":
        return Ablation(rounds=tuple(int(name) for name in names))
    return Ablation(**{f"{kind}s": names})  # type: ignore[arg-type]


def _known(kind: str, method: Method, example: Debate) -> tuple[str, ...]:
    """Return the names that can be left out of one kind: agents, edges, rounds, steps or turns of a full debate.

    If weights or chance choose the edges, all possible edges count.
    """
    if kind == "agent":
        return tuple(dict.fromkeys(turn.speaker for turn in example.turns))
    if kind == "round":
        return tuple(str(number) for number in range(1, example.rounds + 1))
    if kind == "step":
        return tuple(dict.fromkeys(turn.step for turn in example.turns))
    if kind == "turn":
        return tuple(dict.fromkeys(f"{turn.speaker}@{turn.round}" for turn in example.turns if turn.round))
    edges = {(example.turns[heard].speaker, turn.speaker): None for turn in example.turns for heard in turn.heard}
    for step in method.steps.values():
        if isinstance(step.hears, Sparse | RandomEdges):
            names = [agent.name for agent in method.role_agents[step.role]]
            edges |= dict.fromkeys(permutations(names, 2))
    return tuple(f"{speaker}:{listener}" for speaker, listener in edges if speaker != listener)


def _absent(kind: str, name: str, method: Method) -> str:
    if kind != "edge":
        return f"there is no {kind} {name}"
    speaker, _, listener = name.partition(":")
    agents = {agent.name for role_agents in method.role_agents.values() for agent in role_agents}
    unknown = [agent for agent in (speaker, listener) if agent not in agents]
    return f"there is no agent {unknown[0]}" if unknown else f"{listener} never hears {speaker}"


def _players(method: Method) -> tuple[str, ...]:
    return tuple(agent.name for agent in debating_agents(method))
