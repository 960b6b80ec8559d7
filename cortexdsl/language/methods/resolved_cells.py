"""The cells of a spec: every method at every point of its grid, with the cell whose budget it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.core import Agent, GrowthStep, Match, Method, Model
from cortexdsl.engine.methods import pool_sources
from cortexdsl.errors import InputError, Problem, SpecError, nearest
from cortexdsl.language.cross_references import unknown_team
from cortexdsl.language.grammar.confidence import DeferText
from cortexdsl.language.grammar.speakers import ModelText
from cortexdsl.language.methods.claimed import Points, cell_name, claim_problems, unknown_cell
from cortexdsl.language.methods.deferral import with_defers
from cortexdsl.language.methods.fit import AgentCount, excessive_counts
from cortexdsl.language.methods.grid import (
    VariedTraining,
    as_trained,
    grid_points,
    point_name,
    point_slug,
    put,
    varied_trainings,
)
from cortexdsl.language.methods.learned import learned_problems
from cortexdsl.language.methods.matches import growing_steps, match_of
from cortexdsl.language.methods.resolve import resolve, resolve_placed, settings_of
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.nodes import Mark, Node, dotted, refuse, refuse_all
from cortexdsl.language.problems import validate
from cortexdsl.language.protocol.loader import Protocol, load_protocol, protocol_of
from cortexdsl.language.spec import Spec, team_members, team_of


@dataclass(frozen=True, slots=True)
class ResolvedCell:
    """A method at one point of its grid, before cells with equal digests are merged.

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
        Position of the template's name.
    counts : tuple of AgentCount
        Numbers of agents that it keeps, against how many there are.
    trainings : mapping of name to VariedTraining
        Entries of `train` that its grid point changes.
    steps : tuple of GrowthStep
        If it is matched by a setting that grows: its method at each value.
    defer : DeferText or None
        As written: whether it hands questions on. `debate.defer` has the method that answers them.
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
    counts: tuple[AgentCount, ...] = field(default=(), compare=False, repr=False)
    trainings: Mapping[str, VariedTraining] = field(default_factory=dict)
    steps: tuple[GrowthStep, ...] = ()
    defer: DeferText | None = None


def resolve_cells(spec: Spec, completed: Callable[[Model], Model] = lambda model: model) -> tuple[ResolvedCell, ...]:
    """Resolve every method and grid point of a spec: methods in their order, each before its points.

    Parameters
    ----------
    spec : Spec
    completed : callable
        Adds facts that the entry of a model does not have. It is applied to the models that a grid point changes, whose
        entries are read again. An InputError of it is a problem of the spec.

    Raises
    ------
    SpecError
        The problems of all cells: unknown protocols, settings, axes, values that do not fit. If there are none: the
        problems between cells.
    """
    report = _Report()
    for name, inline in _inline(spec).items():
        with report.problems_of():
            protocol_of(name, inline, ("protocols", name))
    resolved: dict[str, ResolvedCell] = {}
    for method, node in spec.node.mapping()["methods"].mapping().items():
        for cell in _method_arms(spec, method, node, completed, report):
            resolved.setdefault(cell.name, cell)
    report.refuse()
    points = {name: (cell.method, cell.axes) for name, cell in resolved.items()}
    problems = excessive_counts(count for cell in resolved.values() for count in cell.counts)
    for cell in resolved.values():
        problems += _without_source(spec, cell)
    debates = {name: cell.debate for name, cell in resolved.items()}
    rules = {name: cell.defer for name, cell in resolved.items() if cell.defer is not None}
    budgeted = {name for name, cell in resolved.items() if cell.match is not None}
    with report.problems_of():
        debates = with_defers(spec, debates, rules, budgeted, points)
        problems += learned_problems(spec, debates, points, frozenset(budgeted))
    problems += claim_problems(spec, points, {name: debate.wordings for name, debate in debates.items()})
    matched = list(_matched(spec, resolved.values(), points, problems))
    report.refuse(problems)
    return _distinct(replace(cell, debate=debates[cell.name]) for cell in matched)


class _Report:
    """Problems by place and remedy: one value may be invalid in many cells."""

    def __init__(self) -> None:
        self.problems: dict[tuple[str, str], Problem] = {}

    @contextmanager
    def problems_of(self) -> Iterator[None]:
        """Add the problems of what is done within."""
        try:
            yield
        except SpecError as error:
            self.problems = {(problem.where, problem.remedy): problem for problem in error.problems} | self.problems

    def refuse(self, more: Iterable[Problem] = ()) -> None:
        """Raise all problems, if there are any."""
        if problems := [*self.problems.values(), *dict.fromkeys(more)]:
            raise SpecError(problems)


