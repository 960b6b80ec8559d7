"""Prior knowledge about a claim, for power: earlier results of the same cells, or `expected:` of the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cortexdsl.claims.designs import Design
from cortexdsl.claims.values import Comparison, Quantity, one_line
from cortexdsl.core import EMPTY
from cortexdsl.errors import DataError
from cortexdsl.stats.inference.contrasts import gap_of
from cortexdsl.stats.inference.outcomes import standard_error
from cortexdsl.stats.planning.power import Truth
from cortexdsl.stats.tables.answers import lies_in_answers
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import Units, units_of

ASSUMED_DISCORDANCE = 0.3
SCORES = ("accuracy", "score")


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expectations before the run (`expected:` of a spec).

    Attributes
    ----------
    discordance : float or None
        The share of questions on which exactly one of two methods is right.
    correlation : float or None
        Of the difference on a question between replicates; None counts as 1, so that replicates add nothing.
    differences : mapping of claim (or the first cell of claims about accuracy) to float
        The expected true difference (or ratio); of a claim about one accuracy, the accuracy.
    spread : mapping of claim or metric to float
        The standard deviation over questions: for a metric (`accuracy per input_tokens` is one), of the difference of
        two cells or the log of their ratio; for a claim, of its contrast.
    power : float
    earlier : ScoreTable or None
        Earlier results of the same cells; they take precedence over `discordance` and `spread`.
    is_as_earlier : bool
        Whether the truth of every claim is what the earlier results estimate, also of claims within a margin, whose
        truth is otherwise a difference of 0.
    """

    discordance: float | None = None
    correlation: float | None = None
    differences: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    spread: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    power: float = 0.8
    earlier: ScoreTable | None = None
    is_as_earlier: bool = False


@dataclass(frozen=True, slots=True)
class Basis:
    """The knowledge of a contrast before the run: its spread over questions, its size, two methods' behaviour."""

    text: str
    deviation: float
    expected: float
    truth: Truth | None = None


def basis_of(design: Design, replicates: int, expected: Expectation) -> Basis | None:
    """Return the knowledge of a claim before the run: from earlier results, else from expectations, else None."""
    basis = _earlier(design, replicates, expected) if expected.earlier else None
    return basis or _given(design, replicates, expected)


def missing_knowledge(design: Design) -> str:
    """Write what has to be known to plan for a claim."""
    named = _measured(design)
    what = f"spread: {{{named}: ...}}" if named else f'spread: {{"{design.claim.text}": ...}}'
    return f"needs earlier results of {named or design.claim.metric}, or `expected: {{{what}}}`"


def _given(design: Design, replicates: int, expected: Expectation) -> Basis | None:
    """Return the basis by `expected:` alone: scores of 0 or 1, and equal discordance of any two cells."""
    claim = design.claim
    size = _stated(design, expected)
    if (own := _spread(design, expected)) is not None:
        return Basis(f"spread {own:g} given", own, size)
    if claim.metric not in SCORES or design.ratio:
        return None
    if len(design.cells) == 1:
        text = "largest spread" if np.isnan(size) else f"accuracy {size:g} given"
        return Basis(text, 0.5 if np.isnan(size) else float(np.sqrt(size * (1 - size))), size)
    discordance = ASSUMED_DISCORDANCE if expected.discordance is None else expected.discordance
    how = "assumed" if expected.discordance is None else "given"
    correlation = 1.0 if expected.correlation is None else max(expected.correlation, 0.0)
    truth = Truth(discordance, 0.0, correlation)
    spread = truth.deviation(replicates) * _as_pairs(design)
    if not isinstance(claim, Comparison) or np.abs(design.weights).sum(axis=1).max() != 2:
        return Basis(f"discordance {discordance:g} {how}", float(spread), size)
    if not np.isnan(size):
        truth = Truth(max(discordance, abs(size)), size, correlation)
    return Basis(f"discordance {discordance:g} {how}", truth.deviation(replicates), size, truth)


