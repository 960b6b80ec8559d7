"""Who debates: the roles whose answers make rounds, consensus and votes, and the agents who play them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cortexdsl.errors import DebateError
from cortexdsl.terms import Agent, Choose, Item, Method, Repeat, Step


def parts(schedule: Sequence[Item]) -> Iterator[str | Choose | Repeat]:
    """Yield the parts of a schedule in their order, each loop before what is in it."""
    for part in schedule:
        yield part
        if isinstance(part, Repeat):
            yield from parts(part.body)


def spoken(schedule: Sequence[Item]) -> Iterator[str]:
    """Yield the steps of a schedule in their order, loops once."""
    return (part for part in parts(schedule) if isinstance(part, str))


def choices(schedule: Sequence[Item]) -> Iterator[Choose]:
    """Yield the choices of a schedule in their order, loops once."""
    return (part for part in parts(schedule) if isinstance(part, Choose))


def principal_roles(method: Method) -> tuple[str, ...]:
    """Return the roles whose agents debate: those that the protocol names, else that of the first answering step."""
    if method.debaters:
        return method.debaters
    for name in spoken(method.schedule):
        if method.steps[name].reads == "answer":
            return (method.steps[name].role,)
    raise DebateError(f"protocol {method.protocol!r} has no step in its schedule that reads an answer")


def debating_roles(method: Method) -> frozenset[str]:
    """Return the principal roles and those that are chosen from them: an answer given in one of them makes a round."""
    found = set(principal_roles(method))
    chosen = list(choices(method.schedule))
    while more := {each.role for each in chosen if each.source in found} - found:
        found |= more
    return frozenset(found)


def members(method: Method) -> tuple[Agent, ...]:
    """Return those who debate as the cast stands, in the order of the principal roles, each once."""
    cast = [agent for role in principal_roles(method) for agent in method.cast.get(role, ())]
    return tuple({agent.name: agent for agent in cast}.values())


def numbered(method: Method) -> dict[str, int]:
    """Return everybody's number, from 1: of debaters their place among them all, of others that in their first role."""
    found = {agent.name: k for k, agent in enumerate(members(method), 1)}
    for agents in method.cast.values():
        for k, agent in enumerate(agents, 1):
            found.setdefault(agent.name, k)
    return found


def players(method: Method, role: str) -> tuple[str, ...]:
    """Return who plays a role as the cast stands, without those who have left the debate."""
    own = tuple(agent.name for agent in method.cast[role])
    if role not in debating_roles(method):
        return own
    left = {agent.name for agent in members(method)}
    return tuple(name for name in own if name in left)


def most_rounds(method: Method) -> int:
    """Return how many rounds a debate can have after its opening: loops to their end, as far as a cap lets them."""
    answers = _answers(method, method.schedule)
    return max(0, (answers if method.rounds_cap is None else min(answers, method.rounds_cap)) - 1)


def _answers(method: Method, schedule: Sequence[Item]) -> int:
    found = 0
    for part in schedule:
        if isinstance(part, Repeat):
            found += part.times * _answers(method, part.body)
        elif isinstance(part, str):
            found += opens_round(method, method.steps[part])
    return found


def opens_round(method: Method, step: Step) -> bool:
    """Tell whether a step's turns are answers of those who debate."""
    return step.reads == "answer" and step.role in debating_roles(method)


def roles_of(method: Method, name: str) -> frozenset[str]:
    """Return the roles that an agent plays as the cast stands."""
    return frozenset(role for role, agents in method.cast.items() if any(agent.name == name for agent in agents))