def _method_arms(
    spec: Spec, method: str, node: Node, completed: Callable[[Model], Model], report: _Report
) -> Iterator[ResolvedCell]:
    """Yield the cells of a method that can be resolved. A problem of the method itself is one of all its points."""
    with report.problems_of():
        protocol = _protocol(spec, node)
        points: list[dict[str, Node]] = []
        with report.problems_of():
            points = grid_points(spec, method, protocol)
        yield _arm(spec, method, node, protocol, {}, completed)
        for point in points:
            with report.problems_of():
                yield _arm(spec, method, node, protocol, point, completed)


def _matched(
    spec: Spec, resolved: Iterable[ResolvedCell], points: Points, problems: list[Problem]
) -> Iterator[ResolvedCell]:
    """Yield the cells with the names of the cells whose budgets they have, and add the problems of the others."""
    for cell in resolved:
        if cell.match is None:
            yield cell
        elif target := cell_name(points, cell.match.cell):
            yield replace(cell, match=replace(cell.match, cell=target))
        else:
            problems.append(unknown_cell(spec, ("methods", cell.method, "budget"), cell.match.cell, points))


def _without_source(spec: Spec, cell: ResolvedCell) -> Iterator[Problem]:
    """Yield the pools of a cell without a knowledge entry."""
    route = ("methods", cell.method, "pool")
    for name in pool_sources(cell.debate):
        if name not in spec.text.knowledge:
            what = f"{dotted(route)}: there is no knowledge entry {name}"
            yield spec.problem(route, what, nearest(name, spec.text.knowledge, say="knowledge"))


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
) -> ResolvedCell:
    plain = {axis: value.plain() for axis, value in axes.items()}
    choice, trainings = _choice(spec, method, node, protocol, axes, completed)
    steps: tuple[GrowthStep, ...] = ()
    match = match_of(spec, protocol, choice)
    if match is not None:

        def resolve_at(further: Mapping[str, Node]) -> Method:
            return resolve(protocol, _choice(spec, method, node, protocol, {**axes, **further}, completed)[0])

        steps = growing_steps(match, choice.node, resolve_at)
    resolved = resolve_placed(protocol, choice)
    return ResolvedCell(
        name=point_name(method, plain),
        slug=point_slug(method, plain),
        method=method,
        axes=MappingProxyType(plain),
        settings=MappingProxyType({key: value.plain() for key, value in settings_of(protocol, choice).items()}),
        agents=choice.team,
        debate=steps[-1].method if steps else resolved.method,
        match=match,
        prompts=resolved.prompts,
        counts=resolved.counts,
        trainings=MappingProxyType({each.name: each for each in trainings.values()}),
        steps=steps,
        defer=resolved.defer,
    )


def _choice(
    spec: Spec,
    method: str,
    node: Node,
    protocol: Protocol,
    axes: Mapping[str, Node],
    completed: Callable[[Model], Model],
) -> tuple[MethodChoice, Mapping[str, VariedTraining]]:
    """Return what a method chooses at a point of its grid, and the trainings that the point changes."""
    name = point_name(method, {axis: value.plain() for axis, value in axes.items()})
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
    trainings = varied_trainings(spec, axes)
    models = {key: as_trained(model, trainings) for key, model in models.items()}
    agents = {key: replace(agent, model=models[agent.model.name]) for key, agent in spec.agents.items()}
    team = _team(spec, chosen, agents)
    return MethodChoice(f"methods.{name}", chosen, team, agents, models, spec.tools), trainings


def _model(name: str, node: Node, completed: Callable[[Model], Model]) -> Model:
    model = validate(ModelText, node, lambda route: dotted(("models", name, *route))).as_model(name)
    try:
        return completed(model)
    except InputError as error:
        what, _, remedy = str(error).partition("\n")
        refuse(node.where(("model",)), what, remedy.strip())


def _team(spec: Spec, method: Node, agents: Mapping[str, Agent]) -> tuple[Agent, ...]:
    written = method.mapping().get("agents")
    if written is None or written.value == "everyone":
        return tuple(agents.values())
    if isinstance(written.value, str):
        refuse_all(unknown_team(written.mark, "agents", written.value, [*spec.teams, "everyone"], agents))
        return team_of(team_members(spec.text.teams[written.value], agents), agents)
    items = written.value if isinstance(written.value, list) else [written]
    for item in items:
        if item.value not in agents:
            refuse(item.mark, f"there is no agent {item.plain()}", nearest(item.plain(), agents, say="agents"))
    if not items:
        refuse(written.mark, "no agent is named", "name at least one")
    return team_of(tuple(str(item.value) for item in items), agents)


def _distinct(resolved: Iterable[ResolvedCell]) -> tuple[ResolvedCell, ...]:
    """Number slugs that differ in case alone, which are one file on some systems."""
    times: dict[str, int] = {}
    distinct = []
    for cell in resolved:
        key = cell.slug.casefold()
        times[key] = times.get(key, 0) + 1
        distinct.append(cell if times[key] == 1 else replace(cell, slug=f"{cell.slug}~{times[key]}"))
    return tuple(distinct)
