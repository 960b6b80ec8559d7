"""The methods that hand their unsure questions on (`defer:`), bound to the methods that answer them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from cortexdsl.core import Defer, Method
from cortexdsl.engine.methods import pool_sources
from cortexdsl.errors import Problem, SpecError
from cortexdsl.expressions.evaluation import parse
from cortexdsl.language.grammar.confidence import DeferText
from cortexdsl.language.methods.claimed import Points, cell_name, unknown_cell
from cortexdsl.language.nodes import Route
from cortexdsl.language.spec import Spec


def with_defers(
    spec: Spec,
    debates: Mapping[str, Method],
    rules: Mapping[str, DeferText],
    matched: Collection[str],
    points: Points,
) -> dict[str, Method]:
    """Return the methods of cells with the methods that answer their unsure questions.

    Parameters
    ----------
    spec : Spec
    debates : mapping of cell to Method
        Without any such rule.
    rules : mapping of cell to DeferText
        As written, of the cells that hand questions on.
    matched : collection of str
        Arms with a matched budget.
    points : mapping of cell to (method, point)

    Raises
    ------
    SpecError
        All problems of these rules.
    """
    targets = {name: cell_name(points, rule.to) for name, rule in rules.items()}
    problems = [
        problem for name in rules for problem in _problems(spec, name, debates, rules, targets, matched, points)
    ]
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))
    return {name: _bound(name, debates, rules, targets) for name in debates}


def _bound(
    name: str, debates: Mapping[str, Method], rules: Mapping[str, DeferText], targets: Mapping[str, str | None]
) -> Method:
    """Return the method of a cell; a chain of cells that hand questions on has an end, as `_problems` says."""
    target = targets.get(name)
    if target is None:
        return debates[name]
    rule = rules[name]
    bound = Defer(rule.below or 0.0, target, _bound(target, debates, rules, targets), rule.where or "")
    return replace(debates[name], defer=bound)


def _problems(
    spec: Spec,
    name: str,
    debates: Mapping[str, Method],
    rules: Mapping[str, DeferText],
    targets: Mapping[str, str | None],
    matched: Collection[str],
    points: Points,
) -> Iterator[Problem]:
    method = points[name][0]
    route: Route = ("methods", method, "defer", "to")
    called = f"methods.{name}.defer.to"
    target = targets[name]
    if (where := rules[name].where) and "dollars" in parse(where).names:
        what = f"methods.{name}.defer.where: dollars are for conditions and weights of a debate"
        yield spec.problem(("methods", method, "defer", "where"), what, "write tokens or calls")
    if target is None:
        yield unknown_cell(spec, route, rules[name].to, points)
        return
    if name in matched:
        what = f"{called}: {name} is matched to a budget, which does not hold if it hands questions on"
        yield spec.problem(route, what, "remove budget: or defer:")
        return
    chain = [name]
    while target is not None:
        if target in chain:
            way = " to ".join([*chain, target])
            yield spec.problem(route, f"{called}: questions are handed on in a circle: {way}", "name another method")
            return
        chain.append(target)
        if target in matched:
            what = f"{called}: {target} is matched to a budget, which depends on the debates of another cell"
            yield spec.problem(route, what, "name a method without budget:")
            return
        if target in targets and targets[target] is None:
            return  # the problem of that method
        target = targets.get(target)
    wordings = {cell: debates[cell].wordings for cell in chain}
    if len({count for count in wordings.values() if count}) > 1:
        differing = ", ".join(f"{cell} {count}" for cell, count in wordings.items() if count)
        what = f"{called}: the methods have different numbers of variants, which are drawn together: {differing}"
        yield spec.problem(route, what, "give each as many")
    pools = {cell: pool_sources(debates[cell]) for cell in chain}
    if len({pool for pool in pools.values() if pool}) > 1:
        differing = ", ".join(f"{cell} {'/'.join(pool)}" for cell, pool in pools.items() if pool)
        what = f"{called}: the methods are given different knowledge: {differing}"
        yield spec.problem(route, what, "give both the same pool:")
