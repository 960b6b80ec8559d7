"""The power of every claim of a plan, and the questions that undecided claims would have needed.

If several contrasts of the same questions must all be shown, their tests are correlated as the contrasts are. So the
probability that all are shown is simulated: normal statistics with these correlations, each beyond its own bound as
often as its own power says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import Design, design_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import EVERY, NONE, All, Claim, Comparison, Front, Operator, Quantity
from cortexdsl.core import Floats
from cortexdsl.errors import CortexError, DataError, InputError
from cortexdsl.stats.inference.phrases import joined
from cortexdsl.stats.inference.roots import crossing
from cortexdsl.stats.planning.expectations import SCORES, Basis, Expectation, basis_of, missing_knowledge
from cortexdsl.stats.planning.power import (
    equivalence_power,
    normal_power,
    null_inflation,
    paired_power,
    pseudo_draw_inflation,
)
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import units_of

JOINT_DRAWS = 40_000
_OPPOSITE: Mapping[str, Operator] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}

Direction: TypeAlias = Mapping[tuple[str, Quantity], float]
"""The weight of each mean of each dataset in a contrast, above 0 if a higher mean favours the claim."""


@dataclass(frozen=True, slots=True)
class Part:
    """One contrast that must be shown.

    Attributes
    ----------
    power : function from a factor to a probability
        The power of this contrast alone if the number of questions is multiplied by the factor.
    direction : Direction
    """

    power: Callable[[float], float]
    direction: Direction


def directions_of(design: Design, datasets: Sequence[str]) -> list[Direction]:
    """Return the direction of each contrast of a claim without parts; per dataset for claims about every dataset."""
    where = design.claim.dataset
    scopes = [[name] for name in datasets] if where in (EVERY, NONE) else [[where] if where else list(datasets)]
    sign = 0.0 if design.margin is not None else design.sign
    return [
        {
            (dataset, quantity): sign * float(weight) / len(scope)
            for dataset in scope
            for quantity, weight in zip(design.quantities, row, strict=True)
        }
        for row in design.weights[: 1 if design.claim.over else None]
        for scope in scopes
    ]


def joint_power(powers: Sequence[float], correlation: Floats) -> float:
    """Return the probability that all of several tests are significant.

    Parameters
    ----------
    powers : sequence of float
        The power of each test alone.
    correlation : (tests, tests) array
        Of the test statistics.
    """
    if len(powers) == 1:
        return float(powers[0])
    values, vectors = np.linalg.eigh(correlation)
    statistics = _normals(len(powers)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    simulated = float((statistics <= stats.norm.ppf(powers)).all(axis=1).mean())
    return min(simulated, *powers)


@lru_cache(maxsize=8)
def _normals(tests: int) -> Floats:
    return np.random.default_rng(tests).standard_normal((JOINT_DRAWS, tests))


def correlation_of(directions: Sequence[Direction], earlier: ScoreTable | None) -> Floats:
    """Return the correlations of contrasts: those of earlier results, else those of exchangeable means.

    If means are exchangeable, contrasts of one metric are correlated as their weights are; contrasts of two metrics,
    of two datasets, or within margins are not correlated.
    """
    measured = None if earlier is None else _measured(directions, earlier)
    if measured is None:
        places = list(dict.fromkeys(key for direction in directions for key in direction))
        measured = np.array([[direction.get(key, 0.0) for key in places] for direction in directions])
    size = np.sqrt((measured**2).sum(axis=1))
    scaled = measured / np.where(size > 0, size, 1.0)[:, None]
    correlation = scaled @ scaled.T
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(np.clip(correlation, -1, 1))


def _measured(directions: Sequence[Direction], earlier: ScoreTable) -> Floats | None:
    """Return each contrast on each earlier question, minus its mean; None if the earlier results lack a value."""
    keys = list(dict.fromkeys(key for direction in directions for key in direction))
    datasets = list(dict.fromkeys(dataset for dataset, _ in keys))
    moved: dict[tuple[str, Quantity], Floats] = {}
    sizes: dict[str, int] = {}
    for dataset in datasets:
        named = [quantity for place, quantity in keys if place == dataset]
        try:
            values = units_of(earlier, named, (dataset,)).values
        except DataError:
            return None
        if np.isnan(values).any():
            return None
        sizes[dataset] = values.shape[1]
        scale = np.abs(values.mean(axis=1, keepdims=True)) if len({q.metric for q in named}) > 1 else 1.0
        centred = (values - values.mean(axis=1, keepdims=True)) / np.where(scale == 0, 1.0, scale)
        moved |= {(dataset, quantity): row for quantity, row in zip(named, centred, strict=True)}
    return np.array([
        np.concatenate([
            sum(
                (direction.get((dataset, quantity), 0.0) * moved[dataset, quantity]
                 for place, quantity in keys if place == dataset),
                np.zeros(sizes[dataset]),
            ) / sizes[dataset]
            for dataset in datasets
        ])
        for direction in directions
    ])  # fmt: skip


POWER_COLUMNS = (
    "claim", "questions", "replicates", "alpha", "basis", "deviation", "detectable", "expected", "power",
    "needed", "answerable", "note", "replicates_needed",
)  # fmt: skip


def plan_power(
    claims: Sequence[str | Claim], arms: Sequence[CellNames], questions: Mapping[str, int], replicates: int,
    expected: Expectation, *, alpha: float = 0.05, correction: str = "holm",
) -> pd.DataFrame:  # fmt: skip
    """Return the power of a plan for each claim.

    Parameters
    ----------
    claims, arms
        As for `evaluate_claims`.
    questions : mapping of dataset to number of questions
    replicates : int
    alpha, correction
        With any correction but `none`, the level of a claim is alpha over the number of claims: the level if no other
        claim is decided.

    Returns
    -------
    DataFrame
        `POWER_COLUMNS`. `detectable` is the smallest distance from the claim's null value (of the log for ratios) that
        is shown with the expected power. If nothing is known of the size of the difference, `expected`, `power` and
        `needed` (questions, over all datasets) are NaN, and `answerable` is None. For a claim on these questions
        `needed` is NaN, as no other question says anything of it, and `replicates_needed` has the replicates.
    """
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    level = alpha if correction == "none" else alpha / max(len(parsed), 1)
    run = _PlannedRun(questions, replicates, expected, level)
    return pd.DataFrame([_row(design_of(claim, arms), run) for claim in parsed], columns=list(POWER_COLUMNS))


@dataclass(frozen=True, slots=True)
class _PlannedRun:
    """What the power of each claim depends on: arguments of `plan_power`, with the level of one claim as `alpha`."""

    questions: Mapping[str, int]
    replicates: int
    expected: Expectation
    alpha: float


def _row(design: Design, run: _PlannedRun) -> dict[str, Any]:
    questions, expected = run.questions, run.expected
    if isinstance(design.claim, Front):
        run = replace(run, alpha=run.alpha / len(design.claim.metrics))
        each: Sequence[Design] = [_easiest(rival.parts, run) for rival in design.parts]
    else:
        each = design.parts if isinstance(design.claim, All) else [design]
    results = [_alone(part, run) for part in each]
    hardest = min((row for row, _ in results), key=_known_power)
    parts = [part for _, parts in results for part in parts]
    row = hardest | {"claim": design.claim.text}
    if len(each) > 1:
        row["note"] = joined(f"its hardest part is {hardest['claim']}", hardest["note"])
    if len(parts) == 1 or any(not own for _, own in results):
        return row
    total = sum(n for name, n in questions.items() if any(_includes(part.claim, name) for part in each))
    correlation = correlation_of([part.direction for part in parts], expected.earlier)

    def power(factor: float) -> float:
        return joint_power([part.power(factor) for part in parts], correlation)

    reached = power(1.0)
    needed = _needed(lambda count: power(count / total) - expected.power)
    note = joined(f"power is that of all {len(parts)} contrasts at once, the rest that of one", row["note"])
    fixed_questions = all(part.claim.fixed_questions for part in each)
    row |= _further(needed, total, run.replicates, fixed_questions=fixed_questions)
    row |= {"questions": total, "power": reached, "answerable": bool(reached >= expected.power)}
    return row | {"note": note}


def _further(needed: float, questions: float, replicates: int, *, fixed_questions: bool) -> dict[str, float]:
    """Return the questions that a claim needs, or its replicates if it is on these questions.

    A mean over questions and replicates is as precise with twice the replicates as with twice such questions.
    """
    nan = float("nan")
    if not fixed_questions:
        return {"needed": needed, "replicates_needed": nan}
    return {"needed": nan, "replicates_needed": float(np.ceil(replicates * needed / questions))}


def _easiest(parts: Sequence[Design], run: _PlannedRun) -> Design:
    """Return the part that is shown most easily, if one of the parts must hold."""
    return max(parts, key=lambda part: _known_power(_alone(part, run)[0]))


def _known_power(row: Mapping[str, Any]) -> float:
    """Return the power of a row; below all others if it is not known."""
    return -1.0 if np.isnan(row["power"]) else float(row["power"])


def _includes(claim: Claim, dataset: str) -> bool:
    return claim.dataset in (None, EVERY, NONE, dataset)


def _alone(design: Design, run: _PlannedRun) -> tuple[dict[str, Any], list[Part]]:
    """Return the row of a claim without parts as for one contrast, and its contrasts if their power is known."""
    questions, replicates, expected, alpha = run.questions, run.replicates, run.expected, run.alpha
    claim = design.claim
    sizes = [n for name, n in questions.items() if _includes(claim, name)]
    if not sizes:
        raise InputError(f"the claim {claim.text!r}: no dataset {claim.dataset!r}; there are {', '.join(questions)}")
    effective = min(sizes) if claim.dataset in (EVERY, NONE) else round(len(sizes) ** 2 / sum(1 / n for n in sizes))
    total, basis = sum(sizes), basis_of(design, replicates, expected)
    row: dict[str, Any] = dict.fromkeys(POWER_COLUMNS, float("nan"))
    row |= {"claim": claim.text, "questions": total, "replicates": replicates, "alpha": alpha, "answerable": None}
    if basis is None:
        return row | {"basis": "none", "note": missing_knowledge(design)}, []

    def power(distance: float, count: int) -> float:
        return _power(design, basis, distance, count, replicates, alpha)

    detectable = _smallest(lambda distance: power(distance, effective) - expected.power, basis, design)
    distance = _distance(design, basis.expected)
    row |= {"basis": basis.text, "deviation": basis.deviation, "detectable": detectable, "note": ""}
    if claim.over is not None:
        row["note"] = f"power is that for the {claim.over} of this plan: what {claim.over} differ by comes on top"
    if np.isnan(distance):
        return row, []
    row["expected"] = basis.expected
    if distance <= 0:
        note = joined("expected not to hold", row["note"])
        return row | {"power": 0.0, "answerable": False, "note": note}, []
    reached = power(distance, effective)
    parts = [
        Part(lambda factor: power(distance, max(1, round(factor * effective))), direction)
        for direction in directions_of(design, list(questions))
    ]
    needed = _needed(lambda count: power(distance, count) - expected.power)
    row |= _further(np.ceil(needed * total / effective), total, replicates, fixed_questions=claim.fixed_questions)
    return row | {"power": reached, "answerable": bool(reached >= expected.power)}, parts


def _power(design: Design, basis: Basis, distance: float, count: int, replicates: int, alpha: float) -> float:
    """Return the power for a claim whose contrast is `distance` beyond its null value (inside its margin)."""
    truth, spread = basis.truth, basis.deviation
    inflation, freedom = 1.0, np.inf
    if design.claim.fixed_questions:
        freedom = float(max(count * (replicates - 1), 1))
        if design.claim.metric in SCORES and not design.ratio and spread > 0:
            inflation = pseudo_draw_inflation(count, replicates, spread)
    paired = truth is not None and (replicates == 1 or truth.correlation == 1)
    if truth is not None:
        freedom = max(count - 1.0, 1.0)
    if truth is not None and paired:
        expected = design.null + design.sign * distance
        bound = design.null
        if design.margin is not None:
            expected, bound = design.null + design.margin - distance, design.null + design.margin
        elif design.null == 0:
            return paired_power(count, max(truth.discordance, distance), distance, alpha)
        inflation = null_inflation(max(truth.discordance, abs(expected)), expected, bound)
    if design.margin is not None:
        return equivalence_power(count, design.margin, spread, design.margin - distance, alpha, inflation, freedom)
    return normal_power(count, distance, spread, alpha, inflation, freedom)


def _distance(design: Design, expected: float) -> float:
    if design.margin is not None:
        return design.margin - abs(expected - design.null)
    if design.ratio:
        return design.sign * float(np.log(expected) - np.log(design.null)) if expected > 0 else float("nan")
    return design.sign * (expected - design.null)


def _smallest(lacking: Callable[[float], float], basis: Basis, design: Design) -> float:
    """Return the smallest distance with enough power; NaN if there is none."""
    top = design.margin if design.margin is not None else 40 * basis.deviation + 1e-9
    if basis.truth is not None and design.margin is None:
        top = 1.0
    found = crossing(lacking, 1e-9, top, 1e-6)
    return 0.0 if found == 1e-9 else found


def _needed(lacking: Callable[[int], float], most: int = 10_000_000) -> float:
    """Return the fewest questions with enough power; infinite above `most`."""
    low, high = 0, 8
    while lacking(high) < 0:
        low, high = high, 2 * high
        if high > most:
            return float("inf")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if lacking(middle) >= 0 else (middle, high)
    return float(high)


def further_needed(
    table: ScoreTable,
    verdicts: pd.DataFrame,
    arms: Sequence[CellNames],
    *,
    alpha: float,
    correction: str,
    either_side: bool = False,
) -> list[tuple[float, float]]:
    """Return what would decide each undecided claim with 80 % power if its estimate were the truth.

    Parameters
    ----------
    table : ScoreTable
        The scores of the verdicts; the spread over questions is taken from them.
    verdicts : DataFrame
        The result of `evaluate_claims`: `claim`, `verdict`.
    arms, alpha, correction
        As for `evaluate_claims`.
    either_side : bool
        Whether to plan for a comparison that is contradicted, too, if its estimate points against it.

    Returns
    -------
    list of (float, float)
        For each claim the questions over all datasets, and the replicates for claims on these questions. NaN if the
        claim is decided, if its estimate points against it (without `either_side`) or lies on its bound, or if its
        power is not known.
    """
    nan = float("nan")
    sizes = {name: len(ids) for name, ids in zip(table.datasets, table.questions, strict=True)}
    replicates = len(np.unique(table.replicate))
    expected = Expectation(earlier=table, is_as_earlier=True)
    # The level of each claim is the one that it has among all of them.
    level = alpha if correction == "none" else alpha / max(len(verdicts), 1)

    def needed(claim: Claim) -> tuple[float, float]:
        try:
            plan = plan_power([claim], arms, sizes, replicates, expected, alpha=level, correction="none")
        except CortexError:
            return nan, nan
        counts = (float(plan["needed"][0]), sum(sizes.values())), (float(plan["replicates_needed"][0]), replicates)
        questions, runs = (count if np.isfinite(count) and count > present else nan for count, present in counts)
        return questions, runs

    result = []
    for text, verdict in zip(verdicts["claim"], verdicts["verdict"], strict=True):
        counts = (nan, nan)
        if verdict == "undecided":
            claim = parse_claim(text)
            counts = needed(claim)
            if either_side and np.isnan(counts).all() and isinstance(claim, Comparison) and claim.operator in _OPPOSITE:
                counts = needed(replace(claim, operator=_OPPOSITE[claim.operator]))
        result.append(counts)
    return result


def questions_needed(
    table: ScoreTable, verdicts: pd.DataFrame, arms: Sequence[CellNames], *, alpha: float, correction: str
) -> list[float]:
    """Return the questions of `further_needed`."""
    return [questions for questions, _ in further_needed(table, verdicts, arms, alpha=alpha, correction=correction)]
