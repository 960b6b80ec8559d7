"""Whether what a spec claims and matches is about arms that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cortexdsl.errors import Problem
from cortexdsl.spec.claims.checks import FEWEST
from cortexdsl.spec.claims.language import EVERY, NONE, OTHERS, Comparison, Simple, parse_point, parts_of
from cortexdsl.spec.load import Spec
from cortexdsl.spec.naming import value_name
from cortexdsl.spec.text.messages import dotted, nearest
from cortexdsl.spec.text.nodes import Route

Points = Mapping[str, tuple[str, Mapping[str, object]]]
"""Name of an arm -> its method and the axes of its point."""


def arm_called(points: Points, name: str) -> str | None:
    """Return the arm that a name means, however its values are spelled: `keep=top-3` or `keep={top: 3}`."""
    if name in points:
        return name
    method, axes = parse_point(name)
    wanted = {axis: _plain(value) for axis, value in axes.items()}
    for arm, (its_method, its_axes) in points.items():
        if its_method == method and {axis: _plain(value_name(value)) for axis, value in its_axes.items()} == wanted:
            return arm
    return None


def _plain(text: str) -> str:
    return re.sub(r"[\s{}\"']", "", text.replace(": ", "-"))


def no_arm(spec: Spec, route: Route, name: str, points: Points) -> Problem:
    """Return the problem of a name that no arm has."""
    method = name.partition("[")[0]
    here = [arm for arm, (its_method, _) in points.items() if its_method == method and "[" in name]
    return spec.problem(
        route, f"{dotted(route)}: there is no method or cell {name}", nearest(name, here or points, say="cells")
    )


def unclaimable(spec: Spec, points: Points) -> Iterator[Problem]:
    """Yield the claims that name a method, cell, axis, agent or dataset that there is not."""
    for i, claim in spec.claims:
        for part in parts_of(claim):
            yield from _unclaimable(spec, points, part, ("hypotheses", i))


def _unclaimable(spec: Spec, points: Points, claim: Simple, route: Route) -> Iterator[Problem]:
    if claim.dataset is not None and claim.dataset not in (EVERY, NONE, *spec.datasets):
        said = f"{dotted(route)}: there is no dataset {claim.dataset}"
        yield spec.problem(route, said, nearest(claim.dataset, spec.datasets, say="datasets"))
    if isinstance(claim, Comparison):
        for name in dict.fromkeys(quantity.name for quantity in claim.quantities if quantity.name != OTHERS):
            if arm_called(points, name) is None:
                yield no_arm(spec, route, name, points)
        yield from _too_few(spec, points, claim, route)
        return
    axes: dict[str, dict[str, None]] = {}
    for method, point in points.values():
        axes.setdefault(method, {}).update(dict.fromkeys(point))
    if claim.slice.method not in axes:
        yield no_arm(spec, route, claim.slice.method, points)
        return
    known = axes[claim.slice.method]
    for axis in (*claim.slice.free, *claim.slice.fixed):
        if axis not in known:
            said = f"{dotted(route)}: the grid of {claim.slice.method} has no axis {axis}"
            yield spec.problem(route, said, nearest(axis, known, say="axes") or "it has no grid")


def _too_few(spec: Spec, points: Points, claim: Comparison, route: Route) -> Iterator[Problem]:
    """Yield what a claim over teams, seeds or datasets has one of, or none."""
    methods = {parse_point(quantity.name)[0] for quantity in claim.quantities}
    for method in sorted(methods) if claim.over == "teams" else ():
        teams = {str(axes["team"]) for its, axes in points.values() if its == method and "team" in axes}
        if len(teams) < FEWEST:
            count = f"a grid over {len(teams)} teams" if teams else "no grid over teams"
            said = f"{dotted(route)}: over teams, and {method} has {count}"
            yield spec.problem(route, said, f"write grid: {{{method}: {{team: [one, other, third]}}}}")
    groups = {"seeds": (spec.text.replicates, "replicates"), "datasets": (len(spec.datasets), "datasets")}
    number, what = groups.get(claim.over or "", (FEWEST, ""))
    if number < FEWEST:
        said = f"{dotted(route)}: over {claim.over}, and there {'is one' if number == 1 else f'are {number}'}"
        yield spec.problem(route, said, f"give at least {FEWEST} {what}: what they differ by is not known from fewer")
