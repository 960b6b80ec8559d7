"""The comparisons and claims of a spec, about arms that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from cortexdsl.errors import Problem, SpecError
from cortexdsl.protocols.arms import Arm
from cortexdsl.spec.claims import EVERY, Comparison, parse_point
from cortexdsl.spec.load import Spec
from cortexdsl.spec.naming import value_name
from cortexdsl.spec.nodes import Route
from cortexdsl.spec.problems import dotted, nearest
from cortexdsl.terms import Family


def find(arms: Sequence[Arm], name: str) -> Arm | None:
    """Return the arm that a name means, however its values are spelled: `keep=top-3` or `keep={top: 3}`."""
    method, axes = parse_point(name)
    wanted = {axis: _plain(value) for axis, value in axes.items()}
    for arm in arms:
        if arm.name == name:
            return arm
        if arm.method == method and {axis: _plain(value_name(value)) for axis, value in arm.axes.items()} == wanted:
            return arm
    return None


def _plain(text: str) -> str:
    return re.sub(r"[\s{}\"']", "", text.replace(": ", "-"))


def families(spec: Spec, arms: Sequence[Arm]) -> tuple[Family, ...]:
    """Return the families of comparisons, by the names of arms.

    `all` are all methods, `grid` all points of all grids, `grid.AXIS` those that the axis belongs to; the
    reference itself is left out of each.

    Raises
    ------
    SpecError
        A name is no method and no point of a grid, a family compares nothing, or no grid has the axis.
    """
    problems: list[Problem] = []
    made = []
    for name, text in spec.text.analysis.families.items():
        route: Route = ("analysis", "families", name)
        reference = find(arms, text.to)
        if reference is None:
            problems.append(_no_arm(spec, (*route, "to"), text.to, arms))
        if isinstance(text.compare, str):
            compared = list(_set_of(arms, text.compare))
            if not compared:
                axes = dict.fromkeys(f"grid.{axis}" for arm in arms for axis in arm.axes)
                what = f"{dotted((*route, 'compare'))}: {text.compare} holds no cell"
                problems.append(spec.problem((*route, "compare"), what, nearest(text.compare, ["all", *axes])))
        else:
            compared = []
            for i, cell in enumerate(text.compare):
                arm = find(arms, cell)
                if arm is None:
                    problems.append(_no_arm(spec, (*route, "compare", i), cell, arms))
                else:
                    compared.append(arm)
        names = tuple(dict.fromkeys(arm.name for arm in compared if arm != reference))
        if reference is not None:
            correction = text.correction or spec.text.analysis.correction
            made.append(Family(name, names, reference.name, correction))
    if problems:
        raise SpecError(problems)
    return tuple(made)


def check_claims(spec: Spec, arms: Sequence[Arm]) -> None:
    """See that every claim is about methods, axes and datasets that there are.

    Raises
    ------
    SpecError
    """
    problems: list[Problem] = []
    axes = {arm.method: {} for arm in arms}  # type: dict[str, dict[str, None]]
    for arm in arms:
        axes[arm.method] |= dict.fromkeys(arm.axes)
    for i, claim in enumerate(spec.hypotheses):
        route: Route = ("hypotheses", i)
        if claim.dataset not in (None, EVERY, *spec.datasets):
            what = f"{claim.text}: there is no dataset {claim.dataset}"
            problems.append(spec.problem(route, what, nearest(claim.dataset, spec.datasets, say="datasets")))
        if isinstance(claim, Comparison):
            for name in filter(None, (claim.name, claim.reference)):
                if find(arms, name) is None:
                    problems.append(_no_arm(spec, route, name, arms))
        elif claim.slice.method not in axes:
            problems.append(_no_arm(spec, route, claim.slice.method, arms))
        else:
            known = axes[claim.slice.method]
            for axis in (*claim.slice.free, *claim.slice.fixed):
                if axis not in known:
                    what = f"{claim.text}: the grid of {claim.slice.method} has no axis {axis}"
                    problems.append(spec.problem(route, what, nearest(axis, known, say="axes")))
    if problems:
        raise SpecError(problems)


def _set_of(arms: Sequence[Arm], word: str) -> Iterator[Arm]:
    axis = word.partition(".")[2]
    for arm in arms:
        if (word == "all" and not arm.axes) or (word != "all" and arm.axes and (not axis or axis in arm.axes)):
            yield arm


def _no_arm(spec: Spec, route: Route, name: str, arms: Sequence[Arm]) -> Problem:
    method = name.partition("[")[0]
    known: Mapping[str, None] = dict.fromkeys(arm.name for arm in arms)
    if "[" in name and any(arm.method == method for arm in arms):
        known = dict.fromkeys(arm.name for arm in arms if arm.method == method)
    return spec.problem(route, f"{dotted(route)}: there is no method or cell {name}", nearest(name, known, say="cells"))
