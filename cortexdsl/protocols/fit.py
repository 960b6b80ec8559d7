"""Whether a method fits its agents: groups, ranks, edges and graphs against their number, weights against models."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from cortexdsl.debate import expressions
from cortexdsl.debate.addresses import check_layout, draw_groups
from cortexdsl.debate.engine import principal_role
from cortexdsl.debate.sparsify import ASKED
from cortexdsl.debate.topology import heard_matrix
from cortexdsl.errors import DebateError, Problem
from cortexdsl.spec.nodes import Mark, Node, Route
from cortexdsl.spec.problems import nearest
from cortexdsl.terms import (
    Agent,
    Edges,
    Everyone,
    Groups,
    Method,
    NetworkX,
    OfRole,
    RandomEdges,
    Ring,
    Sparse,
    Step,
)

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

    principal = principal_role(method)
    for name, step in method.steps.items():
        route: Route = ("steps", name, "hears")
        if _is_alone(method, step, principal):
            remedy = "name two agents or more: agents: or team:"
            yield found(route, "there is one agent, and nobody else to be heard", remedy)
            continue
        match step.hears:
            case Everyone() if step.role != principal:
                yield found(
                    route,
                    f"everyone is every {principal}, and {step.role} speaks",
                    f"write hears: {{role: {principal}}}",
                )
            case Ring() if step.role != principal:
                remedy = f"write hears: {{role: {principal}}}"
                yield found(route, f"a ring lies within one role: {principal}, and {step.role} speaks", remedy)
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
                used = expressions.parse(weight).names
                if (
                    used & {"similarity", "intimacy"}
                    and method.similarity == ASKED
                    and not _reads(method, "similarity")
                ):
                    yield found(
                        (*route, "sparse", "weight"), "no step asks for the similarity",
                        "let one have each: pair, reads: similarity; or name an embedding",
                    )  # fmt: skip
                if "credibility" in used:
                    yield from _sizes(method.cast[step.role], (*route, "sparse", "weight"), found)
            case Edges(pairs):
                known = {agent.name for agents in method.cast.values() for agent in agents}
                for i, pair in enumerate(pairs):
                    for j, agent in enumerate(pair):
                        if agent not in known:
                            remedy = nearest(agent, sorted(known), say="agents")
                            yield found((*route, "edges", i, j), f"no agent of the debate is called {agent}", remedy)
            case OfRole(roles):
                for role in roles:
                    if role not in method.cast:
                        remedy = nearest(role, sorted(method.cast), say="roles")
                        yield found((*route, "role"), f"there is no role {role}", remedy)
            case NetworkX():
                yield from _networkx(method, step, (*route, "networkx"), found)


def _is_alone(method: Method, step: Step, principal: str) -> bool:
    """Tell whether a step hears talk, and each of its speakers is the only one who could be heard."""
    match step.hears:
        case Everyone() | Groups() | Ring():
            heard = method.cast[principal]
        case Sparse() | RandomEdges() | NetworkX():
            heard = method.cast[step.role]
        case OfRole(roles):
            heard = tuple(agent for role in roles for agent in method.cast.get(role, ()))
        case _:
            return False
    names = {agent.name for agent in heard}
    return bool(names) and all(names <= {agent.name} for agent in method.cast[step.role])


def _reads(method: Method, what: str) -> bool:
    return any(step.reads == what for step in method.steps.values())


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


def unlaid(method: Method, node: Node, called: Callable[[Route], str]) -> Iterator[Found]:
    """Yield the steps whose graph cannot be laid out, as the engine says when it comes to them.

    Parameters
    ----------
    method, node, called
        As `misfits` takes them; for a method that has none.
    """
    principal = method.cast[principal_role(method)]
    names = [agent.name for agent in principal]
    try:
        groups = draw_groups(method, names, random.Random(0))
    except DebateError as error:
        mark = node.where(("steps",))
        yield mark, Problem(str(mark), str(error), "let every step hear the same groups")
        return
    for name, step in method.steps.items():
        route: Route = ("steps", name, "hears")
        try:
            check_layout(method, step, principal, groups)
        except DebateError as error:
            mark = node.where(route)
            remedy = "name whom it hears: hears: {role: ROLE}"
            yield mark, Problem(str(mark), f"{called(route)}: {error}", remedy)
