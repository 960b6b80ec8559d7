"""Verdicts on claims: supported, contradicted or undecided, with the evidence (hypotheses.csv).

A claim may be about one dataset, the mean over datasets, or every one of them. It may also be about a population of
teams, seeds or datasets, with those that were run as a sample.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import CellNames, cells_of
from cortexdsl.claims.designs import Design, design_of
from cortexdsl.claims.meaning import check_ranges
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import (
    EVERY,
    All,
    Claim,
    Comparison,
    Front,
    one_line,
    parts_of,
    range_of,
)
from cortexdsl.core import Floats
from cortexdsl.core.metrics import find_metric
from cortexdsl.errors import DataError
from cortexdsl.stats.findings import (
    ClaimSetting,
    Finding,
    conclusion_of,
    deciding,
    deciding_of_some,
    evaluate_design,
    finding_of_outcome,
    null_of,
    side_of,
    value_of,
)
from cortexdsl.stats.inference import phrases
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.contrasts import gap_of
from cortexdsl.stats.inference.families import adjust, by_steps, simultaneous_level
from cortexdsl.stats.inference.outcomes import LEVEL, UNTESTED, untested_outcome
from cortexdsl.stats.inference.phrases import ONE_FAILS
from cortexdsl.stats.inference.random_effects import random_effect
from cortexdsl.stats.inference.unseen import NOTHING_UNSEEN, Unseen, Value, unseen_in
from cortexdsl.stats.tables.answers import NoAnswerError, lies_in_answers
from cortexdsl.stats.tables.rows import ClaimRow, columns_of_tests
from cortexdsl.stats.tables.score_table import WORDING_COLUMN, Ints, ScoreTable, score_table
from cortexdsl.stats.tables.units import Units

Verdict: TypeAlias = Literal["supported", "contradicted", "undecided"]


def evaluate_claims(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    seed: int,
    arms: Sequence[CellNames] = (),
    *,
    declared: Collection[str] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    draws: int = DRAWS,
    finished: bool = False,
) -> pd.DataFrame:
    """Return the verdict on every claim.

    Parameters
    ----------
    scores : DataFrame or ScoreTable
        One row per dataset, cell, replicate and question.
    claims : sequence of str or Claim
        As in `hypotheses:`.
    seed : int
    arms : sequence of CellNames
        The cells of the plan; by default the cells of the table.
    declared : collection of str or None
        The claims that the plan had before the run; others are exploratory. None if all are declared.
    alpha : float
        The error rate of a verdict; of all claims together under `holm`.
    correction : str
        See `cortexdsl.stats.inference.families.adjust`.
    finished : bool
        Whether the claims fit the methods of a finished experiment: then a claim about a round that no debate reached
        is undecided. Otherwise it is an error.

    Returns
    -------
    DataFrame
        The columns of hypotheses.csv (`ClaimRow`). Declared claims are adjusted among themselves, exploratory
        ones among all; a declared claim that is no longer made still counts in both. The note says if missing or
        unreadable answers would change the verdict. `ci_low` and `ci_high` are of the claim alone, at 95 %; those
        named simultaneous belong to the adjusted decision at `alpha` (`families.simultaneous_level`).

    Raises
    ------
    SpecError, InputError, DataError
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    for claim in parsed:
        _check_scale(table, claim)
    known = tuple(arms) or cells_of(table.cells)
    settings = [ClaimSetting(table, table.datasets, seed, draws, favour) for favour in (0, 1, -1)]
    designs = [design_of(claim, known) for claim in parsed]
    plain = [_examined(design, settings[0], finished) for design in designs]
    names = None if declared is None else {one_line(text) for text in declared}
    early = [names is None or one_line(claim.text) in names for claim in parsed]
    withdrawn = withdrawn_claims([claim.text for claim in parsed], declared)
    p = np.array([finding.p for finding in plain])
    groups = [np.flatnonzero(early), np.arange(len(parsed))]
    adjusted_in = [dict(zip(group.tolist(), adjust(p[group], correction, withdrawn), strict=True)) for group in groups]
    levels = [simultaneous_level(p[group], correction, 1 - alpha, withdrawn) for group in groups]
    rows = []
    for i, (claim, finding) in enumerate(zip(parsed, plain, strict=True)):
        group, adjusted = groups[not early[i]], float(adjusted_in[not early[i]][i])
        verdict = verdict_of(finding, adjusted, alpha)
        level = levels[not early[i]]
        together = _together(designs[i], settings[0], finding, level, finished)
        unseen = finding.unseen.note if adjusted <= alpha else ""
        steps = f"decided {by_steps(correction)}" if verdict != "undecided" and finding.p > 1 - level else ""
        absent = phrases.withdrawn(withdrawn, correction)
        note = phrases.joined(phrases.untested(finding.test), unseen, finding.note, steps, absent)
        if any(finding.doubtful):
            ends = [_examined(designs[i], setting, finished) for setting in settings[1:]]
            cases = [verdict_of(end, _adjusted(p, i, end.p, group, correction, withdrawn), alpha) for end in ends]
            note = phrases.joined(note, phrases.doubtful_answers(*finding.doubtful, verdict, *cases))
        rows.append(row_of(claim, replace(finding, note=note), adjusted, verdict, not early[i], together))
    return pd.DataFrame(rows, columns=columns_of_tests(ClaimRow))


