"""Whether a method fits its agents: groups, ranks, edges and graphs against their number, weights against models."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from cortexdsl.debate.roles import choices, debating_roles, members, parts, principal_roles
from cortexdsl.debate.talk.addresses import check_layout, draw_groups
from cortexdsl.debate.talk.topology import heard_matrix
from cortexdsl.debate.weights import expressions
from cortexdsl.debate.weights.factors import ASKED
from cortexdsl.errors import DebateError, Problem
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Mark, Node, Route
from cortexdsl.terms import (
    NEVER,
    Agent,
    Choose,
    Edges,
    Everyone,
    Groups,
    Method,
    NetworkX,
    OfRole,
    RandomEdges,
    Repeat,
    Ring,
    Sparse,
    Step,
    Topology,
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

    for name, step in method.steps.items():
        route: Route = ("steps", name, "hears")
        if _is_alone(method, step):
            remedy = "name two agents or more: agents: or team:"
            yield found(route, "there is one agent, and nobody else to be heard", remedy)
        elif isinstance(step.hears, Sparse):
            yield from _weights(method, step, route, found)
        else:
            yield from _layout(method, step, step.hears, route, found)
        if step.of in method.cast and not _may_hear(method, step):
            told = f"{step.of} is not heard here, and there is a call for each who is"
            yield found(
                ("steps", name, "each", "edge"), told, f"write hears: {{role: {step.of}}}, in a list with others"
            )
    yield from _lacking(method, found)


Finder = Callable[[Route, str, str], Found]


def _layout(method: Method, step: Step, hears: Topology, route: Route, found: Finder) -> Iterator[Found]:
    """Yield what does not fit between a layout and the agents of its step."""
    among = members(method)
    debates = step.role in debating_roles(method)
    who = " or ".join(principal_roles(method))
    heard = f"write hears: {{role: {_listed(principal_roles(method))}}}"
    match hears:
        case Everyone() if not debates:
            who_debates = f"; or say who debates: debaters: [{step.role}]" if step.reads == "answer" else ""
            yield found(route, f"everyone is every {who}, and {step.role} speaks", heard + who_debates)
        case Ring() if not debates:
            yield found(route, f"a ring lies within one role: {who}, and {step.role} speaks", heard)
        case Groups(count, sizes):
            if sizes and sum(sizes) != len(among):
                yield found(
                    (*route, "groups"), f"sizes {list(sizes)} add up to {sum(sizes)}, and {len(among)} agents debate",
                    "let the sizes add up to the number of agents",
                )  # fmt: skip
            elif count > len(among):
                said = f"{count} groups, and {len(among)} agents debate"
                yield found((*route, "groups"), said, f"at most {len(among)} groups")
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
            yield from _networkx(method, step, hears, (*route, "networkx"), found)


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _weights(method: Method, step: Step, route: Route, found: Finder) -> Iterator[Found]:
    """Yield what does not fit between the weights of a step's edges and its agents."""
    assert isinstance(step.hears, Sparse)
    keep, others = step.hears.keep, len(members(method)) - 1
    if keep.rule == "drop_bottom" and (keep.number or 0) >= others:
        yield found(
            (*route, "sparse", "keep", "drop_bottom"),
            f"{keep.number:g} of {others} others dropped leave nobody to hear",
            f"at most {max(0, others - 1)} with {others + 1} agents",
        )
    if step.role in debating_roles(method):  # else there is more to say than that, and `unlaid` does
        yield from _layout(method, step, step.hears.within, (*route, "within"), found)


def _lacking(method: Method, found: Finder) -> Iterator[Found]:
    """Yield the factors of expressions that need what this method does not have."""
    for expression, route, agents in _expressions(method):
        used = expressions.parse(expression).names
        is_asked = used & {"similarity", "intimacy"} and method.similarity == ASKED
        if is_asked and not any(step.reads == "similarity" for step in method.steps.values()):
            remedy = "let one have each: pair, reads: similarity; or name an embedding"
            yield found(route, "no step asks for the similarity", remedy)
        if "credibility" in used:
            yield from _sizes(agents, route, found)


