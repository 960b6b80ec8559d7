"""Questions about a method (its schedule, who debates, where it evaluates expressions), and variants of a method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from cortexdsl.core import (
    NEVER,
    Agent,
    Choose,
    Debate,
    Method,
    Model,
    Repeat,
    SchedulePart,
    Sparse,
    Step,
    Topology,
    TurnFilter,
)
from cortexdsl.engine.spending import tokens_of
from cortexdsl.errors import DebateError
from cortexdsl.expressions.fitted import learned_in
from cortexdsl.expressions.names import ExpressionPlace


# ------------------------------------------------------------ schedule
def schedule_parts(schedule: Sequence[SchedulePart]) -> Iterator[str | Choose | Repeat]:
    """Yield the parts of a schedule in order, each loop before its body."""
    for part in schedule:
        yield part
        if isinstance(part, Repeat):
            yield from schedule_parts(part.body)


def in_wording(method: Method, wording: int) -> Method:
    """Return a method whose prompts have one of their wordings, from 0."""
    steps = {
        name: replace(step, prompt=step.variants[wording], variants=()) if step.variants else step
        for name, step in method.steps.items()
    }
    return replace(method, steps=steps)


def scheduled_steps(schedule: Sequence[SchedulePart]) -> Iterator[str]:
    """Yield the steps of a schedule in order, loops once."""
    return (part for part in schedule_parts(schedule) if isinstance(part, str))


def spoken_steps(schedule: Sequence[SchedulePart]) -> Iterator[str]:
    """Yield the steps of a schedule in order, loops once, and without loops that run 0 times."""
    for part in schedule:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Repeat) and part.times:
            yield from spoken_steps(part.body)


def scheduled_choices(schedule: Sequence[SchedulePart]) -> Iterator[Choose]:
    """Yield the choices of a schedule in order, loops once."""
    return (part for part in schedule_parts(schedule) if isinstance(part, Choose))


def max_rounds(method: Method) -> int:
    """Return the most rounds that a debate can have after its opening: all passes of loops."""
    return max(0, _answering_steps(method, method.schedule) - 1)


def _answering_steps(method: Method, schedule: Sequence[SchedulePart]) -> int:
    count = 0
    for part in schedule:
        if isinstance(part, Repeat):
            count += part.times * _answering_steps(method, part.body)
        elif isinstance(part, str):
            count += opens_round(method, method.steps[part])
    return count


def opens_round(method: Method, step: Step) -> bool:
    """Return whether a step's turns are answers of debaters."""
    return step.reads == "answer" and is_debating(method, step.role)


# ------------------------------------------------------------ roles and agents
def principal_roles(method: Method) -> tuple[str, ...]:
    """Return the roles that debate: those that the protocol names, or else the role of the first answering step."""
    if method.voters:
        return method.voters
    for name in scheduled_steps(method.schedule):
        if method.steps[name].reads == "answer":
            return (method.steps[name].role,)
    raise DebateError(f"protocol {method.protocol!r} has no step in its schedule that reads an answer")


def debating_roles(method: Method) -> frozenset[str]:
    """Return the principal roles and those that are chosen from them; answers in any of them make rounds."""
    roles = set(principal_roles(method))
    choices = list(scheduled_choices(method.schedule))
    while more := {choice.role for choice in choices if choice.source in roles} - roles:
        roles |= more
    return frozenset(roles)


def is_debating(method: Method, role: str) -> bool:
    """Return whether answers in a role make rounds."""
    return role in principal_roles(method) or role in debating_roles(method)  # mostly the first, which is faster


def debating_agents(method: Method) -> tuple[Agent, ...]:
    """Return the agents that debate under the current roles, in the order of the principal roles, each once."""
    role_agents = [agent for role in principal_roles(method) for agent in method.role_agents.get(role, ())]
    return tuple({agent.name: agent for agent in role_agents}.values())


def agent_numbers(method: Method) -> dict[str, int]:
    """Return the number of each agent, from 1: a debater's place among the debaters, another's in its first role."""
    numbers = {agent.name: k for k, agent in enumerate(debating_agents(method), 1)}
    for agents in method.role_agents.values():
        for k, agent in enumerate(agents, 1):
            numbers.setdefault(agent.name, k)
    return numbers


