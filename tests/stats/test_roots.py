"""Roots are found, and data that decide at once or never are no error."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.stats.inference.roots import crossing
from cortexdsl.stats.sequential.sequential import stopping_point

finite = st.floats(-100, 100, allow_nan=False)


@given(finite, finite, finite)
def test_the_root_of_a_rising_line(root: float, start: float, end: float) -> None:
    """Of x - root towards larger numbers, of root - x towards smaller ones: the root, the start, or none."""
    sign = 1.0 if end >= start else -1.0
    found = crossing(lambda x: sign * (x - root), start, end)
    if sign * (start - root) >= 0:
        assert found == start
    elif sign * (end - root) < 0:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(root, abs=1e-6)


@pytest.mark.parametrize("seed", range(2, 6))
def test_early_stopping_ends_for_every_table(seed: int) -> None:
    """One round each, and 3 % of the questions take three more: early looks see no difference, and decide at 0."""
    rounds = 1.0 + 3.0 * (np.random.default_rng(seed).random(150) < 0.03)
    rows = [(cell, f"q{k}", 1.0, value) for cell, values in (("a", rounds), ("b", np.ones(150)))
            for k, value in enumerate(values)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["cell", "question_id", "score", "rounds"]).assign(replicate=1, dataset="d")
    found = stopping_point(frame, ["rounds(a) <= 1 * rounds(b)"], batch=10, fewest=10)
    assert set(found.verdicts["verdict"]) <= {"supported", "contradicted", "undecided"}