def _expressions(method: Method) -> Iterator[tuple[str, Route, tuple[Agent, ...]]]:
    """Yield every expression, the route that leads to it, and those whom it weighs."""
    for name, step in method.steps.items():
        if isinstance(step.hears, Sparse):
            yield step.hears.weight, ("steps", name, "hears", "sparse", "weight"), method.cast[step.role]
    for part in parts(method.schedule):
        if isinstance(part, Choose):
            yield part.weight, ("schedule",), members(method)
        elif isinstance(part, Repeat):
            for condition in (part.until, part.unless):
                if condition != NEVER:
                    yield condition, ("schedule",), members(method)
    if method.decide.rule == "vote":
        yield method.decide.weight, ("decide", "vote"), members(method)


def _is_alone(method: Method, step: Step) -> bool:
    """Tell whether a step hears talk, and each of its speakers is the only one who could be heard."""
    match step.hears:
        case Everyone() | Groups() | Ring() | Sparse():
            heard = members(method)
        case RandomEdges() | NetworkX():
            heard = method.cast[step.role]
        case OfRole(roles):
            heard = tuple(agent for role in roles for agent in method.cast.get(role, ()))
        case _:
            return False
    names = {agent.name for agent in heard}
    return bool(names) and all(names <= {agent.name} for agent in method.cast[step.role])


def _may_hear(method: Method, step: Step) -> bool:
    """Tell whether a step may hear somebody of the role that its calls are about; who is chosen may be anybody."""
    roles = step.hears.roles if isinstance(step.hears, OfRole) else principal_roles(method)
    if {choice.role for choice in choices(method.schedule)} & {step.of, *roles}:
        return True
    heard = {agent.name for role in roles for agent in method.cast.get(role, ())}
    return any(agent.name in heard for agent in method.cast[step.of])


WITHOUT_CREDIBILITY = "weight: reliability * intimacy / (self_orientation + 1)"
"""The weight of CortexDebate for models whose sizes are unknown, a line of a method."""


def _sizes(agents: tuple[Agent, ...], route: Route, found: Finder) -> Iterator[Found]:
    models = {agent.model.name: agent.model for agent in agents}
    for name, model in models.items():
        lacking = [key for key in ("parameters", "tokens") if getattr(model, key) is None]
        if lacking:
            sizes = ", ".join(f"{key}: NUMBER" for key in lacking)
            remedy = (
                f"write models: {{{name}: {{{sizes}}}}} from the model's card; if nobody publishes them, weigh without"
                f" credibility ({WITHOUT_CREDIBILITY}), or give every model the same numbers, which comes to the same"
            )
            yield found(route, f"credibility needs the {' and '.join(lacking)} of model {name}", remedy)


def _networkx(method: Method, step: Step, hears: NetworkX, route: Route, found: Finder) -> Iterator[Found]:
    debates = step.role in debating_roles(method)
    names = [agent.name for agent in (members(method) if debates else method.cast[step.role])]
    if any(choice.role in principal_roles(method) for choice in choices(method.schedule)):
        what = "agents leave the debate, and a graph of networkx is made for a number of them"
        yield found(route, what, "use ring, random, edges or where")
        return
    try:
        heard_matrix(hears, names, names, (), lambda: random.Random(0))
    except DebateError as error:
        yield found(route, str(error), f"the graph is made for {len(names)} agents")


def unlaid(method: Method, node: Node, called: Callable[[Route], str]) -> Iterator[Found]:
    """Yield the steps whose graph cannot be laid out, as the engine says when it comes to them.

    Parameters
    ----------
    method, node, called
        As `misfits` takes them; for a method that has none.
    """
    principal = members(method)
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
