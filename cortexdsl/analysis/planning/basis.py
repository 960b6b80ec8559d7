"""What is known of a claim before the run: from earlier results of the same cells, or from `expected:`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cortexdsl.analysis.claims.samples import sample_of
from cortexdsl.analysis.planning.simulate import Truth
from cortexdsl.analysis.tests.contrasts import gap_of
from cortexdsl.analysis.tests.intervals import standard_error
from cortexdsl.analysis.units.answers import lies_in_answers
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import Units
from cortexdsl.errors import DataError
from cortexdsl.spec.claims.designs import Design
from cortexdsl.spec.claims.language import Comparison, Quantity
from cortexdsl.terms import EMPTY

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
    spread : mapping of claim or metric to float
        Standard deviation over questions of what is compared: of the difference of two cells (of a ratio, of its log)
        where a metric is named (`accuracy per input_tokens` is one), of the claim itself where the claim is.
    power : float
    earlier : ScoreTable or None
        Earlier results of the same cells; they win over `discordance` and `spread`.
    """

    discordance: float | None = None
    correlation: float | None = None
    accuracy: float | Mapping[str, float] | None = None
    differences: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    spread: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    power: float = 0.8
    earlier: ScoreTable | None = None


@dataclass(frozen=True, slots=True)
class Basis:
    """What is known of a contrast before the run: its spread over questions, its size, two methods' behaviour."""

    text: str
    deviation: float
    expected: float
    truth: Truth | None = None


def basis_of(design: Design, replicates: int, expected: Expected) -> Basis | None:
    """What is known of a claim before the run: from earlier results, else from what is expected, else nothing."""
    found = _earlier(design, replicates, expected) if expected.earlier else None
    return found or _given(design, replicates, expected)


def to_be_known(design: Design) -> str:
    """What would have to be known of a claim of which nothing is."""
    named = _measured(design)
    what = f"spread: {{{named}: ...}}" if named else f'spread: {{"{design.claim.text}": ...}}'
    return f"needs earlier results of {named or design.claim.metric}, or `expected: {{{what}}}`"


def _given(design: Design, replicates: int, expected: Expected) -> Basis | None:
    """From `expected:` alone: scores of 0 or 1, any two cells discordant alike."""
    claim = design.claim
    size = _stated(design, expected)
    if (own := _spread(design, expected)) is not None:
        return Basis(f"spread {own:g} given", own, size)
    if claim.metric not in SCORES or design.ratio:
        return None
    if len(design.cells) == 1:
        known = expected.accuracy
        accuracy = known.get(design.cells[0]) if isinstance(known, Mapping) else known
        spread = float(np.sqrt(accuracy * (1 - accuracy))) if accuracy is not None else 0.5
        text = f"accuracy {accuracy:g} given" if accuracy is not None else "largest spread"
        return Basis(text, spread, float("nan") if accuracy is None else accuracy)
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


def _spread(design: Design, expected: Expected) -> float | None:
    """The spread that is stated for the claim, or for its metric."""
    known = {" ".join(key.split()): value for key, value in expected.spread.items()}
    if (own := known.get(" ".join(design.claim.text.split()))) is not None:
        return own
    metric = _measured(design)
    return None if metric is None or metric not in known else known[metric] * _as_pairs(design)


def _measured(design: Design) -> str | None:
    """The one thing that all means of a claim measure, such as `accuracy per input_tokens`; None where they differ."""
    if not isinstance(design.claim, Comparison):
        return str(design.claim.metric)
    found = {one.metric + (f" per {one.per}" if one.per else "") for one in design.claim.quantities}
    return found.pop() if len(found) == 1 else None


def _as_pairs(design: Design) -> float:
    """How far a contrast of independent cells spreads in units of a difference of two; a ratio is one of logs."""
    if design.ratio:
        return 1.0
    heaviest = float((design.weights**2).sum(axis=1).max()) * design.scale**2
    return float(np.sqrt(heaviest / 2))


def _earlier(design: Design, replicates: int, expected: Expected) -> Basis | None:
    """From earlier results of the same cells, where they are there."""
    table = expected.earlier
    if table is None or not set(design.cells) <= set(table.cells):
        return None
    if not all(_holds(table, quantity) for quantity in design.quantities):
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
    """Whether earlier results have what a mean is made of."""
    if lies_in_answers(table, quantity):
        return table.answers is not None
    try:
        table.metric(quantity.metric)
    except DataError:
        return False
    return True


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
