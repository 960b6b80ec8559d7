"""The uses of fitted functions (`learned(NAME)`) in the methods of a spec, and the methods that they are fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic_core import PydanticCustomError

from cortexdsl.claims.meaning import FEWEST
from cortexdsl.claims.values import Comparison, parts_of
from cortexdsl.core import Method, Nobody
from cortexdsl.engine.methods import (
    all_expressions,
    debating_agents,
    learned_of,
    opens_round,
    pool_sources,
    spoken_steps,
    stages_of,
)
from cortexdsl.errors import Problem, nearest
from cortexdsl.expressions.evaluation import parse, split_key
from cortexdsl.expressions.fitted import learned_in
from cortexdsl.expressions.names import NAMES, VARS, ExpressionPlace
from cortexdsl.language.grammar.expressions import PLACES, expression
from cortexdsl.language.grammar.learned import CATEGORIES, SHAPE_OF, LearnedText
from cortexdsl.language.methods.claimed import Points, cell_name, unknown_cell
from cortexdsl.language.nodes import Route, dotted
from cortexdsl.language.spec import Spec
from cortexdsl.numbers import counted


def learned_problems(
    spec: Spec, debates: Mapping[str, Method], points: Points, matched: frozenset[str]
) -> list[Problem]:
    """Return what is wrong with the fitted functions of a spec, and with their uses.

    Parameters
    ----------
    spec : Spec
    debates : mapping of cell to Method
        With the methods that their questions are handed on to.
    points : mapping of cell to (method, point)
    matched : set of str
        The cells with a matched budget.
    """
    problems = [
        problem
        for name, entry in spec.text.learned.items()
        for problem in _fitted_on(spec, name, entry, debates, points, matched)
    ]
    problems += _too_few_fits(spec, debates, points)
    for cell, method in debates.items():
        problems += _uses(spec, points[cell][0], method)
    return list(dict.fromkeys(problems))


def _fitted_on(
    spec: Spec, name: str, entry: LearnedText, debates: Mapping[str, Method], points: Points, matched: frozenset[str]
) -> Iterator[Problem]:
    """Yield why the debates of a method cannot be fitted on."""
    route: Route = ("learned", name, "method")
    called = f"learned.{name}.method"
    cell = cell_name(points, entry.method)
    if cell is None:
        yield unknown_cell(spec, route, entry.method, points)
        return
    method = debates[cell]
    if used := learned_of(method):
        itself = "itself" if name in used else ", ".join(used)
        what = f"{called}: {cell} uses a fitted function ({itself}), so that it cannot be debated before the fit"
        yield spec.problem(route, what, "name a method that uses none")
    if cell in matched:
        what = f"{called}: {cell} is matched to a budget, which depends on the debates of another cell"
        yield spec.problem(route, what, "name a method without budget:")
    spoken = [method.steps[step] for step in spoken_steps(method.schedule)]
    if entry.predicts == "helps" and not any(
        opens_round(method, s) and not isinstance(s.hears, Nobody) for s in spoken
    ):
        what = f"{called}: in {cell} nobody answers after hearing others, so that nobody helps"
        yield spec.problem(route, what, "name a method with rounds")
    if pool_sources(method):
        yield spec.problem(route, f"{called}: {cell} reads a pool of passages", "name a method without pool:")
    if entry.fits > 1 and spec.text.replicates != entry.fits:
        what = f"learned.{name}: {entry.fits} fits, one for each replicate, and replicates is {spec.text.replicates}"
        yield spec.problem(("learned", name, "fits"), what, f"write replicates: {entry.fits}")
    yield from _lacking_numbers(spec, name, entry, method, cell)


def _too_few_fits(spec: Spec, debates: Mapping[str, Method], points: Points) -> Iterator[Problem]:
    """Yield the claims over fits whose cells use fewer fits than show how much they differ."""
    for i, claim in enumerate(spec.hypotheses):
        for part in parts_of(claim):
            if not isinstance(part, Comparison) or part.over != "fits":
                continue
            cells = [cell for quantity in part.quantities if (cell := cell_name(points, quantity.name)) in debates]
            used = {name for cell in cells for name in learned_of(debates[str(cell)]) if name in spec.text.learned}
            of, remedy = "none of its cells uses one", "name a cell that uses learned(NAME), or leave out `over fits`"
            fewest, name = min(((spec.text.learned[name].fits, name) for name in used), default=(0, ""))
            if name:
                of = f"{name} is fitted {counted(fewest, 'time')}"
                remedy = f"write fits: {FEWEST} or more, and as many replicates: fewer do not show how much they differ"
            if cells and fewest < FEWEST:
                yield spec.problem(("hypotheses", i), f"{dotted(('hypotheses', i))}: over fits, and {of}", remedy)


def _lacking_numbers(spec: Spec, name: str, entry: LearnedText, method: Method, cell: str) -> Iterator[Problem]:
    """Yield the agents of a method that lack a number or a size which a feature is computed from."""
    for feature in entry.from_:
        keys = () if feature in CATEGORIES else sorted(parse(feature).keys)
        for which, numbers in map(split_key, keys):
            agents = [agent for stage in stages_of(method) for agent in debating_agents(stage)]
            lacking = [agent.name for agent in agents if which == VARS and numbers[0] not in agent.vars]
            sizes = [
                agent.model.name
                for agent in agents
                if which == "credibility" and None in (agent.model.parameters, agent.model.tokens)
            ]
            if lacking:
                what = f"learned.{name} uses vars({numbers[0]}), and {lacking[0]} of {cell} has no such number"
                yield spec.problem(("learned", name, "from"), what, "write vars: {...} in the entry of every agent")
            if sizes:
                what = f"learned.{name} uses credibility, and the size of model {sizes[0]} is not known"
                yield spec.problem(("learned", name, "from"), what, "write parameters: and tokens: in its entry")


def _uses(spec: Spec, name: str, method: Method) -> Iterator[Problem]:
    """Yield the uses of fitted functions that do not exist, or that have no value where they are used."""
    entries, route = spec.text.learned, ("methods", name)
    for place, text in all_expressions(method):
        used = learned_in(text)
        unknown = [each for each in used if each not in entries]
        for each in unknown:
            remedy = nearest(each, entries, say="fitted functions") or "write learned: {NAME: {...}}"
            yield spec.problem(route, f"methods.{name}: {text!r} uses learned({each}), which does not exist", remedy)
        if unknown or not used:
            continue
        if unknown_here := [*_unknown_here(spec, name, used, place, text)]:
            yield from unknown_here
            continue
        try:
            expression(place, {each: SHAPE_OF[entries[each].predicts] for each in used})(text)
        except PydanticCustomError as error:
            context = error.context or {}
            yield spec.problem(route, f"methods.{name}: {context['what']}", str(context["remedy"]))
    for each in learned_of(method):
        if each in entries:
            yield from _lacking_numbers(spec, each, entries[each], method, name)


def _unknown_here(spec: Spec, method: str, used: Sequence[str], place: ExpressionPlace, text: str) -> Iterator[Problem]:
    """Yield the features of fitted functions that have no value at a place where the functions are used."""
    known = {*NAMES[place]}
    for name in used:
        entry = spec.text.learned[name]
        needed = {
            each: feature
            for feature in entry.from_
            for each in ((VARS,) if feature in CATEGORIES else sorted(parse(feature).names))
        }
        for feature in dict.fromkeys(feature for each, feature in needed.items() if each not in known):
            what = f"methods.{method}: {text!r} uses learned({name}), whose {feature} has no value in {PLACES[place]}"
            can = [other for other in entry.from_ if other in known]
            remedy = f"fit it from others, such as {', '.join(can)}" if can else "use it in another place"
            yield spec.problem(("methods", method), what, remedy)
