"""Claims in, verdicts out: supported, contradicted or undecided, with the evidence beside them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from cortexdsl.analysis import phrasing
from cortexdsl.analysis.claims.findings import Finding, Scene, deciding, find
from cortexdsl.analysis.claims.over import find_over
from cortexdsl.analysis.phrasing import NO_INTERACTION, ONE_FAILS
from cortexdsl.analysis.tests.compare import by_steps
from cortexdsl.analysis.tests.corrections import adjust, simultaneous_level
from cortexdsl.analysis.tests.intervals import LEVEL
from cortexdsl.analysis.tests.outcome import UNTESTED
from cortexdsl.analysis.tests.signflip import DRAWS
from cortexdsl.analysis.units.answers import NoAnswerError, lies_in_answers
from cortexdsl.analysis.units.columns import Ints
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.spec.claims.arms import Arm, arms_of
from cortexdsl.spec.claims.checks import check_ranges
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import EVERY, NONE, All, Claim, Comparison, parse_claim, parts_of
from cortexdsl.spec.claims.metric_names import KNOWN_METRICS, range_of
from cortexdsl.terms import Floats

COLUMNS = (
    "claim", "estimate", "ci_low", "ci_high", "p", "p_adjusted", "verdict", "test", "exploratory", "note", "null",
    "leans", "corrected", "ci_low_simultaneous", "ci_high_simultaneous",
)  # fmt: skip
Verdict: TypeAlias = Literal["supported", "contradicted", "undecided"]


def judge_claims(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    seed: int,
    arms: Sequence[Arm] = (),
    *,
    declared: Collection[str] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    draws: int = DRAWS,
    finished: bool = False,
) -> pd.DataFrame:
    """Answer every claim.

    Parameters
    ----------
    scores : DataFrame or ScoreTable
        One row per dataset, cell, replicate and question.
    claims : sequence of str or Claim
        As in `hypotheses:`.
    seed : int
    arms : sequence of Arm
        The plan's cells; without them, the cells of the table by their names.
    declared : collection of str or None
        The claims that the plan had before the run; others are exploratory. None: all are declared.
    alpha : float
        The error that a verdict may have, over all claims together under `holm` or `hommel`.
    correction : str
        See `cortexdsl.analysis.tests.corrections.adjust`.
    finished : bool
        Of an experiment whose claims fit its methods: a claim about a round that no debate reached, because all had
        ended before, is undecided. Elsewhere it is refused.

    Returns
    -------
    DataFrame
        The columns of hypotheses.csv (`COLUMNS`). Declared claims are adjusted among themselves, exploratory
        ones among all; a declared claim that is no longer made still counts in both. The note says where missing or
        unreadable answers would change the verdict. `ci_low` and `ci_high` are of the claim alone, at 95 %; those
        named simultaneous belong to the adjusted decision at `alpha` (`corrections.simultaneous_level`).

    Raises
    ------
    SpecError, InputError, DataError
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    for claim in parsed:
        _check_scale(table, claim)
    known = tuple(arms) or arms_of(table.cells)
    scenes = [Scene(table, table.datasets, seed, draws, favour) for favour in (0, 1, -1)]
    designs = [design_of(claim, known) for claim in parsed]
    plain = [_examined(design, scenes[0], finished) for design in designs]
    names = None if declared is None else {_plain(text) for text in declared}
    early = [names is None or _plain(claim.text) in names for claim in parsed]
    withdrawn = withdrawn_claims([claim.text for claim in parsed], declared)
    p = np.array([found.p for found in plain])
    groups = [np.flatnonzero(early), np.arange(len(parsed))]
    adjusted_in = [dict(zip(group.tolist(), adjust(p[group], correction, withdrawn), strict=True)) for group in groups]
    levels = [simultaneous_level(p[group], correction, 1 - alpha, withdrawn) for group in groups]
    rows = []
    for i, (claim, found) in enumerate(zip(parsed, plain, strict=True)):
        group, adjusted = groups[not early[i]], float(adjusted_in[not early[i]][i])
        verdict = verdict_of(found, adjusted, alpha)
        level = levels[not early[i]]
        together = _together(designs[i], scenes[0], found, level, finished)
        unseen = found.unseen.note if adjusted <= alpha else ""
        steps = f"decided {by_steps(correction)}" if verdict != "undecided" and found.p > 1 - level else ""
        absent = phrasing.withdrawn(withdrawn, correction)
        note = phrasing.joined(phrasing.untested(found.test), unseen, found.note, steps, absent)
        if any(found.doubtful):
            ends = [_examined(designs[i], scene, finished) for scene in scenes[1:]]
            cases = [verdict_of(end, _adjusted(p, i, end.p, group, correction, withdrawn), alpha) for end in ends]
            note = phrasing.joined(note, phrasing.doubtful_answers(*found.doubtful, verdict, *cases))
        rows.append(row_of(claim, replace(found, note=note), adjusted, verdict, not early[i], together))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _together(design: Design, scene: Scene, found: Finding, level: float, finished: bool) -> tuple[float, float]:
    """Return the interval that belongs to the adjusted decision about a claim.

    If several tests share the error of saying that the claim does not hold, it is wider by their number.
    """
    level = 1 - (1 - level) / found.parts
    if level == LEVEL or np.isnan(found.p):
        return found.low, found.high
    widened = _examined(design, replace(scene, level=level), finished)
    return widened.low, widened.high


