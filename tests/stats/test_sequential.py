"""Evidence at any time: fair games by enumeration, values by hand, and where an experiment stops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from cortexdsl.claims.cells import cells_of
from cortexdsl.claims.designs import design_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.errors import InputError
from cortexdsl.stats.sequential.evidence import (
    BETS,
    Mean,
    anytime_p,
    betting_above,
    mixture_above,
    ratio_interval,
)
from cortexdsl.stats.sequential.sequential import evaluate_anytime
from cortexdsl.stats.sequential.streams import stream_of
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.looks import stopping_point
from tests.stats.tables import long_table


def test_the_game_is_fair() -> None:
    """Over all sign patterns of ten differences the mean e-value is 1, at every time."""
    patterns = np.array(list(product([-1.0, 1.0], repeat=10)))
    bets = np.exp([betting_above(row, 0.0, -1.0) for row in patterns])
    assert bets.mean(axis=0) == pytest.approx(np.ones(10))


def test_one_bet_by_hand() -> None:
    """A difference of 1 multiplies a stake of bet b by 1 + b."""
    assert np.exp(betting_above(np.array([1.0]), 0.0, -1.0)[0]) == pytest.approx(np.mean(1 + BETS))


def test_the_mixture_by_hand() -> None:
    """Of 3, 1 and -2 against 0: with two more of -2 the sum is -2 and the squares 22, of five: u = -2 sqrt(.2 / 26.4).

    log(2 Phi(u)) + u^2 / 2 - log(1.2) / 2 with Phi(-.17408) = .43090.
    """
    found = mixture_above(np.array([3.0, 1.0, -2.0]), 0.0)[-1]
    assert found == pytest.approx(np.log(2 * 0.43090) + 0.17408**2 / 2 - np.log(1.2) / 2, abs=1e-4)
    assert mixture_above(np.zeros(3), 0.0).tolist() == [0, 0, 0]


@pytest.mark.parametrize("bounds", [(-3.0, 3.0), None])
def test_below_is_above_turned_round(bounds: tuple[float, float] | None) -> None:
    values = np.array([0.3, -0.5, 0.1, 2.0])
    assert Mean(values, bounds).below(0.2) == pytest.approx(Mean(-values, bounds).above(-0.2))


def test_p_is_that_of_the_evidence_as_it_stands() -> None:
    """Two sides over an e-value of 80, and at most 1."""
    assert anytime_p(np.log(80.0)) == pytest.approx(2 / 80)
    assert anytime_p(np.log(0.1)) == 1.0


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), None])
def test_an_interval_ends_where_evidence_reaches_its_bound(bounds: tuple[float, float] | None) -> None:
    """At each end the e-value is 2 / .05 = 40, and ten times the values make it about a third as wide."""
    random = np.random.default_rng(0)
    values = random.choice([-1.0, 0.0, 1.0], 2000, p=[0.1, 0.7, 0.2])
    early, late = Mean(values[:200], bounds), Mean(values, bounds)
    low, high = late.interval(0.95)
    assert low < 0.1 < high
    assert [np.exp(late.above(low)), np.exp(late.below(high))] == pytest.approx([40, 40], rel=1e-3)
    assert 2 < np.ptp(early.interval(0.95)) / (high - low) < 5


@pytest.mark.parametrize("scale", [1e-7, 1e7])
def test_the_interval_of_a_ratio_has_no_unit(scale: float) -> None:
    """Dollars for tokens: the ratio and both ends are so many times as large."""
    random = np.random.default_rng(4)
    top, bottom = random.lognormal(0, 0.4, (2, 400))
    plain, scaled = ratio_interval(top, bottom, 0.95), ratio_interval(scale * top, bottom, 0.95)
    assert 0.8 < plain[0] < plain[1] < 1.25
    assert np.array(scaled) / scale == pytest.approx(np.array(plain), rel=1e-4)


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_the_interval_of_a_mean_without_bounds_has_no_unit(scale: float) -> None:
    values = np.random.default_rng(5).lognormal(0, 0.4, 200)
    plain, scaled = Mean(values, None).interval(0.95), Mean(scale * values, None).interval(0.95)
    assert plain[0] < values.mean() < plain[1]
    assert np.array(scaled) / scale == pytest.approx(np.array(plain), rel=1e-4)


@pytest.mark.parametrize("bounds", [(-3.0, 3.0), None])
def test_the_evidence_is_that_of_all_values_the_last_included(bounds: tuple[float, float] | None) -> None:
    values = np.array([0.3, -0.5, 0.1, 2.0, 0.4])
    course = betting_above(values, 0.1, -3.0) if bounds else mixture_above(values, 0.1)
    for n in (3, 4, 5):
        assert Mean(values[:n], bounds).above(0.1) == pytest.approx(float(course[n - 1]))


def test_few_values_without_bounds_have_no_interval() -> None:
    """A value that was not yet seen could be the whole mean."""
    assert np.isnan(Mean(np.arange(5.0), None).interval(0.95)).all()
    assert np.isnan(ratio_interval(np.ones(5), np.ones(5), 0.95)).all()


def _table(gain: float, questions: int = 600) -> pd.DataFrame:
    random = np.random.default_rng(2)
    ability = random.uniform(0.2, 0.6, questions)
    frame = long_table(
        {c: (random.random((2, questions)) < ability + d).astype(float) for c, d in (("a", gain), ("b", 0))}
    )
    tokens = np.where(frame["cell"] == "a", 60.0, 100.0) * random.normal(1, 0.1, len(frame))
    return frame.assign(tokens=tokens, calls=np.where(frame["cell"] == "a", 3, 1))


def test_a_large_difference_stops_early_and_saves_calls() -> None:
    claims = ["accuracy(a) > accuracy(b)", "tokens(a) <= 0.7 * tokens(b)"]
    found = stopping_point(_table(0.3), claims, batch=50, fewest=50)
    assert found.verdicts["verdict"].tolist() == ["supported", "supported"]
    asked = found.questions["data"]
    assert asked < 300
    assert found.saved == pytest.approx(1 - asked / 600)
    assert [decided == 2 for _, decided in found.looks] == [False] * (len(found.looks) - 1) + [True]


def test_no_difference_runs_to_the_end() -> None:
    found = stopping_point(_table(0.0), ["accuracy(a) > accuracy(b)"], batch=100)
    assert (found.questions, found.saved) == ({"data": 600}, 0)
    assert found.verdicts["verdict"].tolist() == ["undecided"]


def test_other_claims_at_any_time() -> None:
    frame = _table(0.3)
    claims = {
        "accuracy(a) == accuracy(b) +- 0.1": "contradicted",
        "accuracy(b) >= accuracy(a) - 0.05": "contradicted",
        "accuracy(a) > 0.5": "supported",
        "tokens(a) > tokens(b)": "contradicted",
    }
    found = evaluate_anytime(frame, list(claims), correction="none")
    assert found["verdict"].tolist() == list(claims.values())
    assert found["ci_low"][2] < found["estimate"][2] < found["ci_high"][2]
    grid = frame.replace({"cell": {"a": "s[rounds=2]", "b": "s[rounds=1]"}})
    found = evaluate_anytime(grid, ["accuracy(s[rounds]) increasing", "best rounds of s is 1"])
    assert found["verdict"].tolist() == ["supported", "contradicted"]


def test_equivalent_methods_are_shown_equivalent() -> None:
    """Discordant on 6 % of 1,500 questions, three points each way: within eight points at any time."""
    first = np.tile([1.0] * 50 + [0.0] * 50, 15)
    second = first.copy()
    second[::33] = 1 - second[::33]
    found = evaluate_anytime(long_table({"a": first[None], "b": second[None]}), ["accuracy(a) == accuracy(b) +- 0.08"])
    assert found["verdict"][0] == "supported"


def test_a_claim_about_a_ratio_tests_the_ratio() -> None:
    """Most questions of a cost .7 of b, some twice as much: the ratio of means is above .8, and the claim is not so.

    A test of signs, which looks at the typical question, supported it.
    """
    random = np.random.default_rng(1)
    b = random.lognormal(6, 0.3, 600)
    a = b * np.where(random.random(600) < 0.15, 2.0, 0.7)
    frame = long_table({"a": a[None], "b": b[None]}, metric="tokens")
    claim = "tokens(a) <= 0.8 * tokens(b)"
    found, fixed = evaluate_anytime(frame, [claim]).iloc[0], evaluate_claims(frame, [claim], seed=1).iloc[0]
    assert found["estimate"] == pytest.approx(a.mean() / b.mean()) == pytest.approx(fixed["estimate"])
    assert (found["verdict"], fixed["verdict"]) == ("contradicted", "contradicted")
    assert 0.8 < found["ci_low"] < found["estimate"] < found["ci_high"] < 1.1
    assert found["test"] == "e-process of the mean, asymptotic, of a - 0.8 * b"


@pytest.mark.parametrize("spread", [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0)], ids=["both", "first", "second"])
def test_skewed_tokens_at_the_bound_are_rarely_decided(spread: tuple[float, float]) -> None:
    """True ratio .8, lognormal tokens, looked at after 20 of 500 questions and after every 10 more: 5 % of 400 at most.

    And three standard errors.
    """
    random = np.random.default_rng(4)
    wrong, looks = 0, np.arange(20, 501, 10) - 1
    for _ in range(400):
        base = random.lognormal(6, 0.6, 500)
        a, b = (base * random.lognormal(-(sigma**2) / 2, sigma, 500) for sigma in spread)
        values = 0.8 * a - 0.8 * b
        sides = (mixture_above(values, 0.0), mixture_above(-values, 0.0))
        wrong += bool((np.maximum(*sides)[looks] >= np.log(2 / 0.05)).any())
    assert wrong <= 400 * (0.05 + 3 * np.sqrt(0.05 * 0.95 / 400))


CLAIMS = [
    "score(a) > score(b)",
    "score(a) >= score(b) - 0.05",
    "score(a) == score(b) +- 0.1",
    "score(a) <= 0.9 * score(b)",
    "score(a) > 0.5",
    "tokens(a) > tokens(b)",
    "tokens(a) <= 0.8 * tokens(b)",
    "score(a) > score(b) on every dataset",
]


@pytest.mark.parametrize("run", range(12))
def test_verdicts_at_a_look_and_at_a_fixed_number_never_contradict(run: int) -> None:
    """Evidence for a side comes only with an estimate on that side: nowhere says one yes and the other no."""
    random = np.random.default_rng(run)
    gain, ratio = random.choice([-0.3, -0.1, 0.0, 0.1, 0.3]), random.choice([0.6, 0.8, 1.0])
    frames = []
    for name, questions in (("x", int(random.integers(30, 200))), ("y", int(random.integers(30, 200)))):
        ability = random.uniform(0.2, 0.7, questions)
        gains = {"a": gain, "b": 0.0}
        scores = {cell: (random.random((2, questions)) < ability + d).astype(float) for cell, d in gains.items()}
        tokens = random.lognormal(6, 0.8, (2, 2, questions)) * np.array([ratio, 1.0])[:, None, None]
        frame = long_table(scores, dataset=name)
        frames.append(frame.assign(tokens=tokens.reshape(-1)[np.arange(len(frame))]))
    frame = pd.concat(frames, ignore_index=True)
    early = evaluate_anytime(frame, CLAIMS, correction="none")
    fixed = evaluate_claims(frame, CLAIMS, seed=1, correction="none", draws=499)
    verdicts = [set(pair) for pair in zip(early["verdict"], fixed["verdict"], strict=True)]
    assert {"supported", "contradicted"} not in verdicts


def test_datasets_of_unequal_size_end_together() -> None:
    """Of 3 and 7 questions: blocks of one question and of 2, 2 and 3 (by 7 k / 3, rounded down); none is left out."""
    frame = pd.concat(
        [
            long_table({"a": np.array([[1.0, 0.0, 1.0]])}, dataset="x"),
            long_table({"a": np.array([[1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]])}, dataset="y"),
        ]
    )
    design = design_of(parse_claim("accuracy(a) > 0.5"), cells_of(["a"]))
    found = stream_of(score_table(frame), design, ("x", "y"), {"x": 3, "y": 7})
    assert found.values[0].tolist() == pytest.approx([(1 + 1 / 2) / 2, (0 + 1) / 2, (1 + 1 / 3) / 2])
    assert found.bounds.tolist() == [[0.0, 1.0]]


def test_all_questions_of_unequal_datasets_are_counted() -> None:
    """60 and 600 questions of equal methods: undecided to the end, after 660; a look has a like share of both."""
    frame = pd.concat([_table(0.0, 60).assign(dataset="x"), _table(0.0, 600).assign(dataset="y")], ignore_index=True)
    found = stopping_point(frame, ["accuracy(a) > accuracy(b)"], batch=100, fewest=100)
    assert found.questions == {"x": 60, "y": 600}
    assert [questions for questions, _ in found.looks] == [110, 220, 330, 440, 550, 660]
    assert found.saved == 0


def test_what_is_known_of_a_metric_decides_which_evidence_it_has() -> None:
    """A Brier score lies in [0, 1], a gain in [-1, 1]; tokens have no end, scores in percent are beyond theirs."""
    random = np.random.default_rng(0)
    frame = long_table({cell: random.random((1, 60)) for cell in "ab"})
    frame = frame.assign(
        brier_stated=random.random(120), gain=random.uniform(-1, 1, 120), tokens=random.random(120) * 9
    )
    for metric, name in {"brier": "", "gain": "", "tokens": ", asymptotic"}.items():
        claim = f"{metric}(a) > {metric}(b)"
        assert evaluate_anytime(frame, [claim])["test"][0] == f"e-process of the mean{name}"
    percent = frame.assign(score=100 * frame["score"])
    assert evaluate_anytime(percent, ["score(a) > score(b)"])["test"][0].endswith("asymptotic")


@pytest.mark.parametrize(
    "claim", ["score(a) per tokens > score(b) per tokens", "score(a) > score(b) over seeds", "ece(a) < ece(b)"]
)
def test_a_claim_that_is_tested_at_the_end_alone_is_refused(claim: str) -> None:
    """Never another estimand than the claim's."""
    with pytest.raises(InputError, match="cannot be looked at early"):
        evaluate_anytime(_table(0.0, 20), [claim])


def test_what_cannot_be_stopped_on_is_refused() -> None:
    frame = _table(0.0, 20)
    with pytest.raises(InputError, match="holm or none"):
        evaluate_anytime(frame, ["accuracy(a) > accuracy(b)"], correction="bh")
    with pytest.raises(InputError, match="without declared clusters"):
        evaluate_anytime(frame.assign(cluster=frame["question_id"].str[:2]), ["accuracy(a) > accuracy(b)"])
