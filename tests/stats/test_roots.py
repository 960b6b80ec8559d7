"""Roots are found, and data that decide at once or never are no error."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortexdsl.claims.parser import parse_claim
from cortexdsl.stats.inference.roots import crossing
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.looks import stopping_point

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


COLUMNS = {
    "nothing": lambda draws, count: np.zeros(count),
    "one": lambda draws, count: np.ones(count),
    "yes or no": lambda draws, count: (draws.random(count) < draws.random()).astype(float),
    "rare": lambda draws, count: 1 + 3 * (draws.random(count) < 0.03),
    "skewed": lambda draws, count: draws.lognormal(5, 1.5, count),
}


@settings(max_examples=60, deadline=None)
@given(
    first=st.sampled_from(sorted(COLUMNS)), second=st.sampled_from(sorted(COLUMNS)), seed=st.integers(0, 10**6),
    count=st.integers(2, 50), batch=st.integers(1, 20), metric=st.sampled_from(["score", "rounds", "input_tokens"]),
    form=st.sampled_from(["{m}(a) <= 1 * {m}(b)", "{m}(a) >= 0.5 * {m}(b)", "{m}(a) < {m}(b)", "{m}(a) > 0.5"]),
)  # fmt: skip
def test_every_table_has_a_verdict(
    first: str, second: str, seed: int, count: int, batch: int, metric: str, form: str
) -> None:
    """Constant, rare and skewed values of both cells, tested early and at the end: no search for a root fails."""
    draws = np.random.default_rng(seed)
    values = np.r_[COLUMNS[first](draws, count), COLUMNS[second](draws, count)]
    rows = {"cell": np.repeat(["a", "b"], count), "question_id": [f"q{k}" for k in range(count)] * 2, "score": 1.0}
    frame = pd.DataFrame(rows).assign(**{"replicate": 1, "dataset": "d", metric: values})
    claim = form.format(m=metric)
    early = stopping_point(frame, [claim], batch=batch, fewest=batch).verdicts
    whole = evaluate_claims(frame, [parse_claim(claim)], 1, declared=None, draws=19)
    assert {*early["verdict"], *whole["verdict"]} <= {"supported", "contradicted", "undecided"}
