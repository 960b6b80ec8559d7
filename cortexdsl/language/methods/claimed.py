"""The names of cells in claims and matches, and the claims that name a cell, axis or dataset that does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cortexdsl.claims.cells import value_text
from cortexdsl.claims.meaning import FEWEST
from cortexdsl.claims.parser import parse_point
from cortexdsl.claims.values import (
    EVERY,
    OTHERS,
    Comparison,
    Front,
    Simple,
    parts_of,
)
from cortexdsl.errors import Problem, nearest
from cortexdsl.language.methods.grid import value_name
from cortexdsl.language.nodes import Route, dotted
from cortexdsl.language.spec import Spec

Points = Mapping[str, tuple[str, Mapping[str, object]]]
"""Name of a cell -> its method and its point of the grid."""
MOST_MEANT = 3
"""The most cells that an answer to an incomplete name lists."""


def cell_name(points: Points, name: str) -> str | None:
    """Return the cell that a name means; values may be written as `keep=top-3` or `keep={top: 3}`."""
    if name in points:
        return name
    method, axes = parse_point(name)
    wanted = {axis: value_text(value) for axis, value in axes.items()}
    for cell, (its_method, its_axes) in points.items():
        if its_method == method and {a: value_text(value_name(value)) for a, value in its_axes.items()} == wanted:
            return cell
    return None


def unknown_cell(spec: Spec, route: Route, name: str, points: Points) -> Problem:
    """Return the problem of a name that is not a cell's."""
    method, axes = parse_point(name)
    here = {cell: point for cell, (its_method, point) in points.items() if its_method == method and "[" in name}
    meant = [cell for cell, point in here.items() if _may_mean(axes, point)]
    remedy = f"write {' or '.join(meant[:MOST_MEANT])}" if meant else nearest(name, here or points, say="cells")
    return spec.problem(route, f"{dotted(route)}: there is no method or cell {name}", remedy)


def _may_mean(written: Mapping[str, str], point: Mapping[str, object]) -> bool:
    """Return whether a cell has the written values; each may be the first word of its own: `ring` of `ring-1`."""
    here = {axis: value_text(value_name(value)) for axis, value in point.items()}
    return bool(written) and all(
        f"{here.get(axis, '')}-".startswith(f"{value_text(v)}-") for axis, v in written.items()
    )


def claim_problems(spec: Spec, points: Points, wordings: Mapping[str, int]) -> Iterator[Problem]:
    """Yield the claims about unknown methods, cells, axes, or datasets."""
    for i, claim in enumerate(spec.hypotheses):
        for part in parts_of(claim):
            yield from _unclaimable(spec, points, part, ("hypotheses", i))
            if part.over == "prompts" and isinstance(part, Comparison):
                yield from _too_few_wordings(spec, points, wordings, part, ("hypotheses", i))


def _unclaimable(spec: Spec, points: Points, claim: Simple, route: Route) -> Iterator[Problem]:
    if claim.dataset is not None and claim.dataset not in (EVERY, *spec.datasets):
        what = f"{dotted(route)}: there is no dataset {claim.dataset}"
        yield spec.problem(route, what, nearest(claim.dataset, spec.datasets, say="datasets"))
    if isinstance(claim, Comparison):
        for name in dict.fromkeys(quantity.name for quantity in claim.quantities if quantity.name != OTHERS):
            if cell_name(points, name) is None:
                yield unknown_cell(spec, route, name, points)
        yield from _too_few(spec, points, claim, route)
        return
    if isinstance(claim, Front):
        if cell_name(points, claim.name) is None:
            yield unknown_cell(spec, route, claim.name, points)
        return
    axes: dict[str, dict[str, None]] = {}
    for method, point in points.values():
        axes.setdefault(method, {}).update(dict.fromkeys(point))
    if claim.slice.method not in axes:
        yield unknown_cell(spec, route, claim.slice.method, points)
        return
    known = axes[claim.slice.method]
    for axis in (*claim.slice.free, *claim.slice.fixed):
        if axis not in known:
            what = f"{dotted(route)}: the grid of {claim.slice.method} has no axis {axis}"
            yield spec.problem(route, what, nearest(axis, known, say="axes") or "it has no grid")


def _too_few_wordings(
    spec: Spec, points: Points, wordings: Mapping[str, int], claim: Comparison, route: Route
) -> Iterator[Problem]:
    """Yield a claim over too few prompts; `wordings` has the number of each cell, 0 for prompts of one wording."""
    cells = [cell for quantity in claim.quantities if (cell := cell_name(points, quantity.name)) is not None]
    counts = {wordings[cell] for cell in cells if wordings.get(cell)}
    if not cells:  # a problem of its own
        return
    where, remedy = f"{dotted(route)}: over prompts", "write prompts: {STEP: {variants: [one.j2, other.j2, third.j2]}}"
    if not counts:
        yield spec.problem(route, f"{where}, and no prompt of {' or '.join(cells)} has variants", remedy)
    elif len(counts) > 1:
        yield spec.problem(
            route, f"{where}, and its methods have {' and '.join(map(str, sorted(counts)))} variants",
            "give each method as many, or one wording alone: they are drawn together",
        )  # fmt: skip
    elif (used := min(*counts, spec.text.replicates)) < FEWEST:
        yield spec.problem(
            route, f"{where}, and {used} of them {'is' if used == 1 else 'are'} used: each replicate draws one",
            f"give at least {FEWEST} variants and {FEWEST} replicates: fewer do not show how much they differ",
        )  # fmt: skip


def _too_few(spec: Spec, points: Points, claim: Comparison, route: Route) -> Iterator[Problem]:
    """Yield claims over too few teams, seeds or datasets."""
    methods = {parse_point(quantity.name)[0] for quantity in claim.quantities}
    for method in sorted(methods) if claim.over == "teams" else ():
        teams = {str(axes["agents"]) for its, axes in points.values() if its == method and "agents" in axes}
        if len(teams) < FEWEST:
            count = f"a grid over {len(teams)} teams" if teams else "no grid over teams"
            what = f"{dotted(route)}: over teams, and {method} has {count}"
            yield spec.problem(route, what, f"write grid: {{{method}: {{agents: [one, other, third]}}}}")
    groups = {"seeds": (spec.text.replicates, "replicates"), "datasets": (len(spec.text.datasets or "1"), "datasets")}
    number, counted = groups.get(claim.over or "", (FEWEST, ""))
    if number < FEWEST:
        what = f"{dotted(route)}: over {claim.over}, and there {'is one' if number == 1 else f'are {number}'}"
        yield spec.problem(route, what, f"give at least {FEWEST} {counted}: fewer do not show how much they differ")
