"""Whether a method fits its agents: layouts, counts, and weights against their number and their models.

A count that is larger than the number of agents changes nothing. It may be an upper bound for teams of several sizes,
so it is a problem only if it is too large in every cell that uses it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cortexdsl.core import (
    KEEP_TRUE,
    SIMILARITY_FROM_REPLIES,
    Agent,
    Choose,
    Edges,
    Everyone,
    Groups,
    Keep,
    Method,
    Model,
    NetworkX,
    Nobody,
    OfRole,
    Price,
    Ring,
    Self,
    Sparse,
    Step,
    Topology,
)
from cortexdsl.engine.methods import (
    debating_agents,
    debating_roles,
    placed_expressions,
    principal_roles,
    scheduled_choices,
)
from cortexdsl.engine.topology import check_layout, draw_groups, heard_matrix
from cortexdsl.errors import DebateError, Problem, nearest
from cortexdsl.expressions import evaluation
from cortexdsl.expressions.names import VARS
from cortexdsl.language.grammar.protocol import ProtocolText
from cortexdsl.language.nodes import Mark, Node, PlacedProblem, ProblemAt, Route
from cortexdsl.language.protocol import walks
from cortexdsl.models.known_models import known_model


def fit_problems(method: Method, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield what does not fit between a method and its agents.

    Parameters
    ----------
    method : Method
    problem_at : ProblemAt
        In the protocol with the values of its settings.
    """
    for name, step in method.steps.items():
        route: Route = ("steps", name, "hears")
        if _is_alone(method, step):
            remedy = "name two agents or more: agents: [...]"
            yield problem_at(route, "there is one agent, and nobody else to be heard", remedy)
        elif isinstance(step.hears, Sparse):
            yield from _weights(method, step, route, problem_at)
        else:
            yield from _layout(method, step, step.hears, route, problem_at)
        if step.placebo != "none" and isinstance(step.hears, Nobody | Self):
            what = "no other agent is heard here, and a placebo stands for the words of others"
            yield problem_at(("steps", name, "placebo"), what, "remove it, or say whom the step hears: hears:")
        if step.of in method.role_agents and not _may_hear(method, step):
            what = f"{step.of} is not heard here, and there is a call for each who is"
            yield problem_at(("steps", name, "each"), what, f"write hears: {step.of}, in a list with others")
    yield from _lacking(method, problem_at)