def _examined(design: Design, scene: Scene, finished: bool) -> Finding:
    try:
        return examine(design, scene)
    except NoAnswerError as error:
        if not finished:
            raise
        return Finding(np.nan, np.nan, np.nan, f"{UNTESTED}{error}", False, np.nan)


def _check_scale(table: ScoreTable, claim: Claim) -> None:
    """Refuse a claim whose outcome is known beforehand, where the table's metrics are on the scale that we know."""
    for part in parts_of(claim):
        for one in part.quantities if isinstance(part, Comparison) else ():
            known = one.metric in KNOWN_METRICS and not lies_in_answers(table, one)
            if known and (which := table.metric(one.metric)).per is None:
                low, high = range_of(one.metric)
                values = table.column(which.column)
                if (values < low).any() or (values > high).any():
                    return
    check_ranges(claim, "the claim")


def row_of(
    claim: Claim, found: Finding, adjusted: float, verdict: Verdict, exploratory: bool,
    together: tuple[float, float] = (np.nan, np.nan),
) -> tuple[object, ...]:  # fmt: skip
    """Return a row of hypotheses.csv, in the order of `COLUMNS`.

    `together` is the interval that belongs to the adjusted decision.

    `leans` says of an undecided claim on which side of it the estimate lies; empty where nothing was tested, and of an
    interaction, which has no side. `corrected` is the estimate corrected for looks that could have stopped the
    experiment; NaN if there were none.
    """
    numbers = (found.estimate, found.low, found.high, found.p, adjusted)
    leans = ""
    if verdict == "undecided" and not np.isnan(found.p) and found.null != NO_INTERACTION:
        leans = phrasing.leaning(supports=found.supports, even=found.even)
    texts = (verdict, found.test, exploratory, found.note, found.null, leans)
    return (claim.text, *numbers, *texts, found.corrected, *together)


def examine(design: Design, scene: Scene) -> Finding:
    """Test a claim: all its parts, on the datasets that it names (one, the mean over all, every one, none)."""
    claim = design.claim
    if isinstance(claim, All):
        return _all_parts(design, scene)
    if claim.over is not None:
        return find_over(design, scene)
    if claim.dataset in (EVERY, NONE):
        return _dataset_by_dataset(design, scene)
    if claim.dataset is not None:
        return find(design, replace(scene, datasets=(claim.dataset,)))
    found = find(design, scene)
    if len(scene.datasets) == 1:
        return found
    held = sum(find(design, replace(scene, datasets=(name,))).supports for name in scene.datasets)
    return replace(found, note=phrasing.joined(found.note, phrasing.over_datasets(held, len(scene.datasets))))


def _dataset_by_dataset(design: Design, scene: Scene) -> Finding:
    """That a claim holds on every dataset; or on none, which is that its opposite holds on every one."""
    each = [find(design, replace(scene, datasets=(name,))) for name in scene.datasets]
    held = sum(found.supports for found in each)
    if design.claim.dataset == NONE:
        each = [replace(found, supports=not found.supports) for found in each]
    at, chosen = deciding(each)
    note = phrasing.weakest_dataset(scene.datasets[at], held, len(each), is_none=design.claim.dataset == NONE)
    return replace(chosen, note=phrasing.joined(chosen.note, note))


def _all_parts(design: Design, scene: Scene) -> Finding:
    """That several claims hold at once: shown is the one that decides."""
    each = [examine(part, scene) for part in design.parts]
    at, chosen = deciding(each)
    held = sum(found.supports for found in each)
    note = phrasing.weakest_part(design.parts[at].claim.text, held, len(each))
    counts = tuple(max(found.doubtful[k] for found in each) for k in (0, 1))
    return replace(
        chosen, note=phrasing.joined(chosen.note, note), doubtful=(counts[0], counts[1]),
        null=f"{ONE_FAILS}{chosen.null}",
    )  # fmt: skip


def verdict_of(found: Finding, adjusted: float, alpha: float) -> Verdict:
    """Return undecided unless the adjusted p is at most alpha and nothing unseen turns it; else the way it leans."""
    if not adjusted <= alpha or found.unseen.turns:
        return "undecided"
    return "supported" if found.supports else "contradicted"


def _plain(text: str) -> str:
    return " ".join(text.split())


def withdrawn_claims(claims: Collection[str], declared: Collection[str] | None) -> int:
    """Count the claims that were declared before the run and are no longer made."""
    return len({_plain(text) for text in declared or ()} - {_plain(text) for text in claims})


def _adjusted(p: Floats, at: int, own: float, group: Ints, correction: str, withdrawn: int) -> float:
    """The adjusted p of one claim within its group, its own p replaced by `own`."""
    changed = p.copy()
    changed[at] = own
    return float(adjust(changed[group], correction, withdrawn)[int(np.flatnonzero(group == at)[0])])
