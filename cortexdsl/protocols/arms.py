"""Spec -> arms: every method, and every point of its grid, resolved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.errors import Problem, SpecError
from cortexdsl.protocols.loader import Protocol, load_protocol
from cortexdsl.protocols.resolve import Choice, resolve, settings_of
from cortexdsl.spec.entries import ModelText
from cortexdsl.spec.load import Spec, model_of, team_of
from cortexdsl.spec.naming import point_name, point_slug, value_name
from cortexdsl.spec.nodes import Node, refuse
from cortexdsl.spec.problems import check, dotted, nearest
from cortexdsl.terms import Agent, Match, Method, Model

MOST_POINTS = 10_000
NESTED = ("roles", "prompts", "models")
"""The words of an axis that a name follows: `prompts.revise`, `models.small.temperature`."""


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
    """

    name: str
    slug: str
    method: str
    axes: Mapping[str, Any]
    settings: Mapping[str, Any]
    agents: tuple[Agent, ...]
    debate: Method
    match: Match | None


def arms(spec: Spec) -> tuple[Arm, ...]:
    """Resolve every method and grid point of a spec, methods in their order, each before its points.

    Raises
    ------
    SpecError
        Every problem of every arm at once: unknown protocols, settings, axes, values that do not fit.
    """
    problems: dict[tuple[str, str], Problem] = {}  # by place and remedy: one value may be wrong in many arms
    made: dict[str, Arm] = {}
    for method, node in spec.node.mapping()["methods"].mapping().items():
        try:
            protocol = _protocol(spec, node)
            points = [{}, *_points(spec, method, protocol)]
        except SpecError as error:
            problems = _by_place(error) | problems
            continue
        for axes in points:
            try:
                arm = _arm(spec, method, node, protocol, axes)
                made.setdefault(arm.name, arm)
            except SpecError as error:
                problems = _by_place(error) | problems
                if not axes:
                    break
    if problems:
        raise SpecError(tuple(problems.values()))
    return _distinct(made.values())


def _by_place(error: SpecError) -> dict[tuple[str, str], Problem]:
    return {(problem.where, problem.remedy): problem for problem in error.problems}


def protocols_of(spec: Spec) -> Mapping[str, Protocol]:
    """Return the protocol of every method of a spec."""
    return {name: _protocol(spec, node) for name, node in spec.node.mapping()["methods"].mapping().items()}


def _protocol(spec: Spec, method: Node) -> Protocol:
    written = method.mapping()["protocol"]
    inline = spec.node.find(("protocols",))
    return load_protocol(
        str(written.value),
        inline.mapping() if inline is not None else {},
        Path(written.mark.file).parent,
        written.mark,
    )


def _points(spec: Spec, method: str, protocol: Protocol) -> list[dict[str, Node]]:
    """Return the points of all grids of a method, after a look at their axes and their number."""
    points: list[dict[str, Node]] = []
    for grid in _grids(spec, method):
        axes = {axis: values.value for axis, values in grid.mapping().items()}
        problems = [problem for axis in axes if (problem := _unknown_axis(spec, grid, axis, protocol))]
        for values in axes.values():
            assert isinstance(values, list)
            names = [value_name(value.plain()) for value in values]
            twice = [i for i, name in enumerate(names) if name in names[:i]]
            problems += [
                Problem(str(values[i].mark), f"the axis holds {names[i]} twice", "list it once") for i in twice
            ]
        if problems:
            raise SpecError(problems)
        count = math.prod(len(values) for values in axes.values() if isinstance(values, list))
        if len(points) + count > MOST_POINTS:
            refuse(grid.mark, f"the grid of {method} has {count:,} points", f"at most {MOST_POINTS:,} are allowed")
        listed = [values for values in axes.values() if isinstance(values, list)]
        points += [dict(zip(axes, values, strict=True)) for values in product(*listed)]
    return points


def _grids(spec: Spec, method: str) -> Iterator[Node]:
    grid = spec.node.find(("grid",))
    if grid is None:
        return
    if isinstance(grid.value, dict):
        if method in grid.value:
            yield grid.value[method]
        return
    for item in grid.value if isinstance(grid.value, list) else ():
        if item.mapping()["method"].value == method:
            yield item.mapping()["vary"]


def _unknown_axis(spec: Spec, grid: Node, axis: str, protocol: Protocol) -> Problem | None:
    head, _, rest = axis.partition(".")
    mark = str(grid.key_mark((axis,)))
    if head in NESTED:
        name, _, key = rest.partition(".")
        steps, roles = tuple(protocol.text.steps), tuple(protocol.text.roles)
        known = {"roles": roles, "prompts": steps, "models": tuple(spec.models)}[head]
        if name not in known:
            return Problem(mark, f"the axis {axis}: nothing is called {name!r}", nearest(name, known))
        if head == "models" and key.partition(".")[0] not in ModelText.model_fields:
            return Problem(mark, f"the axis {axis}: a model has no {key!r}", nearest(key, ModelText.model_fields))
        return None
    if head in protocol.settings or (axis in ("team", "agents")):
        return None
    settings = f"settings of {protocol.name}"
    remedy = nearest(head, protocol.settings, say=settings) or f"{protocol.name} has no settings"
    others = "besides: team, agents, roles.ROLE, prompts.STEP, models.NAME.KEY"
    return Problem(mark, f"no setting knows the axis {axis}", f"{remedy}; {others}")


def _arm(spec: Spec, method: str, node: Node, protocol: Protocol, axes: Mapping[str, Node]) -> Arm:
    plain = {axis: value.plain() for axis, value in axes.items()}
    name = point_name(method, plain)
    chosen, entries = node, dict(spec.node.mapping()["models"].mapping())
    for axis, value in axes.items():
        head, *below = axis.split(".")
        if head == "models":
            entries[below[0]] = _set(entries[below[0]], below[1:], value, {})
        else:
            chosen = _set(chosen, [head, *below], value, protocol.settings)
    changed = {axis.split(".")[1] for axis in axes if axis.startswith("models.")}
    models = {key: _model(key, entries[key]) if key in changed else model for key, model in spec.models.items()}
    agents = {key: replace(agent, model=models[agent.model.name]) for key, agent in spec.agents.items()}
    team = _team(spec, chosen, agents, axes)
    choice = Choice(f"methods.{name}", chosen, team, agents, models)
    return Arm(
        name=name,
        slug=point_slug(method, plain),
        method=method,
        axes=MappingProxyType(plain),
        settings=MappingProxyType({key: value.plain() for key, value in settings_of(protocol, choice).items()}),
        agents=team,
        debate=resolve(protocol, choice),
        match=_match(chosen, protocol),
    )


def _set(node: Node, route: list[str], value: Node, defaults: Mapping[str, Node]) -> Node:
    """Return a mapping with a nested value set; what is no mapping on the way becomes one."""
    key, *below = route
    entries = node.mapping()
    if below:
        there = entries.get(key) or defaults.get(key)
        inner = there if there is not None and isinstance(there.value, dict) else Node({}, value.mark)
        value = _set(inner, below, value, {})
    return Node({**entries, key: value}, node.mark, {**node.keys, key: value.mark}, node.size + value.size)


def _model(name: str, node: Node) -> Model:
    return model_of(name, check(ModelText, node, lambda route: dotted(("models", name, *route))))


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