def _of_claim(design: Design, expected: Expectation) -> float | None:
    """Return the spread stated for the claim itself."""
    known = {one_line(key): value for key, value in expected.spread.items()}
    return known.get(one_line(design.claim.text))


def _spread(design: Design, expected: Expectation) -> float | None:
    """Return the spread stated for the claim, or for its metric."""
    if (own := _of_claim(design, expected)) is not None:
        return own
    known = {one_line(key): value for key, value in expected.spread.items()}
    metric = _measured(design)
    return None if metric is None or metric not in known else known[metric] * _as_pairs(design)


def _measured(design: Design) -> str | None:
    """Return the measure of all means of a claim, such as `accuracy per input_tokens`; None if they differ."""
    if not isinstance(design.claim, Comparison):
        return str(design.claim.metric)
    measures = {one.metric + (f" per {one.per}" if one.per else "") for one in design.claim.quantities}
    return measures.pop() if len(measures) == 1 else None


def _as_pairs(design: Design) -> float:
    """Return the spread of a contrast of independent cells in units of a difference of two; 1 for a ratio."""
    if design.ratio:
        return 1.0
    heaviest = float((design.weights**2).sum(axis=1).max()) * design.scale**2
    return float(np.sqrt(heaviest / 2))


def _earlier(design: Design, replicates: int, expected: Expectation) -> Basis | None:
    """Return the basis by earlier results of the same cells, if there are any."""
    table = expected.earlier
    if table is None or not set(design.cells) <= set(table.cells):
        return None
    if not all(_holds(table, quantity) for quantity in design.quantities):
        return None
    claim = design.claim
    scope = (claim.dataset,) if claim.dataset in table.datasets else ()
    sample = units_of(table, design.quantities, scope)
    if gap_of(sample, range(len(design.cells))):
        return None
    means, stated = sample.means, _stated(design, expected)
    if design.ratio:
        influence = sample.parts.T @ (design.weights[0] / means)
        spread = float(np.sqrt((influence**2).sum() * sample.sizes.sum()))
        return Basis(
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
    return Basis("earlier results", spread, size, truth)


def _holds(table: ScoreTable, quantity: Quantity) -> bool:
    """Return whether earlier results have the values of a mean."""
    if lies_in_answers(table, quantity):
        return table.answers is not None
    try:
        table.metric(quantity.metric)
    except DataError:
        return False
    return True


def _saved(sample: Units, weights: np.ndarray[tuple[int], np.dtype[np.float64]], replicates: int) -> float:
    """Return how much the variance falls with the planned number of replicates instead of the earlier one."""
    had = sample.replicates.astype(float)
    within = (sample.values * (1 - sample.values)).mean(axis=1) * had / np.maximum(had - 1, 1)
    return float((weights**2 * within * (1 / had - 1 / replicates) * (had > 1)).sum())


def _behaviour(sample: Units, size: float, spread: float, replicates: int) -> Truth | None:
    """Return two methods with the discordance of the earlier ones and a given spread."""
    if not sample.binary:
        return None
    a, b = sample.values
    discordance = max(float((a * (1 - b) + b * (1 - a)).mean()), abs(size))
    once = discordance - size**2
    if once <= 0 or replicates == 1:
        return Truth(discordance, size, 1.0)
    correlation = (replicates * spread**2 / once - 1) / (replicates - 1)
    return Truth(discordance, size, float(np.clip(correlation, 0, 1)))


def _stated(design: Design, expected: Expectation) -> float:
    """Return the expected difference; by default 0 for equivalence and non-inferiority, else NaN (as estimated)."""
    plain = {one_line(key): value for key, value in expected.differences.items()}
    names = [design.cells[0]] if design.claim.metric in SCORES and len(design.cells) > 1 else []
    for key in (one_line(design.claim.text), *names):
        if key in plain:
            return plain[key]
    if expected.is_as_earlier:
        return float("nan")
    nearly = design.margin is not None or (not design.ratio and design.sign * design.null < 0)
    return 0.0 if nearly and len(design.cells) > 1 else float("nan")