def _together(
    design: Design, setting: ClaimSetting, finding: Finding, level: float, finished: bool
) -> tuple[float, float]:
    """Return the interval that belongs to the adjusted decision about a claim.

    If several tests share the error of saying that the claim is false, its level counts their number.
    """
    level = 1 - (1 - level) / finding.parts
    if level == LEVEL or np.isnan(finding.p):
        return finding.low, finding.high
    widened = _examined(design, replace(setting, level=level), finished)
    return widened.low, widened.high


def _examined(design: Design, setting: ClaimSetting, finished: bool) -> Finding:
    try:
        return evaluate_claim(design, setting)
    except NoAnswerError as error:
        if not finished:
            raise
        return Finding(np.nan, np.nan, np.nan, f"{UNTESTED}{error}", False, np.nan)


def _check_scale(table: ScoreTable, claim: Claim) -> None:
    """Refuse a claim that no outcome could decide, if the metrics of the table have their declared range."""
    for part in parts_of(claim):
        for one in part.quantities if isinstance(part, Comparison) else ():
            known = find_metric(one.metric) is not None and not lies_in_answers(table, one)
            if known and (which := table.metric(one.metric)).per is None:
                low, high = range_of(one.metric)
                values = table.column(which.column)
                if (values < low).any() or (values > high).any():
                    return
    check_ranges(claim, "the claim")


def row_of(
    claim: Claim, finding: Finding, adjusted: float, verdict: Verdict, exploratory: bool,
    together: tuple[float, float] = (np.nan, np.nan),
) -> tuple[object, ...]:  # fmt: skip
    """Return a row of hypotheses.csv, in the order of `ClaimRow`.

    `together` is the interval that belongs to the adjusted decision. The column `leans` names the side of an undecided
    claim that the estimate is on; it is empty if nothing was tested.
    """
    numbers = (finding.estimate, finding.low, finding.high, finding.p, adjusted)
    leans = ""
    if verdict == "undecided" and not np.isnan(finding.p):
        leans = phrases.leaning(supports=finding.supports, even=finding.even)
    texts = (verdict, finding.test, exploratory, finding.note, finding.null, leans)
    return (claim.text, *numbers, *texts, *together)


def evaluate_claim(design: Design, setting: ClaimSetting) -> Finding:
    """Test a claim with all its parts, on the datasets that it names (one, the mean over all, every one, none)."""
    claim = design.claim
    if isinstance(claim, All):
        return _all_parts(design, setting)
    if isinstance(claim, Front):
        return _front(design, setting)
    if claim.over is not None:
        return _over_groups(design, setting)
    if claim.dataset == EVERY:
        return _dataset_by_dataset(design, setting)
    if claim.dataset is not None:
        return evaluate_design(design, replace(setting, datasets=(claim.dataset,)))
    finding = evaluate_design(design, setting)
    if len(setting.datasets) == 1:
        return finding
    favoured = sum(evaluate_design(design, replace(setting, datasets=(name,))).supports for name in setting.datasets)
    return replace(finding, note=phrases.joined(finding.note, phrases.over_datasets(favoured, len(setting.datasets))))


def _dataset_by_dataset(design: Design, setting: ClaimSetting) -> Finding:
    """Test that a claim holds on every dataset."""
    each = [evaluate_design(design, replace(setting, datasets=(name,))) for name in setting.datasets]
    favoured = sum(finding.supports for finding in each)
    at, chosen = deciding(each)
    note = phrases.weakest_dataset(setting.datasets[at], favoured, len(each))
    return replace(chosen, note=phrases.joined(chosen.note, note))


def _all_parts(design: Design, setting: ClaimSetting) -> Finding:
    """Test that several claims hold at once; the finding is the one that decides."""
    each = [evaluate_claim(part, setting) for part in design.parts]
    at, chosen = deciding(each)
    favoured = sum(finding.supports for finding in each)
    note = phrases.weakest_part(design.parts[at].claim.text, favoured, len(each))
    null = f"{ONE_FAILS}{chosen.null}"
    return replace(chosen, note=phrases.joined(chosen.note, note), doubtful=_doubtful(each), null=null)


def _front(design: Design, setting: ClaimSetting) -> Finding:
    """Test that a cell is better than each other one on some metric; the finding is that of the one that decides."""
    each, texts = [], []
    for rival in design.parts:
        findings = [evaluate_design(part, _within_dataset(part, setting)) for part in rival.parts]
        at, finding = deciding_of_some(findings)
        each.append(finding)
        texts.append(rival.parts[at].claim.text)
    at, chosen = deciding(each)
    note = phrases.decides(texts[at], sum(finding.supports for finding in each), len(each))
    null = phrases.dominated(chosen.null)
    return replace(chosen, note=phrases.joined(chosen.note, note), doubtful=_doubtful(each), null=null)


