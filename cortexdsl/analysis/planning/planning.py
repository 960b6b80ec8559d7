"""Before the run: which claims can this plan answer, and how many questions would the others need?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import optimize

from cortexdsl.analysis.claims.designs import Design, design_of
from cortexdsl.analysis.claims.samples import sample_of
from cortexdsl.analysis.planning.power import (
    bonett_price_inflation,
    equivalence_power,
    mcnemar_power,
    normal_power,
    sign_flip_power,
)
from cortexdsl.analysis.planning.simulate import RUNS, Truth, simulated_power
from cortexdsl.analysis.tests.contrasts import gap_of
from cortexdsl.analysis.tests.intervals import standard_error
from cortexdsl.analysis.units.arms import Arm
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import Units
from cortexdsl.errors import InputError
from cortexdsl.spec.claims import EVERY, NONE, All, Claim, Comparison, parse_claim
from cortexdsl.terms import EMPTY

COLUMNS = (
    "claim", "questions", "replicates", "alpha", "basis", "deviation", "detectable", "expected", "power", "simulated",
    "simulated_low", "simulated_high", "needed", "answerable", "note",
)  # fmt: skip
ASSUMED_DISCORDANCE = 0.3
SCORES = ("accuracy", "score")


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected before the run (`expected:` of a spec).

    Attributes
    ----------
    discordance : float or None
        Share of questions on which exactly one of two methods is right.
    correlation : float or None
        Of a question's difference between replicates; None is 1: replicates are not counted on.
    accuracy : float, mapping of cell to float, or None
        For claims about one accuracy.
    differences : mapping of claim (or the first cell of claims about accuracy) to float
        The difference (or ratio) that is expected to be true.
    power : float
    earlier : ScoreTable or None
        Earlier results of the same cells; they win over `discordance`.
    """

    discordance: float | None = None
    correlation: float | None = None
    accuracy: float | Mapping[str, float] | None = None
    differences: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    power: float = 0.8
    earlier: ScoreTable | None = None


@dataclass(frozen=True, slots=True)
class _Basis:
    """What is known of a contrast before the run: its spread over questions, its size, two methods' behaviour."""

    text: str
    deviation: float
    expected: float
    truth: Truth | None = None


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
    claim, nan = design.claim, float("nan")
    if isinstance(claim, All):
        return _hardest(
            [_row(part, questions, replicates, expected, alpha, runs, seed) for part in design.parts], claim
        )
    sizes = [n for name, n in questions.items() if claim.dataset in (None, EVERY, NONE, name)]
    if not sizes:
        raise InputError(f"the claim {claim.text!r}: no dataset {claim.dataset!r}; there are {', '.join(questions)}")
    effective = min(sizes) if claim.dataset in (EVERY, NONE) else round(len(sizes) ** 2 / sum(1 / n for n in sizes))
    total, head = sum(sizes), (claim.text, sum(sizes), replicates, alpha)
    basis = _earlier(design, replicates, expected) if expected.earlier else None
    basis = basis or _given(design, replicates, expected)
    if basis is None:
        return *head, "none", nan, nan, nan, nan, nan, nan, nan, nan, None, f"needs earlier results of {claim.metric}"

    def power(distance: float, count: int) -> float:
        return _power(design, basis, distance, count, replicates, alpha)

    detectable = _smallest(lambda distance: power(distance, effective) - expected.power, basis, design)
    distance = _distance(design, basis.expected)
    note = "power is that of one contrast" if len(design.weights) > 1 else ""
    if claim.over is not None:
        note = f"power is that for the {claim.over} of this plan: what {claim.over} differ by comes on top"
    if np.isnan(distance):
        return *head, basis.text, basis.deviation, detectable, nan, nan, nan, nan, nan, nan, None, note
    if distance <= 0:
        note = "; ".join(filter(None, ["expected not to hold", note]))
        return *head, basis.text, basis.deviation, detectable, basis.expected, 0.0, nan, nan, nan, nan, False, note
    reached = power(distance, effective)
    checked = (nan, nan, nan)
    if runs and basis.truth is not None:
        options = {"alpha": alpha, "null": design.null, "sign": design.sign, "runs": runs, "seed": seed}
        checked = simulated_power(basis.truth, effective, replicates, margin=design.margin, **options)  # type: ignore[arg-type]
    needed = _needed(lambda count: power(distance, count) - expected.power)
    numbers = (basis.expected, reached, *checked, np.ceil(needed * total / effective))
    return *head, basis.text, basis.deviation, detectable, *numbers, bool(reached >= expected.power), note


def _hardest(rows: Sequence[tuple[object, ...]], claim: All) -> tuple[object, ...]:
    """The row of the part that is hardest to show: a claim that all hold has at most its power."""

    named = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    hardest = min(named, key=lambda row: np.nan_to_num(float(str(row["power"])), nan=-1.0))
    note = f"that of its hardest part, {hardest['claim']}"
    joined = "; ".join(filter(None, [note, str(hardest["note"])]))
    return tuple((hardest | {"claim": claim.text, "note": joined}).values())


def _power(design: Design, basis: _Basis, distance: float, count: int, replicates: int, alpha: float) -> float:
    """Of showing a claim whose contrast lies `distance` beyond its null value (inside its margin)."""
    truth, spread = basis.truth, basis.deviation
    inflation = bonett_price_inflation(count, spread) if truth is not None else 1.0
    if design.margin is not None:
        return equivalence_power(count, design.margin, spread, design.margin - distance, alpha, inflation)
    if truth is not None and design.null == 0:
        if replicates == 1 or truth.correlation == 1:
            return mcnemar_power(count, max(truth.discordance, distance), distance, alpha)
        return sign_flip_power(count, distance, spread, replicates, alpha)
    return normal_power(count, distance, spread, alpha, inflation)


