"""The power of every claim of a plan, and the questions that undecided claims would have needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import Design, design_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import EVERY, All, Claim, Comparison, Front, Operator
from cortexdsl.errors import CortexError, InputError
from cortexdsl.stats.inference.phrases import joined
from cortexdsl.stats.inference.roots import crossing
from cortexdsl.stats.planning.expectations import Basis, Expectation, basis_of, missing_knowledge
from cortexdsl.stats.planning.power import (
    equivalence_power,
    normal_power,
    null_inflation,
    paired_power,
)
from cortexdsl.stats.tables.score_table import ScoreTable

_OPPOSITE: Mapping[str, Operator] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}

POWER_COLUMNS = (
    "claim", "questions", "replicates", "alpha", "basis", "deviation", "detectable", "expected", "power",
    "needed", "answerable", "note",
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
        `needed` (questions, over all datasets) are NaN, and `answerable` is None.
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
    hardest = min((row for row, _, _ in results), key=_known_power)
    contrasts = sum(count for _, _, count in results)
    row = hardest | {"claim": design.claim.text}
    if len(each) > 1:
        row["note"] = joined(f"its hardest part is {hardest['claim']}", hardest["note"])
    if contrasts == 1 or any(not count for _, _, count in results):
        return row
    total = sum(n for name, n in questions.items() if any(_includes(part.claim, name) for part in each))

    def power(factor: float) -> float:  # Boole's inequality: at least this is true however contrasts are correlated
        return max(0.0, 1 - sum(count * (1 - alone(factor)) for _, alone, count in results))

    reached = power(1.0)
    needed = _needed(lambda count: power(count / total) - expected.power)
    note = joined(f"power is at least this for all {contrasts} contrasts at once, the rest is of one", row["note"])
    row |= {"questions": total, "power": reached, "answerable": bool(reached >= expected.power), "needed": needed}
    return row | {"note": note}


def _easiest(parts: Sequence[Design], run: _PlannedRun) -> Design:
    """Return the part that is shown most easily, if one of the parts must hold."""
    return max(parts, key=lambda part: _known_power(_alone(part, run)[0]))


def _known_power(row: Mapping[str, Any]) -> float:
    """Return the power of a row; below all others if it is not known."""
    return -1.0 if np.isnan(row["power"]) else float(row["power"])


def _includes(claim: Claim, dataset: str) -> bool:
    return claim.dataset in (None, EVERY, dataset)


def _alone(design: Design, run: _PlannedRun) -> tuple[dict[str, Any], Callable[[float], float], int]:
    """Return the row of a claim without parts as for one contrast, its power by size, and the number of contrasts.

    The size is a factor of the planned questions. Without a known power, the number of contrasts is 0.
    """
    questions, replicates, expected, alpha = run.questions, run.replicates, run.expected, run.alpha
    claim = design.claim
    sizes = [n for name, n in questions.items() if _includes(claim, name)]
    if not sizes:
        raise InputError(f"the claim {claim.text!r}: no dataset {claim.dataset!r}; there are {', '.join(questions)}")
    effective = min(sizes) if claim.dataset == EVERY else round(len(sizes) ** 2 / sum(1 / n for n in sizes))
    total, basis = sum(sizes), basis_of(design, replicates, expected)
    row: dict[str, Any] = dict.fromkeys(POWER_COLUMNS, float("nan"))
    row |= {"claim": claim.text, "questions": total, "replicates": replicates, "alpha": alpha, "answerable": None}
    if basis is None:
        return row | {"basis": "none", "note": missing_knowledge(design)}, _unknown, 0

    def power(distance: float, count: int) -> float:
        return _power(design, basis, distance, count, replicates, alpha)

    detectable = _smallest(lambda distance: power(distance, effective) - expected.power, basis, design)
    distance = _distance(design, basis.expected)
    row |= {"basis": basis.text, "deviation": basis.deviation, "detectable": detectable, "note": ""}
    if claim.over is not None:
        row["note"] = f"power is that for the {claim.over} of this plan: what {claim.over} differ by comes on top"
    if np.isnan(distance):
        return row, _unknown, 0
    row["expected"] = basis.expected
    if distance <= 0:
        note = joined("expected not to hold", row["note"])
        return row | {"power": 0.0, "answerable": False, "note": note}, _unknown, 0
    reached = power(distance, effective)
    needed = np.ceil(_needed(lambda count: power(distance, count) - expected.power) * total / effective)
    row |= {"power": reached, "answerable": bool(reached >= expected.power), "needed": needed}
    contrasts = len(design.weights[: 1 if claim.over else None]) * (len(sizes) if claim.dataset == EVERY else 1)
    return row, lambda factor: power(distance, max(1, round(factor * effective))), contrasts


def _unknown(factor: float) -> float:
    return float("nan")


def _power(design: Design, basis: Basis, distance: float, count: int, replicates: int, alpha: float) -> float:
    """Return the power for a claim whose contrast is `distance` beyond its null value (inside its margin)."""
    truth, spread = basis.truth, basis.deviation
    inflation, freedom = 1.0, np.inf
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


def questions_needed(
    table: ScoreTable, verdicts: pd.DataFrame, arms: Sequence[CellNames], *, alpha: float, correction: str,
    either_side: bool = False,
) -> list[float]:  # fmt: skip
    """Return the questions that would decide each undecided claim with 80 % power if its estimate were the truth.

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
    list of float
        For each claim the questions over all datasets. NaN if the claim is decided, if its estimate points against it
        (without `either_side`) or lies on its bound, or if its power is not known.
    """
    sizes = {name: len(ids) for name, ids in zip(table.datasets, table.questions, strict=True)}
    replicates = len(np.unique(table.replicate))
    expected = Expectation(earlier=table, is_as_earlier=True)
    # The level of each claim is the one that it has among all of them.
    level = alpha if correction == "none" else alpha / max(len(verdicts), 1)

    def needed(claim: Claim) -> float:
        try:
            plan = plan_power([claim], arms, sizes, replicates, expected, alpha=level, correction="none")
        except CortexError:
            return float("nan")
        count = float(plan["needed"][0])
        return count if np.isfinite(count) and count > sum(sizes.values()) else float("nan")

    result = []
    for text, verdict in zip(verdicts["claim"], verdicts["verdict"], strict=True):
        claim = parse_claim(text)
        count = needed(claim) if verdict == "undecided" else float("nan")
        is_open = verdict == "undecided" and np.isnan(count)
        if either_side and is_open and isinstance(claim, Comparison) and claim.operator in _OPPOSITE:
            count = needed(replace(claim, operator=_OPPOSITE[claim.operator]))
        result.append(count)
    return result