def players(method: Method, role: str) -> tuple[str, ...]:
    """Return the agents that play a role under the current roles, without those that have left the debate."""
    role_agents = tuple([agent.name for agent in method.role_agents[role]])
    debating = {agent.name for agent in debating_agents(method)}
    remaining = tuple([name for name in role_agents if name in debating])
    return remaining if len(remaining) == len(role_agents) or is_debating(method, role) else role_agents


def roles_of(method: Method, name: str) -> frozenset[str]:
    """Return the roles that an agent plays under the current roles."""
    return frozenset([role for role, agents in method.role_agents.items() for agent in agents if agent.name == name])


# ------------------------------------------------------------ expressions
def names_in(method: Method) -> tuple[str, ...]:
    """Return the names of the roles and agents of a method, and of the method that it hands questions on to."""
    casts = [role_agents for stage in stages_of(method) for role_agents in stage.role_agents.items()]
    return tuple(dict.fromkeys(name for role, agents in casts for name in (role, *(agent.name for agent in agents))))


def placed_expressions(method: Method) -> Iterator[tuple[ExpressionPlace, str, Step | Choose | Repeat | None]]:
    """Yield every expression of a method itself, with its place and the step or item of the schedule that has it."""
    for part in schedule_parts(method.schedule):
        if isinstance(part, Choose):
            yield "choice", part.weight, part
        elif isinstance(part, Repeat):
            yield from (("condition", text, part) for text in (part.unless, part.until) if text != NEVER)
    for step in method.steps.values():
        topology = step.hears
        while isinstance(topology, Sparse):
            yield "weight", topology.weight, step
            topology = topology.within
        filters = (shown for shown in (*step.shows, step.memory) if isinstance(shown, TurnFilter))
        yield from (("turn", shown.where, step) for shown in filters if shown.where)
    if method.decide.rule == "vote":
        yield "vote", method.decide.weight, None


def expressions_of(method: Method) -> Iterator[str]:
    """Yield what is evaluated before the vote, except the `until` of a loop of one pass: it has no effect."""
    for place, text, part in placed_expressions(method):
        is_idle = isinstance(part, Repeat) and part.times <= 1 and text == part.until != part.unless
        if place != "vote" and not is_idle:
            yield text


def all_expressions(method: Method) -> Iterator[tuple[ExpressionPlace, str]]:
    """Yield every expression of a method and of those that it hands questions on to, with its place."""
    for stage in stages_of(method):
        yield from ((place, text) for place, text, _ in placed_expressions(stage))
        if stage.defer is not None and stage.defer.where:
            yield "condition", stage.defer.where


def learned_of(method: Method) -> tuple[str, ...]:
    """Return the names of the fitted functions that a method uses, in all stages, each once."""
    names = (name for _, text in all_expressions(method) for name in learned_in(text))
    return tuple(dict.fromkeys(names))


def with_expressions(method: Method, change: Callable[[str], str]) -> Method:
    """Return a method in which other expressions stand for its own, in all stages."""

    def graph(topology: Topology) -> Any:
        if not isinstance(topology, Sparse):
            return topology
        return replace(topology, weight=change(topology.weight), within=graph(topology.within))

    def turns(shown: Any) -> Any:
        return replace(shown, where=change(shown.where)) if isinstance(shown, TurnFilter) and shown.where else shown

    def part(each: SchedulePart) -> SchedulePart:
        if isinstance(each, Choose):
            return replace(each, weight=change(each.weight))
        if isinstance(each, Repeat):
            until, unless = (text if text == NEVER else change(text) for text in (each.until, each.unless))
            return replace(each, body=tuple(map(part, each.body)), until=until, unless=unless)
        return each

    def changed(stage: Method) -> Method:
        steps = {
            name: replace(step, hears=graph(step.hears), shows=tuple(map(turns, step.shows)), memory=turns(step.memory))
            for name, step in stage.steps.items()
        }
        decide, defer = stage.decide, stage.defer
        return replace(
            stage,
            steps=MappingProxyType(steps),
            schedule=tuple(map(part, stage.schedule)),
            decide=replace(decide, weight=change(decide.weight)) if decide.weight else decide,
            defer=replace(defer, where=change(defer.where)) if defer is not None and defer.where else defer,
        )

    return each_stage(method, changed)