def _distance(design: Design, expected: float) -> float:
    if design.margin is not None:
        return design.margin - abs(expected - design.null)
    if design.ratio:
        return design.sign * float(np.log(expected) - np.log(design.null)) if expected > 0 else float("nan")
    return abs(expected) if design.joint else design.sign * (expected - design.null)


def _given(design: Design, replicates: int, expected: Expected) -> _Basis | None:
    """From `expected:` alone: scores of 0 or 1, any two cells discordant alike."""
    claim = design.claim
    size = _stated(design, expected)
    if claim.metric not in SCORES or design.ratio:
        return None
    if len(design.cells) == 1:
        known = expected.accuracy
        accuracy = known.get(design.cells[0]) if isinstance(known, Mapping) else known
        spread = float(np.sqrt(accuracy * (1 - accuracy))) if accuracy is not None else 0.5
        text = f"accuracy {accuracy:g} given" if accuracy is not None else "largest spread"
        return _Basis(text, spread, float("nan") if accuracy is None else accuracy)
    discordance = ASSUMED_DISCORDANCE if expected.discordance is None else expected.discordance
    how = "assumed" if expected.discordance is None else "given"
    correlation = 1.0 if expected.correlation is None else max(expected.correlation, 0.0)
    truth = Truth(discordance, 0.0, correlation)
    heaviest = float((design.weights**2).sum(axis=1).max()) * design.scale**2
    spread = truth.deviation(replicates) * np.sqrt(heaviest / 2)  # of a pair: its weights are 1 and -1
    if not isinstance(claim, Comparison) or np.abs(design.weights).sum(axis=1).max() != 2:
        return _Basis(f"discordance {discordance:g} {how}", float(spread), size)
    if not np.isnan(size):
        truth = Truth(max(discordance, abs(size)), size, correlation)
    return _Basis(f"discordance {discordance:g} {how}", truth.deviation(replicates), size, truth)


def _earlier(design: Design, replicates: int, expected: Expected) -> _Basis | None:
    """From earlier results of the same cells, where they are there."""
    table = expected.earlier
    if table is None or not set(design.cells) <= set(table.cells):
        return None
    claim = design.claim
    scope = (claim.dataset,) if claim.dataset in table.datasets else ()
    sample = sample_of(design, table, scope)
    if gap_of(sample, range(len(design.cells))):
        return None
    means, stated = sample.means, _stated(design, expected)
    if design.ratio:
        influence = sample.parts.T @ (design.weights[0] / means)
        spread = float(np.sqrt((influence**2).sum() * sample.sizes.sum()))
        return _Basis(
            "earlier results", spread, float(np.prod(means ** design.weights[0])) if np.isnan(stated) else stated
        )
    contributions = sample.parts.T @ design.weights.T
    errors = standard_error(sample, contributions) * design.scale
    largest = int(np.argmax(errors))
    variance = errors[largest] ** 2 * sample.sizes.sum()
    if sample.binary:
        variance -= _saved(sample, design.weights[largest] * design.scale, replicates)
    observed = float(contributions.sum(axis=0)[largest] * design.scale)
    size = observed if np.isnan(stated) else stated
    spread = float(np.sqrt(max(variance, 1e-12)))
    truth = _behaviour(sample, size, spread, replicates) if isinstance(claim, Comparison) and len(means) == 2 else None
    return _Basis("earlier results", spread, size, truth)


def _saved(sample: Units, weights: np.ndarray[tuple[int], np.dtype[np.float64]], replicates: int) -> float:
    """By how much the variance falls with the planned number of replicates in place of the earlier ones."""
    had = sample.replicates.astype(float)
    within = (sample.values * (1 - sample.values)).mean(axis=1) * had / np.maximum(had - 1, 1)
    return float((weights**2 * within * (1 / had - 1 / replicates) * (had > 1)).sum())


def _behaviour(sample: Units, size: float, spread: float, replicates: int) -> Truth | None:
    """Two methods that are as discordant as the earlier ones and spread as said."""
    if not sample.binary:
        return None
    a, b = sample.values
    discordance = max(float((a * (1 - b) + b * (1 - a)).mean()), abs(size))
    once = discordance - size**2
    if once <= 0 or replicates == 1:
        return Truth(discordance, size, 1.0)
    correlation = (replicates * spread**2 / once - 1) / (replicates - 1)
    return Truth(discordance, size, float(np.clip(correlation, 0, 1)))


def _stated(design: Design, expected: Expected) -> float:
    """The difference that the spec expects; 0 for claims of equivalence and non-inferiority, else unknown."""
    plain = {" ".join(key.split()): value for key, value in expected.differences.items()}
    names = [design.cells[0]] if design.claim.metric in SCORES else []
    for key in (" ".join(design.claim.text.split()), *names):
        if key in plain:
            return plain[key]
    nearly = design.margin is not None or (not design.ratio and design.sign * design.null < 0)
    return 0.0 if nearly and len(design.cells) > 1 else float("nan")


def _smallest(lacking: Callable[[float], float], basis: _Basis, design: Design) -> float:
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
    high = 8
    while lacking(high) < 0:
        high *= 2
        if high > most:
            return float("inf")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if lacking(middle) >= 0 else (middle, high)
    return float(high)
