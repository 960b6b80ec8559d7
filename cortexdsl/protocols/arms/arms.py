"""Spec -> arms: every method, and every point of its grid, resolved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.errors import InputError, Problem, SpecError
from cortexdsl.protocols.arms.claimed import arm_called, no_arm, unclaimable
from cortexdsl.protocols.arms.grid import grid_points, put
from cortexdsl.protocols.arms.learned import Varied, as_trained, varied
from cortexdsl.protocols.method.counts import Count, excessive
from cortexdsl.protocols.method.resolve import Choice, resolve_placed, settings_of
from cortexdsl.protocols.text.loader import Protocol, load_protocol, protocol_of
from cortexdsl.spec.check.mending import Doubtful
from cortexdsl.spec.check.problems import check
from cortexdsl.spec.grammar.sections.speakers import ModelText
from cortexdsl.spec.load import Spec, model_of, team_of
from cortexdsl.spec.naming import point_name, point_slug
from cortexdsl.spec.text.messages import dotted, nearest
from cortexdsl.spec.text.nodes import Mark, Node, refuse
from cortexdsl.terms import FREE, Agent, Match, Method, Model, SitePlace


@dataclass(frozen=True, slots=True)
class Arm:
    """A method at one point of its grid; two arms whose `debate`s are equal are one cell with two names.

    Attributes
    ----------
    name, slug : str
        `sparse[keep=median]`, and the same as a file name.
    method : str
    axes : mapping
        Empty for the method itself.
    settings : mapping
        All settings of the protocol here, defaults included.
    agents : tuple of Agent
        The team.
    debate : Method
    match : Match or None
    prompts : mapping of step to Mark
        Where its template is named.
    counts : tuple of Count
        How many agents it keeps, against who is there.
    places : mapping of SitePlace to Mark
        Where its conditions, choices and steps are written.
    trainings : mapping of name to Varied
        Entries of `train` that its grid point changes.
    """

    name: str
    slug: str
    method: str
    axes: Mapping[str, Any]
    settings: Mapping[str, Any]
    agents: tuple[Agent, ...]
    debate: Method
    match: Match | None
    prompts: Mapping[str, Mark]
    counts: tuple[Count, ...] = field(default=(), compare=False, repr=False)
    trainings: Mapping[str, Varied] = field(default_factory=dict)
    places: Mapping[SitePlace, Mark] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Judged:
    """The arms that can be resolved, everything that is wrong with the others, and whose names are in doubt thereby."""

    arms: tuple[Arm, ...]
    problems: tuple[Problem, ...]
    doubtful: Doubtful


def arms(spec: Spec) -> tuple[Arm, ...]:
    """Resolve every method and grid point of a spec, methods in their order, each before its points.

    Raises
    ------
    SpecError
        Every problem of every arm at once: unknown protocols, settings, axes, values that do not fit.
    """
    judged = judge_arms(spec)
    if judged.problems:
        raise SpecError(judged.problems)
    return judged.arms


def judge_arms(spec: Spec, completed: Callable[[Model], Model] = lambda model: model) -> Judged:
    """Resolve the arms of a spec that may hold mistakes, as far as they can be resolved.

    Parameters
    ----------
    spec : Spec
    completed : callable
        Adds to a model that a grid changes what its entry leaves unsaid, as was done with those of the spec: a grid
        point reads the entry anew. An InputError of it is a mistake of the spec.
    """
    problems: dict[tuple[str, str], Problem] = {}  # by place and remedy: one value may be wrong in many arms
    made: dict[str, Arm] = {}
    failed: set[str] = set()
    for name, inline in _inline(spec).items():
        try:
            protocol_of(name, inline, ("protocols", name))
        except SpecError as error:
            problems = _by_place(error) | problems
    for method, node in spec.node.mapping()["methods"].mapping().items():
        if "protocol" not in node.mapping() or ("methods", method) in spec.doubtful.routes:
            failed.add(method)
            continue
        points: list[dict[str, Node]] = [{}]
        try:
            protocol = _protocol(spec, node)
        except SpecError as error:
            problems, failed = _by_place(error) | problems, failed | {method}
            continue
        try:
            points += grid_points(spec, method, protocol)
        except SpecError as error:
            problems, failed = _by_place(error) | problems, failed | {method}
        for axes in points:
            try:
                arm = _arm(spec, method, node, protocol, axes, completed)
                made.setdefault(arm.name, arm)
            except SpecError as error:
                problems, failed = _by_place(error) | problems, failed | {method}
                if not axes:
                    break
    doubtful = spec.doubtful.with_(*(("methods", method) for method in failed))
    large = excessive(count for arm in made.values() for count in arm.counts)
    found, more = _matched(spec, made, doubtful)
    lost = {arm.method for arm in made.values()} - {arm.method for arm in found}
    return Judged(
        _distinct(found), (*problems.values(), *large, *more), doubtful.with_(*(("methods", method) for method in lost))
    )


def _matched(spec: Spec, made: Mapping[str, Arm], doubtful: Doubtful) -> tuple[list[Arm], list[Problem]]:
    """Check what claims and matches name, and call a matched cell by its one name; one without it is left out."""
    points = {name: (arm.method, arm.axes) for name, arm in made.items()}
    problems = [problem for problem in unclaimable(spec, points) if not _leans(spec, problem, doubtful)]
    matched = []
    for arm in made.values():
        problems += _without_source(spec, arm)
        target = arm_called(points, arm.match.cell) if arm.match else None
        if arm.match and target is None:
            if not arm.axes and not doubtful.has("methods", arm.match.cell.partition("[")[0]):
                route = ("methods", arm.method, "match", arm.match.unit)
                problems.append(no_arm(spec, route, arm.match.cell, points))
            continue
        matched.append(replace(arm, match=Match(arm.match.unit, target)) if arm.match and target else arm)
    return matched, list(dict.fromkeys(problems))


def _leans(spec: Spec, problem: Problem, doubtful: Doubtful) -> bool:
    """Tell whether the claim that a problem is about names a method, or a dataset, that is itself in doubt."""
    claims = [line for i, line in enumerate(spec.text.hypotheses) if spec.where(("hypotheses", i)) == problem.where]
    words = {word for line in claims for word in re.findall(r"[\w+.\-]+", line)}
    wrong = {route[1] for route in doubtful.routes if route[0] in ("methods", "grid", "datasets") and len(route) > 1}
    whole = any(len(route) == 1 and route[0] in ("methods", "grid", "datasets") for route in doubtful.routes)
    return bool(claims) and (whole or bool(words & wrong))


def _without_source(spec: Spec, arm: Arm) -> list[Problem]:
    """Return the pools of an arm that no knowledge entry fills."""
    route = ("methods", arm.method, "pool")
    pools = {name: None for step in arm.debate.steps.values() for name in step.material.get("pool", ())}
    known = spec.text.knowledge
    return [
        spec.problem(
            route, f"{dotted(route)}: there is no knowledge entry {name}", nearest(name, known, say="knowledge")
        )
        for name in pools
        if name not in known and not spec.doubtful.has("knowledge", name)
    ]


def _by_place(error: SpecError) -> dict[tuple[str, str], Problem]:
    return {(problem.where, problem.remedy): problem for problem in error.problems}


def _protocol(spec: Spec, method: Node) -> Protocol:
    written = method.mapping()["protocol"]
    return load_protocol(str(written.value), _inline(spec), Path(written.mark.file).parent, written.mark)


def _inline(spec: Spec) -> Mapping[str, Node]:
    written = spec.node.find(("protocols",))
    return written.mapping() if written is not None else {}


def _arm(
    spec: Spec,
    method: str,
    node: Node,
    protocol: Protocol,
    axes: Mapping[str, Node],
    completed: Callable[[Model], Model],
) -> Arm:
    plain = {axis: value.plain() for axis, value in axes.items()}
    name = point_name(method, plain)
    chosen, entries = node, dict(spec.node.mapping()["models"].mapping())
    for axis, value in axes.items():
        head, *below = axis.split(".")
        if head == "models":
            entries[below[0]] = put(entries[below[0]], below[1:], value, {})
        elif head != "train":
            chosen = put(chosen, [head, *below], value, protocol.settings)
    changed = {axis.split(".")[1] for axis in axes if axis.startswith("models.")}
    models = {
        key: _model(key, entries[key], completed) if key in changed else model for key, model in spec.models.items()
    }
    trainings = varied(spec, axes)
    models = {key: as_trained(model, trainings) for key, model in models.items()}
    agents = {key: replace(agent, model=models[agent.model.name]) for key, agent in spec.agents.items()}
    team = _team(spec, chosen, agents, axes)
    choice = Choice(
        f"methods.{name}", chosen, team, agents, models, _tools(spec), ("agents",) not in spec.doubtful.routes
    )
    resolved = resolve_placed(protocol, choice)
    return Arm(
        name=name,
        slug=point_slug(method, plain),
        method=method,
        axes=MappingProxyType(plain),
        settings=MappingProxyType({key: value.plain() for key, value in settings_of(protocol, choice).items()}),
        agents=team,
        debate=resolved.method,
        match=_match(chosen, protocol),
        prompts=resolved.prompts,
        counts=resolved.counts,
        places=resolved.places,
        trainings=MappingProxyType({each.name: each for each in trainings.values()}),
    )


def _tools(spec: Spec) -> Mapping[str, Model]:
    """Return the tools of a spec, and in place of those that are wrong what can be judged."""
    wrong = {str(route[1]) for route in spec.doubtful.routes if route[0] == "tools" and len(route) > 1}
    return {**{name: Model(name, "tool/calculator", price=FREE) for name in wrong}, **spec.tools}


def _model(name: str, node: Node, completed: Callable[[Model], Model]) -> Model:
    model = model_of(name, check(ModelText, node, lambda route: dotted(("models", name, *route))))
    try:
        return completed(model)
    except InputError as error:
        what, _, remedy = str(error).partition("\n")
        refuse(node.where(("model",)), what, remedy.strip())


def _team(spec: Spec, method: Node, agents: Mapping[str, Agent], axes: Mapping[str, Node]) -> tuple[Agent, ...]:
    entries = method.mapping()
    word = "agents" if "agents" in axes else "team" if "team" in axes else "agents" if "agents" in entries else "team"
    written = entries.get(word)
    if written is None or written.value == "everyone":
        return tuple(agents.values())
    if word == "team":
        team = str(written.value)
        if team not in spec.teams:
            refuse(written.mark, f"there is no team {team}", nearest(team, [*spec.teams, "everyone"], say="teams"))
        names = spec.text.teams[team]
        return team_of(tuple(agents) if isinstance(names, str) else names, agents)
    items = written.value if isinstance(written.value, list) else [written]
    for item in items:
        if item.value not in agents:
            refuse(item.mark, f"there is no agent {item.plain()}", nearest(item.plain(), agents, say="agents"))
    if not items:
        refuse(written.mark, "no agent is named", "name at least one")
    return team_of(tuple(str(item.value) for item in items), agents)


def _match(method: Node, protocol: Protocol) -> Match | None:
    written = method.mapping().get("match")
    if written is None:
        return None
    if "samples" not in protocol.settings:
        refuse(
            written.mark, f"match chooses `samples`, and {protocol.name} has no such setting", "use self-consistency"
        )
    ((unit, cell),) = written.plain().items()
    return Match(unit, cell)


def _distinct(made: Iterable[Arm]) -> tuple[Arm, ...]:
    """Number slugs that differ in case alone: some file systems do not tell them apart."""
    met: dict[str, int] = {}
    distinct = []
    for arm in made:
        key = arm.slug.casefold()
        met[key] = met.get(key, 0) + 1
        distinct.append(arm if met[key] == 1 else replace(arm, slug=f"{arm.slug}~{met[key]}"))
    return tuple(distinct)
