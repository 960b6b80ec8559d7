"""A protocol with its settings and its agents: the frozen method that the engine interprets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from cortexdsl.core import Agent, DebateConfidence, Method, Repeat, SchedulePart, Step
from cortexdsl.engine.methods import scheduled_steps
from cortexdsl.errors import Problem, SpecError, nearest
from cortexdsl.language.grammar.confidence import DeferText
from cortexdsl.language.grammar.core_words import core_value
from cortexdsl.language.grammar.methods import METHOD_WORDS, MethodText
from cortexdsl.language.grammar.old_words import key_remedy
from cortexdsl.language.grammar.protocol import ProtocolText
from cortexdsl.language.grammar.schedule import OTHERWISE, CaseText, LoopText
from cortexdsl.language.grammar.speakers import SAMPLING
from cortexdsl.language.grammar.steps import StepText
from cortexdsl.language.methods.fit import (
    AgentCount,
    agent_counts,
    charged_prices,
    fit_problems,
    known_sizes,
    layout_problems,
)
from cortexdsl.language.methods.role_assignment import (
    MethodChoice,
    bind_roles,
    deal_templates,
    method_words,
    roles_in_use,
    with_confidence,
    with_models,
    with_placebo,
)
from cortexdsl.language.methods.step_tools import tool_problems, tools_by_agent
from cortexdsl.language.nodes import Mark, Node, PlacedProblem, ProblemAt, refuse_all, shown
from cortexdsl.language.problems import shortest_by_place, validate
from cortexdsl.language.protocol.loader import BUILTIN_FOLDER, Protocol
from cortexdsl.language.protocol.settings import Substitution
from cortexdsl.language.protocol.soundness import reference_problems


@dataclass(frozen=True, slots=True)
class ResolvedMethod:
    """A method, and the positions of its parts.

    Attributes
    ----------
    method : Method
    prompts : mapping of step to Mark
        Where its template is named.
    counts : tuple of AgentCount
        Numbers of agents that it keeps, against how many there are.
    defer : DeferText or None
        As written.
    """

    method: Method
    prompts: Mapping[str, Mark]
    counts: tuple[AgentCount, ...] = ()
    defer: DeferText | None = None


def settings_of(protocol: Protocol, choice: MethodChoice) -> dict[str, Node]:
    """Return every setting of a protocol: the chosen value, else the default."""
    chosen = {key: node for key, node in choice.node.mapping().items() if key not in METHOD_WORDS}
    return {name: chosen.get(name, default) for name, default in protocol.settings.items()}


def resolve(protocol: Protocol, choice: MethodChoice) -> Method:
    """Put settings and agents into a protocol.

    Raises
    ------
    SpecError
        Every problem, placed at the setting that causes it: an unknown setting, role, or step, a value that the setting
        cannot have, too few agents, groups or ranks that do not fit their number, a weight that needs facts that the
        entry of a model lacks.
    """
    return resolve_placed(protocol, choice).method


def resolve_placed(protocol: Protocol, choice: MethodChoice) -> ResolvedMethod:
    """Put settings and agents into a protocol, as `resolve` does, and return the positions of its parts as well."""
    try:
        return _resolved(protocol, choice)
    except SpecError as error:
        raise SpecError([_placed_in_spec(problem, choice) for problem in error.problems]) from None


def _is_builtin(where: str) -> bool:
    return where.startswith(str(BUILTIN_FOLDER))


def _placed_in_spec(problem: Problem, choice: MethodChoice) -> Problem:
    """Move a problem of a built-in file (a default that does not fit the spec) to the method."""
    return replace(problem, where=str(choice.node.mark)) if _is_builtin(problem.where) else problem


# ---------------------------------------------------------------- stages
def _resolved(protocol: Protocol, choice: MethodChoice) -> ResolvedMethod:
    """Return the method; each stage relies on what the stages before it have checked."""
    refuse_all([*_unknown_keys(protocol, choice), *_nested_settings(protocol, choice)])
    words = method_words(choice, protocol.name)
    substitution = Substitution(settings_of(protocol, choice), choice.label)
    node = substitution.apply(_overridden(protocol.node, choice.node))
    refuse_all(substitution.problems)
    try:
        text = validate(ProtocolText, node, substitution.called)
    except SpecError as error:  # a setting may be used in several places
        raise SpecError(shortest_by_place(error.problems)) from None

    problem_at = ProblemAt(node, substitution.called)
    refuse_all(reference_problems(text, problem_at))
    roles = node.find(("roles",)) or Node({}, node.mark)
    role_agents = bind_roles(text.roles, roles, choice, substitution)
    method = _with_words(_method(protocol.name, text, role_agents, choice, problem_at), words, choice)
    refuse_all(fit_problems(method, problem_at))
    refuse_all(layout_problems(method, problem_at))
    prompts = {name: node.where(("steps", name, "prompt")) for name in method.steps}
    return ResolvedMethod(
        method,
        {name: choice.node.mark if _is_builtin(mark.file) else mark for name, mark in prompts.items()},
        tuple(count for count in agent_counts(method, text, problem_at) if not _is_builtin(count.mark.file)),
        words.defer,
    )


def _nested_settings(protocol: Protocol, choice: MethodChoice) -> Iterator[PlacedProblem]:
    """Yield the settings whose value is another setting."""
    for setting in settings_of(protocol, choice).values():
        if isinstance(setting.value, str) and setting.value.startswith("$"):
            what = f"{choice.label}: {shown(setting.value)} is not a value"
            remedy = "a setting takes its value, not another setting"
            yield setting.mark, Problem(str(setting.mark), what, remedy)


def _method(
    name: str,
    text: ProtocolText,
    role_agents: Mapping[str, tuple[Agent, ...]],
    choice: MethodChoice,
    problem_at: ProblemAt,
) -> Method:
    """Return the frozen method of a text whose settings have their values."""
    problems: list[PlacedProblem] = []
    schedule = _schedule(text.schedule)
    steps = {
        step: _step(step, text.steps[step], role_agents, choice, problem_at, problems)
        for step in text.steps
        if step in set(scheduled_steps(schedule))
    }
    counts = {step: len(own.variants) for step, own in steps.items() if own.variants}
    for step in [step for step, count in counts.items() if count != max(counts.values())][:1]:
        what = f"has {counts[step]} variants, and another step {max(counts.values())}: they are drawn together"
        problems.append(problem_at(("steps", step, "prompt"), what, "give each step as many"))
    refuse_all(problems)
    return core_value(
        Method,
        text,
        translated=("title", "source", "settings", "roles", "topologies"),
        protocol=name,
        role_agents=roles_in_use(role_agents, steps.values(), schedule),
        steps=MappingProxyType(steps),
        schedule=schedule,
        decide=replace(text.decide, otherwise=text.decide.otherwise or "none"),
    )


def _with_words(method: Method, words: MethodText, choice: MethodChoice) -> Method:
    """Return a method with the known sizes of its models, its placebo, and its sources of confidence."""
    sized = known_sizes(method)
    method = with_models(method, sized)
    choice = replace(choice, models={**choice.models, **sized})
    problems: list[Problem] = []
    for with_word in (with_placebo, with_confidence):
        try:
            method = with_word(method, words, choice)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return replace(method, debate_confidence=DebateConfidence(words.debate_confidence), charged=charged_prices(method))


def _unknown_keys(protocol: Protocol, choice: MethodChoice) -> Iterator[PlacedProblem]:
    """Yield settings, roles, and prompts that the protocol does not have."""

    def unknown(route: tuple[str, ...], what: str, known: Iterable[str], kind: str) -> PlacedProblem:
        mark = choice.node.key_mark(route)
        none = f"{protocol.name} has no {kind}s"
        remedy = key_remedy(kind, route[-1], choice.node.mapping()[route[0]].plain())
        remedy = remedy or nearest(route[-1], known, say=f"{kind}s of {protocol.name}") or none
        if kind == "setting" and route[-1] in SAMPLING:
            remedy = f"write it in the entry of a model, models: {{NAME: {{{route[-1]}: ...}}}}"
            remedy += f"; the axis of a grid is models.NAME.{route[-1]}"
        return mark, Problem(str(mark), f"{choice.label}: {what}", remedy)

    for key in choice.node.mapping():
        if key not in METHOD_WORDS and key not in protocol.settings:
            yield unknown((key,), f"{protocol.name} has no setting {key}", protocol.settings, "setting")
    for word, kind, known in (("roles", "role", protocol.text.roles), ("prompts", "step", protocol.text.steps)):
        written = choice.node.find((word,))
        for key in written.mapping() if written is not None else ():
            if key not in known:
                yield unknown((word, key), f"{protocol.name} has no {kind} {key}", known, kind)


def _overridden(protocol: Node, method: Node) -> Node:
    """Return the protocol with the method's own role bindings and prompts."""
    entries = protocol.mapping()
    keys = dict(protocol.keys)
    if roles := method.find(("roles",)):
        written = entries.get("roles") or Node({"debater": Node("everyone", protocol.mark)}, protocol.mark)
        merged = {**written.mapping(), **roles.mapping()}
        entries = {**entries, "roles": Node(merged, roles.mark, {**written.keys, **roles.keys})}
    if prompts := method.find(("prompts",)):
        steps = dict(entries["steps"].mapping())
        for name, prompt in prompts.mapping().items():
            step = steps[name]
            steps[name] = Node({**step.mapping(), "prompt": prompt}, step.mark, step.keys, step.size)
        entries = {**entries, "steps": Node(steps, entries["steps"].mark, entries["steps"].keys)}
    return Node(entries, protocol.mark, keys, protocol.size)