def _doubtful(parts: Sequence[Finding]) -> tuple[int, int]:
    """Return the missing and unreadable rows of a claim with parts: those of the part that has most."""
    return max(one.doubtful[0] for one in parts), max(one.doubtful[1] for one in parts)


def _within_dataset(design: Design, setting: ClaimSetting) -> ClaimSetting:
    named = design.claim.dataset
    return setting if named is None else replace(setting, datasets=(named,))


def verdict_of(finding: Finding, adjusted: float, alpha: float) -> Verdict:
    """Return the verdict: decided if the adjusted p is at most alpha and no unseen value could reverse it."""
    if not adjusted <= alpha or finding.unseen.turns:
        return "undecided"
    return "supported" if finding.supports else "contradicted"


def withdrawn_claims(claims: Collection[str], declared: Collection[str] | None) -> int:
    """Count the claims that were declared before the run and are no longer made."""
    return len({one_line(text) for text in declared or ()} - {one_line(text) for text in claims})


def _adjusted(p: Floats, at: int, own: float, group: Ints, correction: str, withdrawn: int) -> float:
    """Return the adjusted p of one claim within its group if its p were `own`."""
    changed = p.copy()
    changed[at] = own
    return float(adjust(changed[group], correction, withdrawn)[int(np.flatnonzero(group == at)[0])])


def _over_groups(design: Design, setting: ClaimSetting) -> Finding:
    """Test a claim over a population of groups; units are the questions (or clusters) of each group.

    Raises
    ------
    InputError, DataError
        The claim needs a metric, cell or dataset that the table lacks.
    """
    claim = design.claim
    assert isinstance(claim, Comparison) and claim.over  # noqa: PT018 - for the type checker: nothing else has `over`
    groups, samples, places = [], [], []
    for name, part, place in _groups(design, setting):
        sample = place.sample(part)
        if gap := gap_of(sample, range(len(part.quantities))):
            return finding_of_outcome(untested_outcome(f"{name}: {gap}"), False, sample, "")
        contributions = sample.parts.T @ part.weights[0]
        groups.append(np.asarray(contributions * len(contributions)))
        samples.append(sample)
        places.append((part, place.table))
    outcome, note = random_effect(groups, claim.over, design.null, setting.level)
    side = side_of(outcome.estimate, design.null)
    finding = replace(finding_of_outcome(outcome, design.sign * side > 0, samples[0], note), even=side == 0)
    doubtful = (sum(int(s.missing.sum()) for s in samples), sum(int(s.unparsed.sum()) for s in samples))
    return replace(
        finding, null=f"{null_of(design)}; {claim.over} like these", doubtful=doubtful,
        unseen=_unseen(samples, places, outcome.estimate),
    )  # fmt: skip


def _unseen(samples: Sequence[Units], places: Sequence[tuple[Design, ScoreTable]], estimate: float) -> Unseen:
    """Return how large values would change the estimate, if they are as common in all groups as one could miss."""
    unseen = NOTHING_UNSEEN
    for sample, (part, table) in zip(samples, places, strict=True):
        plain = value_of(part, part.weights[0])
        at = plain(sample.means)

        def value(means: Floats, plain: Value = plain, at: float = at) -> float:
            return estimate + plain(means) - at

        unseen = unseen_in(sample, table, part.quantities, value, partial(conclusion_of, part))
        if unseen.turns:
            return unseen
    return unseen


def _groups(design: Design, setting: ClaimSetting) -> list[tuple[str, Design, ClaimSetting]]:
    """Return the name, design and setting of each team, seed, dataset, wording or fit (one for each replicate)."""
    here = _within_dataset(design, setting)
    if design.claim.over == "teams":
        return [(part.notes[0], part, here) for part in design.parts]
    if design.claim.over == "datasets":
        return [(name, design, replace(setting, datasets=(name,))) for name in setting.datasets]
    if design.claim.over == "prompts":
        groups = setting.table.wordings(design.cells)
        if not groups:
            raise DataError(
                f"{setting.table.source}: {design.claim.text!r} is over prompts, and no cell of it has wordings"
                f"\n    write prompts: {{STEP: {{variants: [...]}}}}; a table names them in the column {WORDING_COLUMN}"
            )
        return [
            (
                f"wording {' and '.join(dict.fromkeys(names))}",
                design,
                replace(here, table=here.table.of_replicates(own)),
            )
            for names, own in groups.items()
        ]
    codes = np.unique(setting.table.replicate).tolist()
    word = "fit" if design.claim.over == "fits" else "replicate"
    return [
        (f"{word} {k + 1}", design, replace(here, table=setting.table.of_replicates([code])))
        for k, code in enumerate(codes)
    ]
