"""Evidence on values without known bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

from cortexdsl.core import Floats
from cortexdsl.stats.sequential.sequential import evaluate_anytime
from cortexdsl.stats.tables.score_table import ScoreTable
from tests.stats.looks import stopping_point
from tests.stats.tables import long_table, planned

Pair = tuple[Floats, Floats]


def table(pair: Pair, metric: str, most: float) -> ScoreTable:
    return planned(long_table(dict(zip("ab", (values[None] for values in pair), strict=True)), metric), most)


def test_counts_are_bet_on_within_the_bounds_of_the_plan() -> None:
    """Rounds of 1 and 3 of at most 5: exact evidence, and no word of a central limit theorem."""
    scores = table((np.full(60, 1.0), np.full(60, 3.0)), "rounds", 5)
    found = evaluate_anytime(scores, ["rounds(a) < rounds(b)", "rounds(a) <= 0.9 * rounds(b)"])
    assert found["verdict"].tolist() == ["supported", "supported"]
    assert not found["test"].str.contains("asymptotic").any()
    assert found["note"].tolist() == ["", ""]


def test_counts_beyond_the_bounds_of_the_plan_are_not_bet_on() -> None:
    found = evaluate_anytime(table((np.full(60, 1.0), np.full(60, 3.0)), "rounds", 2), ["rounds(a) < rounds(b)"])
    assert found["test"].str.contains("asymptotic").all()


@pytest.mark.parametrize(("most", "verdict"), [(200.0, "supported"), (16_000.0, "undecided")])
def test_tokens_are_held_to_what_no_question_showed(most: float, verdict: str) -> None:
    random = np.random.default_rng(0)
    pair = 70 * random.normal(1, 0.1, 200), 100 * random.normal(1, 0.1, 200)
    for claim in ("output_tokens(a) < output_tokens(b)", "output_tokens(a) <= 0.9 * output_tokens(b)"):
        found = evaluate_anytime(table(pair, "output_tokens", most), [claim]).iloc[0]
        assert (found["verdict"], found["p"] < 0.05) == (verdict, True)
        assert ("no question showed" in found["note"]) is (verdict == "undecided")


def rounds_more(random: Generator) -> Pair:
    """One round more in 5 % of questions, which is what the claim allows."""
    return 2.0 + (random.random(200) < 0.05), np.full(200, 2.0)


def rounds_more_rarely(random: Generator) -> Pair:
    return 2.0 + 3 * (random.random(200) < 0.03), np.full(200, 2.0)


def runaways(random: Generator) -> Pair:
    """One question of a hundred writes 40 times as much, so that both means are equal."""
    base = 100 * random.lognormal(-0.08, 0.4, 200)
    return np.where(random.random(200) < 0.01, 4000.0, base), base * 1.39


@pytest.mark.parametrize(
    ("made", "claim", "most"),
    [
        (rounds_more, "rounds(a) <= rounds(b) + 0.05", 5),
        (rounds_more_rarely, "rounds(a) <= rounds(b) + 0.09", 5),
        (runaways, "output_tokens(a) < output_tokens(b)", 4000),
    ],
)
def test_rare_events_do_not_stop_an_experiment_wrongly(
    made: Callable[[Generator], Pair], claim: str, most: float
) -> None:
    """At most 5 % of experiments and three standard errors, of 60, looked at ten times."""
    wrong = 0
    for run in range(60):
        scores = table(made(np.random.default_rng(run)), claim.partition("(")[0], most)
        wrong += stopping_point(scores, [claim], batch=20, fewest=20).verdicts["verdict"][0] != "undecided"
    assert wrong <= 60 * (0.05 + 3 * np.sqrt(0.05 * 0.95 / 60))