def _step(
    name: str,
    text: StepText,
    role_agents: Mapping[str, tuple[Agent, ...]],
    choice: MethodChoice,
    problem_at: ProblemAt,
    problems: list[PlacedProblem],
) -> Step:
    if text.model is not None and text.model not in choice.models:
        remedy = nearest(text.model, choice.models, say="models")
        problems.append(problem_at(("steps", name, "model"), f"there is no model {text.model}", remedy))
    agents = role_agents.get(text.role, ())
    ways = deal_templates(text.prompt, [agent.name for agent in agents], role_agents)
    tools, found = tools_by_agent(text.tools, agents, choice.tools)
    problems += [problem_at(("steps", name, "prompt", *below), what, remedy) for below, what, remedy in ways.problems]
    step = core_value(
        Step,
        text,
        translated=("knowledge",),
        name=name,
        prompt=ways.prompt,
        by_agent=MappingProxyType(ways.by_agent),
        by_role=MappingProxyType(ways.by_role),
        said=ways.said,
        variants=ways.variants,
        material=MappingProxyType(text.variables),
        each=text.kind,
        of=text.of,
        split=text.split,
        reads=text.reads[0],
        beside=text.reads[1:],
        model=choice.models.get(text.model or ""),
        tools=tools,
    )
    found += tool_problems(step, agents)
    problems += [problem_at(("steps", name, *below), what, remedy) for below, what, remedy in found]
    return step


def _schedule(items: Sequence[Any]) -> tuple[SchedulePart, ...]:
    schedule: list[SchedulePart] = []
    for item in items:
        match item:
            case LoopText():
                schedule.append(Repeat(item.times, _schedule(item.do), item.until, item.unless))
            case CaseText():
                schedule += _schedule(item.do[item.branch or OTHERWISE])
            case _:
                schedule.append(item)
    return tuple(schedule)