def _layout(
    method: Method, step: Step, hears: Topology, route: Route, problem_at: ProblemAt
) -> Iterator[PlacedProblem]:
    """Yield what does not fit between a layout and the agents of its step."""
    among = debating_agents(method)
    debates = step.role in debating_roles(method)
    who = " or ".join(principal_roles(method))
    heard = f"write hears: {_listed(principal_roles(method))}"
    match hears:
        case Everyone() if not debates:
            who_debates = f"; or say who debates: voters: [{step.role}]" if step.reads == "answer" else ""
            yield problem_at(route, f"everyone is every {who}, and {step.role} speaks", heard + who_debates)
        case Ring() if not debates:
            yield problem_at(route, f"a ring lies within one role: {who}, and {step.role} speaks", heard)
        case Groups(count, sizes):
            if sizes and sum(sizes) != len(among):
                yield problem_at(
                    (*route, "groups"), f"sizes {list(sizes)} add up to {sum(sizes)}, and {len(among)} agents debate",
                    "let the sizes add up to the number of agents",
                )  # fmt: skip
            elif count > len(among):
                what = f"{count} groups, and {len(among)} agents debate"
                yield problem_at((*route, "groups"), what, f"at most {len(among)} groups")
        case Edges(pairs):
            known = {agent.name for agents in method.role_agents.values() for agent in agents}
            for i, pair in enumerate(pairs):
                for j, agent in enumerate(pair):
                    if agent not in known:
                        remedy = nearest(agent, sorted(known), say="agents")
                        yield problem_at((*route, "edges", i, j), f"no agent of the debate is called {agent}", remedy)
        case NetworkX():
            yield from _networkx(method, step, hears, (*route, "networkx"), problem_at)


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _weights(method: Method, step: Step, route: Route, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield what does not fit between the weights of a step's edges and its agents."""
    assert isinstance(step.hears, Sparse)
    keep, others = step.hears.keep, len(debating_agents(method)) - 1
    if (retained := keep.retained(others)) is not None and retained < 1:
        yield problem_at(
            (*route, "keep", keep.rule),
            f"{keep.number:g} of {others} others dropped leave nobody to hear",
            f"at most {max(0, others - 1)} with {others + 1} agents",
        )
    if step.role in debating_roles(method):  # else `layout_problems` reports more
        yield from _layout(method, step, step.hears.within, (*route, "topology"), problem_at)


def _lacking(method: Method, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield factors of expressions that need steps or facts that the method lacks."""
    for expression, route, agents in _expressions(method):
        used = evaluation.parse(expression).names
        is_asked = used & {"similarity", "intimacy"} and method.similarity == SIMILARITY_FROM_REPLIES
        if is_asked and not any(step.reads == "similarity" for step in method.steps.values()):
            remedy = "let one have each: pair, reads: similarity; or name an embedding"
            yield problem_at(route, "no step asks for the similarity", remedy)
        if "credibility" in used:
            yield from _sizes(agents, route, problem_at)
        if "dollars" in used:
            yield from _prices(method, route, problem_at)
        for key in sorted(evaluation.parse(expression).keys):
            name, numbers = evaluation.split_key(key)
            if name == VARS:
                yield from _numbers(debating_agents(method), numbers[0], route, problem_at)


def _expressions(method: Method) -> Iterator[tuple[str, Route, tuple[Agent, ...]]]:
    """Yield every expression but the conditions of shown turns, its route, and the agents that it weighs."""
    for place, expression, part in placed_expressions(method):
        if isinstance(part, Step):
            if place == "weight":
                yield expression, ("steps", part.name, "hears", "weight"), method.role_agents[part.role]
        else:
            yield expression, ("decide", "vote") if place == "vote" else ("schedule",), debating_agents(method)


def _is_alone(method: Method, step: Step) -> bool:
    """Return whether a step hears talk, but each of its speakers is the only agent that could be heard."""
    if isinstance(step.hears, OfRole):
        heard = tuple(agent for role in step.hears.roles for agent in method.role_agents.get(role, ()))
    elif step.hears.candidates == "debaters":
        heard = debating_agents(method)
    else:
        return False
    names = {agent.name for agent in heard}
    return bool(names) and all(names <= {agent.name} for agent in method.role_agents[step.role])


def _may_hear(method: Method, step: Step) -> bool:
    """Return whether a step may hear a player of the role that its calls are about; a choice may take any agent."""
    roles = step.hears.roles if isinstance(step.hears, OfRole) else principal_roles(method)
    if {choice.role for choice in scheduled_choices(method.schedule)} & {step.of, *roles}:
        return True
    heard = {agent.name for role in roles for agent in method.role_agents.get(role, ())}
    return any(agent.name in heard for agent in method.role_agents[step.of])


WITHOUT_CREDIBILITY = "weight: reliability * intimacy / (self_orientation + 1)"
"""The weight of CortexDebate for models whose sizes are unknown, as a line of a method."""


def known_sizes(method: Method) -> dict[str, Model]:
    """Return the models that credibility weighs and whose entries give no size, with the sizes that are known.

    Entries keep the figures that they give. No other model gets a size: its records would change.
    """
    weighed = [
        agent.model
        for expression, _, agents in _expressions(method)
        if "credibility" in evaluation.parse(expression).names
        for agent in agents
    ]
    sized = {}
    for model in weighed:
        known = known_model(model.model) if None in (model.parameters, model.tokens) else None
        if known is not None:
            parameters, tokens = model.parameters or known.parameters, model.tokens or known.tokens
            sized[model.name] = replace(model, parameters=parameters, tokens=tokens)
    return sized


def _sizes(agents: tuple[Agent, ...], route: Route, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    models = {agent.model.name: agent.model for agent in agents}
    for name, model in models.items():
        lacking = [key for key in ("parameters", "tokens") if getattr(model, key) is None]
        if lacking:
            sizes = ", ".join(f"{key}: NUMBER" for key in lacking)
            remedy = (
                f"write models: {{{name}: {{{sizes}}}}} from the model's card; if nobody publishes them, weigh without"
                f" credibility ({WITHOUT_CREDIBILITY}), or give every model the same numbers, which comes to the same"
            )
            yield problem_at(route, f"credibility needs the {' and '.join(lacking)} of model {name}", remedy)


def charged_prices(method: Method) -> dict[str, Price]:
    """Return the prices that entries give, if an expression of a method uses dollars; else the debate needs none."""
    if not any("dollars" in evaluation.parse(expression).names for expression, _, _ in _expressions(method)):
        return {}
    return {model.name: model.price for model in method.models if model.price is not None}


def _prices(method: Method, route: Route, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    for model in method.models:
        if model.price is None and not model.is_tool:
            remedy = f"write models: {{{model.name}: {{price: {{input: 3, output: 15}}}}}}, dollars per million tokens"
            yield problem_at(route, f"dollars needs the price of model {model.name}, as its entry gives it", remedy)


def _numbers(agents: tuple[Agent, ...], number: str, route: Route, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield the agents that an expression weighs by a number that the spec does not give them."""
    known = sorted({name for agent in agents for name in agent.vars})
    lacking = [agent.name for agent in agents if number not in agent.vars]
    if lacking:
        near = f"{nearest(number, known, say='numbers that agents have')}; " if known and number not in known else ""
        remedy = f"{near}write vars: {{{number}: NUMBER}} in the entry of every agent that debates"
        yield problem_at(route, f"vars({number}): {', '.join(lacking)} has no number called {number}", remedy)


def _networkx(
    method: Method, step: Step, hears: NetworkX, route: Route, problem_at: ProblemAt
) -> Iterator[PlacedProblem]:
    debates = step.role in debating_roles(method)
    names = [agent.name for agent in (debating_agents(method) if debates else method.role_agents[step.role])]
    if any(
        choice.role in principal_roles(method) and not (choice.source == choice.role and choice.keep.rule == "all")
        for choice in scheduled_choices(method.schedule)
    ):
        what = "agents leave the debate, and a graph of networkx is made for a number of them"
        yield problem_at(route, what, "use ring, random, edges or where")
        return
    try:
        heard_matrix(hears, names, names, (), lambda: random.Random(0))
    except DebateError as error:
        yield problem_at(route, str(error), f"the graph is made for {len(names)} agents")


def layout_problems(method: Method, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield the steps whose graph the engine cannot build; parameters as for `fit_problems`."""
    principal = debating_agents(method)
    names = [agent.name for agent in principal]
    try:
        groups = draw_groups(method, names, random.Random(0))
    except DebateError as error:
        mark = problem_at.node.where(("steps",))
        yield mark, Problem(str(mark), str(error), "let every step hear the same groups")
        return
    for name, step in method.steps.items():
        try:
            check_layout(method, step, principal, groups)
        except DebateError as error:
            yield problem_at(("steps", name, "hears"), str(error), "name whom it hears: hears: ROLE")


@dataclass(frozen=True, slots=True)
class AgentCount:
    """A count in one cell.

    Attributes
    ----------
    mark : Mark
        Its position.
    excess : Problem or None
        The problem if it is larger than the number of agents.
    """

    mark: Mark
    excess: Problem | None


def agent_counts(method: Method, text: ProtocolText, problem_at: ProblemAt) -> Iterator[AgentCount]:
    """Yield the numbers of agents that a method names.

    Parameters
    ----------
    method : Method
    text : ProtocolText
        The text of the method.
    problem_at : ProblemAt
        In this text.
    """

    def count(route: Route, excess: tuple[str, str] | None) -> AgentCount:
        return AgentCount(problem_at.node.where(route), excess and problem_at(route, *excess)[1])

    for name, step in method.steps.items():
        others = max(
            len({one.name for one in debating_agents(method)} - {who.name}) for who in method.role_agents[step.role]
        )
        for route, excess in _heard(step.hears, others, ("steps", name, "hears"), problem_at.node):
            yield count(route, excess)
    for choice, route in walks.items_of(Choose, text):
        standing = _most_standing(method, choice.source)
        if choice.keep != KEEP_TRUE and standing:
            keep = choice.keep
            yield count((*route, "keep", keep.rule), _chosen(keep, standing))


def _heard(hears: Topology, others: int, route: Route, node: Node) -> Iterator[tuple[Route, tuple[str, str] | None]]:
    """Yield the counts of a layout: the route of each, and its excess with the remedy."""
    match hears:
        case Ring(reach):
            furthest = (others + 1) // 2
            what = f"who is {furthest} away is the furthest of {others + 1} agents"
            yield (*route, "ring"), (what, f"at most {furthest}, or hears: everyone") if reach > furthest else None
        case Sparse(keep=keep, within=within):
            if (retained := keep.retained(others)) is not None:
                what = f"{keep.number:g} are kept, and {others} others can be heard"
                remedy = f"at most {others} with {others + 1} agents, or keep: all"
                yield (*route, "keep", keep.rule), (what, remedy) if retained > others else None
            yield from _heard(within, others, (*route, "topology"), node)


def _chosen(keep: Keep, standing: int) -> tuple[str, str] | None:
    """Return the excess of the count of a choice, with the remedy."""
    number, retained = keep.number or 0, keep.retained(standing)
    if retained is not None and retained > standing:
        return f"{number:g} are kept, and {standing} stand", f"at most {standing}, or keep: all"
    if retained is not None and retained < 1:
        return f"{number:g} of the {standing} that stand are dropped", f"at most {standing - 1}"
    return None


def _most_standing(method: Method, role: str) -> int:
    """Return how many candidates a choice may have: players of the role, or of a role that it is filled from."""
    roles = {role}
    while more := {each.source for each in scheduled_choices(method.schedule) if each.role in roles} - roles:
        roles |= more
    return max(len(method.role_agents.get(each, ())) for each in roles)


def excessive_counts(counts: Iterable[AgentCount]) -> list[Problem]:
    """Return the problems of counts that are too large in every cell."""
    by_mark: dict[Mark, list[Problem | None]] = {}
    for count in counts:
        by_mark.setdefault(count.mark, []).append(count.excess)
    return [excess[0] for excess in by_mark.values() if excess[0] is not None and all(excess)]
