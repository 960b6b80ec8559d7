"""A protocol with its settings and its agents: the frozen method that the engine interprets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from cortexdsl.debate.roles import spoken
from cortexdsl.errors import Problem, SpecError
from cortexdsl.protocols.method.cast import bind, played
from cortexdsl.protocols.method.confidence import with_confidence
from cortexdsl.protocols.method.counts import Count, counts
from cortexdsl.protocols.method.dealing import dealt
from cortexdsl.protocols.method.fit import misfits, unlaid
from cortexdsl.protocols.text import walks
from cortexdsl.protocols.text.loader import FOLDER, Protocol
from cortexdsl.protocols.text.soundness import Finder, unchosen
from cortexdsl.protocols.text.substitute import Substitution
from cortexdsl.spec.check.mending import mend, without
from cortexdsl.spec.check.problems import in_order, plainest
from cortexdsl.spec.check.stand_ins import of_protocol
from cortexdsl.spec.grammar.protocols.bins import bins
from cortexdsl.spec.grammar.protocols.hears import topology
from cortexdsl.spec.grammar.protocols.protocol import (
    BallotForm,
    LastForm,
    MajorityForm,
    ProtocolText,
    RoleAnswerForm,
    VoteText,
    WeightedForm,
)
from cortexdsl.spec.grammar.protocols.schedule import OTHERWISE, CaseText, ChooseText, LoopText
from cortexdsl.spec.grammar.protocols.steps import StepText
from cortexdsl.spec.grammar.sections.speakers import SAMPLING
from cortexdsl.spec.grammar.sheet import METHOD_WORDS
from cortexdsl.spec.grammar.values.counts import number
from cortexdsl.spec.text.messages import nearest, shown
from cortexdsl.spec.text.nodes import Found, Mark, Node, Route
from cortexdsl.terms import Agent, Decide, Item, Method, Model, Repeat, SitePlace, Step


@dataclass(frozen=True, slots=True)
class Choice:
    """What a method chooses of a protocol.

    Attributes
    ----------
    label : str
        What messages call it, such as `methods.sparse`.
    node : Node
        The method's entry: settings, `roles`, `prompts`, and the words of a method, with positions.
    team : tuple of Agent
    agents : mapping of name to Agent
        All agents of the spec, for roles that name some.
    models, tools : mapping of name to Model
    is_cast : bool
        False where it is not known who there is: what does not depend on that is judged, and nothing resolved.
    """

    label: str
    node: Node
    team: tuple[Agent, ...]
    agents: Mapping[str, Agent] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    tools: Mapping[str, Model] = field(default_factory=dict)
    is_cast: bool = True


@dataclass(frozen=True, slots=True)
class Resolved:
    """A method, and where its parts are written.

    Attributes
    ----------
    method : Method
    prompts : mapping of step to Mark
        Where its template is named.
    counts : tuple of Count
        How many agents it keeps, against how many there are.
    places : mapping of SitePlace to Mark
        Where its conditions, choices and steps are written, of those that are not in a built-in file.
    """

    method: Method
    prompts: Mapping[str, Mark]
    counts: tuple[Count, ...] = ()
    places: Mapping[SitePlace, Mark] = field(default_factory=dict)


def settings_of(protocol: Protocol, choice: Choice) -> dict[str, Node]:
    """Return every setting of a protocol at a choice: the default where nothing is chosen."""
    chosen = {key: node for key, node in choice.node.mapping().items() if key not in METHOD_WORDS}
    return {name: chosen.get(name, default) for name, default in protocol.settings.items()}


def resolve(protocol: Protocol, choice: Choice) -> Method:
    """Put settings and agents into a protocol.

    Parameters
    ----------
    protocol : Protocol
    choice : Choice

    Returns
    -------
    Method

    Raises
    ------
    SpecError
        Every problem, placed at the setting that causes it: an unknown setting, role or step, a value that is
        not allowed where the setting goes, too few agents, groups or ranks that do not fit their number, a
        weight that needs what a model entry does not say.
    """
    return resolve_placed(protocol, choice).method


def resolve_placed(protocol: Protocol, choice: Choice) -> Resolved:
    """Put settings and agents into a protocol, as `resolve` does, and say where its templates are named."""
    problems: list[Found] = []
    resolved = _resolved(protocol, choice, problems)
    if problems or resolved is None:
        raise SpecError([_at_home(problem, choice) for problem in in_order(problems)])
    home = choice.node.mark
    return replace(resolved, prompts={k: home if _is_ours(str(m)) else m for k, m in resolved.prompts.items()})


def _is_ours(where: str) -> bool:
    return where.startswith(str(FOLDER))


def _at_home(problem: Problem, choice: Choice) -> Problem:
    """Place at the method what is told of a built-in file: a default that does not go with the rest of the spec."""
    return replace(problem, where=str(choice.node.mark)) if _is_ours(problem.where) else problem


def _resolved(protocol: Protocol, choice: Choice, problems: list[Found]) -> Resolved | None:
    strange = list(_strange(protocol, choice))
    problems += [found for _, found in strange]
    for route, _ in strange:
        choice = replace(choice, node=without(choice.node, route, {}))
    settings = settings_of(protocol, choice)
    for name, setting in settings.items():
        if isinstance(setting.value, str) and setting.value.startswith("$"):
            said = f"{choice.label}: {shown(setting.value)} is no value"
            remedy = "a setting takes its value, not another setting"
            problems.append((setting.mark, Problem(str(setting.mark), said, remedy)))
            settings[name] = protocol.settings[name]
    substitution = Substitution(settings, choice.label)
    node = substitution.apply(_overridden(protocol.node, choice.node))
    if substitution.wrong:
        problems += [found for _, found in substitution.wrong]
        return None
    mended = mend(ProtocolText, node, of_protocol(protocol.node), substitution.called)
    problems += plainest(mended.problems)
    if mended.text is None:
        return None
    text, node = mended.text, mended.node

    def found(route: Route, what: str, remedy: str = "", *, key: bool = False) -> Found:
        mark = node.where(route)
        return mark, Problem(str(mark), f"{substitution.called(route)}: {what}", remedy)

    if cases := list(unchosen(text.schedule, found)):
        problems += cases
    if cases or not choice.is_cast:
        return None
    roles = node.find(("roles",)) or Node({}, node.mark)
    try:
        cast = bind(text.roles, roles, choice.team, choice.agents, choice.models, choice.tools, substitution)
    except SpecError as error:
        problems += [(roles.mark, problem) for problem in error.problems]
        return None
    schedule = _schedule(text.schedule)
    steps = {
        name: _step(name, text.steps[name], node.find(("steps", name)), cast, found, problems)
        for name in text.steps
        if name in set(spoken(schedule))
    }
    method = Method(
        protocol=protocol.name,
        cast=played(cast, steps.values(), schedule),
        steps=MappingProxyType(steps),
        schedule=schedule,
        decide=_decide(text),
        rounds_cap=None if text.ends is None else int(number(text.ends.rounds)),
        recalibration=bins(text.recalibration),
        participation=text.participation,  # type: ignore[arg-type]
        similarity=text.similarity,
        passes=text.passes,  # type: ignore[arg-type]
        debaters=text.debaters,
    )
    try:
        written = choice.node.find(("confidence",))
        method = with_confidence(method, written, choice.label, choice.models)
    except SpecError as error:
        problems += [(choice.node.where(("confidence",)), problem) for problem in error.problems]
    unfit = [*misfits(method, node, substitution.called)]
    # In place of a wrong `hears` nobody is heard, which lays out no graph.
    is_heard = not any(route[2:3] == ("hears",) for route in mended.doubtful.routes)
    problems += unfit or (unlaid(method, node, substitution.called) if is_heard else ())
    prompts = {name: node.where(("steps", name, "prompt")) for name in steps}
    ours = () if unfit or not is_heard else counts(method, text, node, substitution.called)
    places = {place: mark for place, mark in _places(text, node) if not _is_ours(mark.file)}
    return Resolved(method, prompts, tuple(each for each in ours if not _is_ours(each.mark.file)), places)


def _places(text: ProtocolText, node: Node) -> Iterator[tuple[SitePlace, Mark]]:
    """Yield where the conditions and choices of a schedule, and the words of its steps, are written."""
    for loop, route in walks.loops(text.schedule):
        (part,) = _schedule((loop,))
        yield ("until", part), node.where((*route, "until"))
        yield ("unless", part), node.where((*route, "unless"))
    for choice, route in walks.choices(text.schedule):
        yield ("choose", choice.term()), node.where(route)
    for name in text.steps:
        yield ("hears", name), node.where(("steps", name, "hears"))
        yield ("tells", name), node.where(("steps", name, "tells"))
        yield ("own", name), node.where(("steps", name, "own"))


def _strange(protocol: Protocol, choice: Choice) -> Iterator[tuple[Route, Found]]:
    """Yield settings, roles and prompts that the protocol does not have."""

    def found(route: tuple[str, ...], what: str, known: Iterable[str], kind: str) -> tuple[Route, Found]:
        mark = choice.node.key_mark(route)
        none = f"{protocol.name} has no {kind}s"
        remedy = nearest(route[-1], known, say=f"{kind}s of {protocol.name}") or none
        if kind == "setting" and route[-1] in SAMPLING:
            remedy = f"write it in the entry of a model, models: {{NAME: {{{route[-1]}: ...}}}}"
            remedy += f"; the axis of a grid is models.NAME.{route[-1]}"
        return route, (mark, Problem(str(mark), f"{choice.label}: {what}", remedy))

    for key in choice.node.mapping():
        if key not in METHOD_WORDS and key not in protocol.settings:
            yield found((key,), f"{protocol.name} has no setting {key}", protocol.settings, "setting")
    for word, kind, known in (("roles", "role", protocol.text.roles), ("prompts", "step", protocol.text.steps)):
        written = choice.node.find((word,))
        for key in written.mapping() if written is not None else ():
            if key not in known:
                yield found((word, key), f"{protocol.name} has no {kind} {key}", known, kind)


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
    node: Node | None,
    cast: Mapping[str, tuple[Agent, ...]],
    found: Finder,
    problems: list[Found],
) -> Step:
    material = node.find(("with",)) if node is not None else None
    ways = dealt(text.prompt, [agent.name for agent in cast.get(text.role, ())], cast)
    problems += [found(("steps", name, "prompt", *below), what, remedy) for below, what, remedy in ways.wrong]
    return Step(
        name=name,
        role=text.role,
        prompt=ways.prompt,
        by_agent=MappingProxyType(ways.by_agent),
        by_role=MappingProxyType(ways.by_role),
        said=ways.said,
        hears=topology(text.hears),
        tells=tuple(told if isinstance(told, str) else told.term() for told in text.tells),  # type: ignore[misc]
        own=text.own if isinstance(text.own, str) else text.own.term(),  # type: ignore[arg-type]
        material=MappingProxyType(material.plain() if material is not None else {}),
        order=text.order,  # type: ignore[arg-type]
        each=text.kind,
        of=text.of,
        draws=int(number(text.draws)),
        reads=text.reads[0],
        beside=text.reads[1:],  # type: ignore[arg-type]
    )


def _schedule(items: Sequence[Any]) -> tuple[Item, ...]:
    schedule: list[Item] = []
    for item in items:
        match item:
            case LoopText():
                schedule.append(Repeat(int(number(item.repeat)), _schedule(item.do), item.until, item.unless))
            case ChooseText():
                schedule.append(item.term())
            case CaseText():
                schedule += _schedule(item.do[item.branch or OTHERWISE])
            case _:
                schedule.append(str(item))
    return tuple(schedule)


def _decide(text: ProtocolText) -> Decide:
    match text.decide:
        case LastForm(last=role, otherwise=otherwise) | RoleAnswerForm(role=role, otherwise=otherwise):
            if otherwise in (None, "none"):
                return Decide("last", role)
            return Decide("last", role, fallback=text.fallback, otherwise=otherwise)  # type: ignore[arg-type]
        case MajorityForm(majority=vote):
            return Decide("majority", fallback=_fallback(vote, text))
        case BallotForm(vote=weight):
            return Decide("vote", fallback=_fallback(text.decide, text), weight=weight)
        case WeightedForm(weighted=vote):
            return Decide("weighted", fallback=_fallback(vote, text))
        case rule:
            return Decide(rule, fallback=text.fallback)  # type: ignore[arg-type]


def _fallback(vote: VoteText, text: ProtocolText) -> Any:
    return vote.fallback if "fallback" in vote.model_fields_set else text.fallback
