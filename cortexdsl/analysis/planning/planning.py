"""Before the run: which claims can this plan answer, and how many questions would the others need?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import optimize

from cortexdsl.analysis.phrasing import joined
from cortexdsl.analysis.planning.basis import Basis, Expected, basis_of, to_be_known
from cortexdsl.analysis.planning.joint import Part, correlation_of, directions_of, joint_power
from cortexdsl.analysis.planning.power import (
    bonett_price_inflation,
    equivalence_power,
    normal_power,
    paired_power,
)
from cortexdsl.analysis.planning.simulate import RUNS, simulated_power
from cortexdsl.errors import InputError
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import EVERY, NONE, All, Claim, parse_claim

COLUMNS = (
    "claim", "questions", "replicates", "alpha", "basis", "deviation", "detectable", "expected", "power", "simulated",
    "simulated_low", "simulated_high", "needed", "answerable", "note",
)  # fmt: skip


def plan_power(
    claims: Sequence[str | Claim], arms: Sequence[Arm], questions: Mapping[str, int], replicates: int,
    expected: Expected, *, alpha: float = 0.05, correction: str = "holm", runs: int = RUNS, seed: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """Say what a plan can show of each claim.

    Parameters
    ----------
    claims, arms
        As for `judge_claims`.
    questions : mapping of dataset to number of questions
    replicates : int
    alpha, correction
        With any correction but `none`, a claim is counted on at alpha over the number of claims: what it has to
        pass if no other claim is decided.
    runs : int
        Simulated experiments per claim about two accuracies; 0 for none.

    Returns
    -------
    DataFrame
        `COLUMNS`. `detectable` is the smallest distance from the claim's null value that is shown with the asked
        power (of the log for ratios); `expected`, `power` and `needed` (questions, over all datasets) are NaN
        where nothing says how large the difference will be; `answerable` is None then.
    """
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    level = alpha if correction == "none" else alpha / max(len(parsed), 1)
    rows = [_row(design_of(claim, arms), questions, replicates, expected, level, runs, seed) for claim in parsed]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(
    design: Design,
    questions: Mapping[str, int],
    replicates: int,
    expected: Expected,
    alpha: float,
    runs: int,
    seed: int,
) -> tuple[object, ...]:
    each = [design] if not isinstance(design.claim, All) else design.parts
    options = (questions, replicates, expected, alpha, runs if len(each) == 1 else 0, seed)
    found = [_alone(part, *options) for part in each]
    named = [dict(zip(COLUMNS, row, strict=True)) for row, _ in found]
    hardest = min(named, key=lambda row: np.nan_to_num(float(str(row["power"])), nan=-1.0))
    parts = [part for _, parts in found for part in parts]
    row = hardest | {"claim": design.claim.text}
    if len(each) > 1:
        row["note"] = joined(f"its hardest part is {hardest['claim']}", str(hardest["note"]))
    if len(parts) == 1 or any(not own for _, own in found):
        return tuple(row.values())
    total = sum(n for name, n in questions.items() if any(_is_asked(part.claim, name) for part in each))
    correlation = correlation_of([part.direction for part in parts], expected.earlier)

    def power(factor: float) -> float:
        return joint_power([part.power(factor) for part in parts], correlation)

    reached = power(1.0)
    needed = _needed(lambda count: power(count / total) - expected.power)
    note = joined(f"power is that of all {len(parts)} contrasts at once, the rest that of one", str(row["note"]))
    row |= {"questions": total, "power": reached, "needed": needed, "answerable": bool(reached >= expected.power)}
    row |= {"note": note, "simulated": np.nan, "simulated_low": np.nan, "simulated_high": np.nan}
    return tuple(row.values())


def _is_asked(claim: Claim, dataset: str) -> bool:
    return claim.dataset in (None, EVERY, NONE, dataset)


def _alone(
    design: Design,
    questions: Mapping[str, int],
    replicates: int,
    expected: Expected,
    alpha: float,
    runs: int,
    seed: int,
) -> tuple[tuple[object, ...], list[Part]]:
    """Return the row of a claim without parts as if it had one contrast, and its contrasts if their power is known."""
    claim, nan = design.claim, float("nan")
    sizes = [n for name, n in questions.items() if _is_asked(claim, name)]
    if not sizes:
        raise InputError(f"the claim {claim.text!r}: no dataset {claim.dataset!r}; there are {', '.join(questions)}")
    effective = min(sizes) if claim.dataset in (EVERY, NONE) else round(len(sizes) ** 2 / sum(1 / n for n in sizes))
    total, head = sum(sizes), (claim.text, sum(sizes), replicates, alpha)
    basis = basis_of(design, replicates, expected)
    if basis is None:
        return (*head, "none", nan, nan, nan, nan, nan, nan, nan, nan, None, to_be_known(design)), []

    def power(distance: float, count: int) -> float:
        return _power(design, basis, distance, count, replicates, alpha)

    detectable = _smallest(lambda distance: power(distance, effective) - expected.power, basis, design)
    distance = _distance(design, basis.expected)
    note = ""
    if claim.over is not None:
        note = f"power is that for the {claim.over} of this plan: what {claim.over} differ by comes on top"
    if np.isnan(distance):
        return (*head, basis.text, basis.deviation, detectable, nan, nan, nan, nan, nan, nan, None, note), []
    if distance <= 0:
        note = joined("expected not to hold", note)
        known = (basis.text, basis.deviation, detectable, basis.expected)
        return (*head, *known, 0.0, nan, nan, nan, nan, False, note), []
    reached = power(distance, effective)
    parts = [
        Part(lambda factor: power(distance, max(1, round(factor * effective))), direction)
        for direction in directions_of(design, list(questions))
    ]
    checked = (nan, nan, nan)
    if runs and len(parts) == 1 and basis.truth is not None:
        options = {"alpha": alpha, "null": design.null, "sign": design.sign, "runs": runs, "seed": seed}
        checked = simulated_power(basis.truth, effective, replicates, margin=design.margin, **options)  # type: ignore[arg-type]
    needed = _needed(lambda count: power(distance, count) - expected.power)
    numbers = (basis.expected, reached, *checked, np.ceil(needed * total / effective))
    row = (*head, basis.text, basis.deviation, detectable, *numbers, bool(reached >= expected.power), note)
    return row, parts


def _power(design: Design, basis: Basis, distance: float, count: int, replicates: int, alpha: float) -> float:
    """Of showing a claim whose contrast lies `distance` beyond its null value (inside its margin)."""
    truth, spread = basis.truth, basis.deviation
    inflation, freedom = 1.0, np.inf
    if truth is not None:
        inflation, freedom = bonett_price_inflation(count, spread, truth.added(count, replicates)), count + 1.0
    if design.margin is not None:
        return equivalence_power(count, design.margin, spread, design.margin - distance, alpha, inflation, freedom)
    if truth is not None and design.null == 0 and (replicates == 1 or truth.correlation == 1):
        return paired_power(count, max(truth.discordance, distance), distance, alpha)
    return normal_power(count, distance, spread, alpha, inflation, freedom)


def _distance(design: Design, expected: float) -> float:
    if design.margin is not None:
        return design.margin - abs(expected - design.null)
    if design.ratio:
        return design.sign * float(np.log(expected) - np.log(design.null)) if expected > 0 else float("nan")
    return abs(expected) if design.joint else design.sign * (expected - design.null)


def _smallest(lacking: Callable[[float], float], basis: Basis, design: Design) -> float:
    """The distance at which nothing is lacking any more."""
    top = design.margin if design.margin is not None else 40 * basis.deviation + 1e-9
    if basis.truth is not None and design.margin is None:
        top = 1.0
    if lacking(top) < 0:
        return float("nan")
    if lacking(1e-9) >= 0:
        return 0.0
    return float(optimize.brentq(lacking, 1e-9, top, xtol=1e-6))


def _needed(lacking: Callable[[int], float], most: int = 10_000_000) -> float:
    """The fewest questions with which nothing is lacking; infinite above `most`."""
    low, high = 0, 8
    while lacking(high) < 0:
        low, high = high, 2 * high
        if high > most:
            return float("inf")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if lacking(middle) >= 0 else (middle, high)
    return float(high)