# ------------------------------------------------------------ variants for one question or job
def match_budget(method: Method, budget: Debate, unit: Literal["calls", "tokens"]) -> Method:
    """Return a sampling method with as many samples as another debate of the same question used.

    With `calls` the match is exact. With `tokens` the samples are the debate's tokens divided by those of its opening
    answers (mean prompt and completion tokens of a turn in round 0), at least one, since the cost of a sample is not
    known in advance. Calls that measure confidences count for both methods, and so do those of the debates that the
    question was handed on to.
    """
    calls = sum(len(turn.calls) for turn in budget.all_turns)
    samples = max(1, calls // (1 + method.confidence.calls))
    if unit == "tokens":
        opening = [tokens_of(turn.calls) for turn in budget.turns if turn.round == 0]
        mean = sum(opening) / max(1, len(opening))
        spent = sum(tokens_of(turn.calls) for turn in budget.all_turns)
        samples = round(spent / mean) if mean else samples
    return with_samples(method, samples)


def with_each_model(method: Method, change: Callable[[Model], Model]) -> Method:
    """Return a method in which another model stands for each model of an agent or a step."""

    def changed(agent: Agent) -> Agent:
        model = change(agent.model)
        return agent if model is agent.model else replace(agent, model=model)

    def with_models(step: Step) -> Step:
        if step.model is not None:
            step = replace(step, model=change(step.model))
        if not step.tools:
            return step
        return replace(step, tools={name: tuple(map(change, tools)) for name, tools in step.tools.items()})

    role_agents = {role: tuple(map(changed, agents)) for role, agents in method.role_agents.items()}
    steps = {name: with_models(step) for name, step in method.steps.items()}
    return replace(method, role_agents=MappingProxyType(role_agents), steps=MappingProxyType(steps))


def with_all_models(method: Method, change: Callable[[Model], Model]) -> Method:
    """Return a method in which another model stands for each model: of agents, steps, verifiers, in all stages."""

    def changed(stage: Method) -> Method:
        measure = stage.confidence
        if measure.verifier is not None:
            measure = replace(measure, verifier=change(measure.verifier))
        return replace(with_each_model(stage, change), confidence=measure)

    return each_stage(method, changed)


def with_samples(method: Method, samples: int) -> Method:
    """Return a sampling method with `samples` replies per call in the steps that sample.

    These are the steps that draw several replies; if none does, because it was set to one, all that answer.
    """
    sampling = {name for name, step in method.steps.items() if step.samples > 1}
    sampling = sampling or {name for name, step in method.steps.items() if step.reads == "answer"}
    steps = {name: replace(step, samples=samples) if name in sampling else step for name, step in method.steps.items()}
    return replace(method, steps=steps)


def stages_of(method: Method) -> Iterator[Method]:
    """Yield a method, and those that its questions are handed on to, in order."""
    yield method
    if method.defer is not None:
        yield from stages_of(method.defer.method)


def each_stage(method: Method, change: Callable[[Method], Method]) -> Method:
    """Return a method with a change of it, and of those that its questions are handed on to."""
    changed = change(method)
    if changed.defer is None:
        return changed
    return replace(changed, defer=replace(changed.defer, method=each_stage(changed.defer.method, change)))


def in_each_wording(method: Method) -> Iterator[Method]:
    """Yield a method in each wording of its prompts, and of those of the methods that it hands questions on to."""
    for wording in range(max(1, method.wordings)):
        yield each_stage(method, partial(in_wording, wording=wording))


def pool_sources(method: Method) -> tuple[str, ...]:
    """Return the names of the knowledge whose passages a method's steps are given, in all stages."""
    steps = (step for stage in stages_of(method) for step in stage.steps.values())
    return tuple(dict.fromkeys(name for step in steps for name in step.material.get("pool", ())))


def with_pool(method: Method, passages: Sequence[Any]) -> Method:
    """Return a method whose steps get passages, instead of the names of knowledge sources."""

    def filled(stage: Method) -> Method:
        steps = {
            name: replace(step, material={**step.material, "pool": tuple(passages)})
            if "pool" in step.material
            else step
            for name, step in stage.steps.items()
        }
        return replace(stage, steps=steps)

    return each_stage(method, filled)


def with_identities(method: Method, identities: Mapping[str, str]) -> Method:
    """Return a method whose tools have an identity, so that replies of another version are not reused.

    Parameters
    ----------
    method : Method
    identities : mapping of a tool's name to str
        What the replies of a tool depend on.
    """

    def identified(model: Model) -> Model:
        identity = identities.get(model.name) if model.is_tool else None
        return model if identity is None else replace(model, options={**model.options, "identity": identity})

    return each_stage(method, lambda stage: with_each_model(stage, identified))
