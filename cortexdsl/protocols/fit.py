"""Whether a method fits its agents: groups, ranks, edges and graphs against their number, weights against models."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from cortexdsl.debate import expressions
from cortexdsl.debate.topology import heard_matrix
from cortexdsl.errors import DebateError, Problem
from cortexdsl.spec.nodes import Mark, Node, Route
from cortexdsl.spec.problems import nearest
from cortexdsl.terms import Agent, Edges, Groups, Method, NetworkX, Sparse, Step

Found = tuple[Mark, Problem]


def misfits(method: Method, node: Node, called: Callable[[Route], str]) -> Iterator[Found]:
    """Yield what does not fit between a method and its agents.

    Parameters
    ----------
    method : Method
    node : Node
        The protocol with its settings put in, with positions.
    called : function
        What messages call the value at a route of the protocol.
    """

    def found(route: Route, what: str, remedy: str) -> Found:
        mark = node.where(route)
        return mark, Problem(str(mark), f"{called(route)}: {what}", remedy)

    principal = next(step.role for step in _in_order(method) if step.reads == "answer")
    for name, step in method.steps.items():
        route: Route = ("steps", name, "hears")
        match step.hears:
            case Groups(count, sizes):
                agents = len(method.cast[principal])
                if sizes and sum(sizes) != agents:
                    yield found(
                        (*route, "groups"), f"sizes {list(sizes)} add up to {sum(sizes)}, and {agents} agents debate",
                        "let the sizes add up to the number of agents",
                    )  # fmt: skip
                elif count > agents:
                    yield found(
                        (*route, "groups"), f"{count} groups, and {agents} agents debate", f"at most {agents} groups"
                    )
            case Sparse(weight, keep):
                agents = len(method.cast[step.role])
                if keep.rule == "drop_bottom" and (keep.number or 0) >= agents - 1:
                    yield found(
                        (*route, "sparse", "keep", "drop_bottom"),
                        f"{keep.number:g} of {agents - 1} others dropped leave nobody to hear",
                        f"at most {max(0, agents - 2)} with {agents} agents",
                    )
                if "credibility" in expressions.parse(weight).names:
                    yield from _sizes(method.cast[step.role], (*route, "sparse", "weight"), found)
            case Edges(pairs):
                known = {agent.name for agents in method.cast.values() for agent in agents}
                for i, pair in enumerate(pairs):
                    for j, agent in enumerate(pair):
                        if agent not in known:
                            remedy = nearest(agent, sorted(known), say="agents")
                            yield found((*route, "edges", i, j), f"no agent of the debate is called {agent}", remedy)
            case NetworkX():
                yield from _networkx(method, step, (*route, "networkx"), found)


def _in_order(method: Method) -> list[Step]:
    steps: list[Step] = []

    def walk(items: tuple[object, ...]) -> None:
        for item in items:
            if isinstance(item, str):
                steps.append(method.steps[item])
            else:
                walk(item.body)  # type: ignore[attr-defined]

    walk(method.schedule)
    return steps


def _sizes(agents: tuple[Agent, ...], route: Route, found: Callable[[Route, str, str], Found]) -> Iterator[Found]:
    models = {agent.model.name: agent.model for agent in agents}
    for name, model in models.items():
        lacking = [key for key in ("parameters", "tokens") if getattr(model, key) is None]
        if lacking:
            remedy = (
                f"write models: {{{name}: {{{', '.join(f'{key}: ...' for key in lacking)}}}}}, such as 7.6e9, 18e12"
            )
            yield found(route, f"credibility needs the {' and '.join(lacking)} of model {name}", remedy)


def _networkx(method: Method, step: Step, route: Route, found: Callable[[Route, str, str], Found]) -> Iterator[Found]:
    names = [agent.name for agent in method.cast[step.role]]
    try:
        heard_matrix(step.hears, names, names, (), lambda: random.Random(0))
    except DebateError as error:
        yield found(route, str(error), f"the graph is made for {len(names)} agents")
