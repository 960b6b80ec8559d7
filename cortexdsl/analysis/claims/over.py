"""A claim about teams, seeds or datasets like those that were run: they are drawn, as the questions are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cortexdsl.analysis.claims.findings import (
    Finding,
    Scene,
    conclusion_of,
    found_of,
    null_of,
    side_of,
    value_of,
)
from cortexdsl.analysis.tests.contrasts import gap_of
from cortexdsl.analysis.tests.outcome import untested
from cortexdsl.analysis.tests.random_effects import random_effect
from cortexdsl.analysis.tests.unseen import NOTHING_UNSEEN, Unseen, Value, unseen_in
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import Units
from cortexdsl.spec.claims.designs import Design
from cortexdsl.spec.claims.language import Comparison
from cortexdsl.terms import Floats


def find_over(design: Design, scene: Scene) -> Finding:
    """Test a claim over a population of groups; the unit is the question (or its cluster) within each.

    Raises
    ------
    InputError, DataError
        Where the claim needs a metric, cell or dataset that is not there.
    """
    claim = design.claim
    assert isinstance(claim, Comparison) and claim.over  # noqa: PT018 - for the type checker: nothing else has `over`
    groups, samples, places = [], [], []
    for name, part, place in _groups(design, scene):
        sample = place.sample(part)
        if gap := gap_of(sample, range(len(part.quantities))):
            return found_of(untested(f"{name}: {gap}"), False, sample, "")
        contributions = sample.parts.T @ part.weights[0]
        groups.append(np.asarray(contributions * len(contributions)))
        samples.append(sample)
        places.append((part, place.table))
    outcome, note = random_effect(groups, claim.over, design.null, scene.level)
    side = side_of(outcome.estimate, design.null)
    found = replace(found_of(outcome, design.sign * side > 0, samples[0], note), even=side == 0)
    doubtful = (sum(int(s.missing.sum()) for s in samples), sum(int(s.unparsed.sum()) for s in samples))
    return replace(
        found, null=f"{null_of(design)}; {claim.over} like these", doubtful=doubtful,
        unseen=_unseen(samples, places, outcome.estimate),
    )  # fmt: skip


def _unseen(samples: Sequence[Units], places: Sequence[tuple[Design, ScoreTable]], estimate: float) -> Unseen:
    """Say what large values would do that were not seen, taken to be as common in all groups as one can hide them."""
    found = NOTHING_UNSEEN
    for sample, (part, table) in zip(samples, places, strict=True):
        plain = value_of(part, part.weights[0])
        at = plain(sample.means)

        def value(means: Floats, plain: Value = plain, at: float = at) -> float:
            return estimate + plain(means) - at

        found = unseen_in(sample, table, part.quantities, value, partial(conclusion_of, part))
        if found.turns:
            return found
    return found


def _groups(design: Design, scene: Scene) -> list[tuple[str, Design, Scene]]:
    """Each team, seed or dataset: its name, its design and where it is looked at."""
    named = design.claim.dataset
    here = scene if named is None else replace(scene, datasets=(named,))
    if design.claim.over == "teams":
        return [(part.notes[0], part, here) for part in design.parts]
    if design.claim.over == "datasets":
        return [(name, design, replace(scene, datasets=(name,))) for name in scene.datasets]
    codes = np.unique(scene.table.replicate).tolist()
    return [
        (f"replicate {k + 1}", design, replace(here, table=_of_replicate(scene.table, code)))
        for k, code in enumerate(codes)
    ]


def _of_replicate(table: ScoreTable, replicate: int) -> ScoreTable:
    """The rows of one replicate (a code)."""
    rows = table.replicate == replicate
    return replace(
        table,
        frame=table.frame[rows].reset_index(drop=True),
        dataset=table.dataset[rows],
        cell=table.cell[rows],
        replicate=table.replicate[rows],
        question=table.question[rows],
        unparsed=table.unparsed[rows],
    )
