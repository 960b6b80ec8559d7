"""The exact test of two accuracies: against enumeration, by hand, its size, and that interval and p agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from cortexdsl.stats.inference.paired import MOST_QUESTIONS, Paired, score


def likeliest(wins: int, losses: int, questions: int, null: float) -> float:
    """Return Tango's score with the variance of the likeliest shares, found by a search."""

    def unlikely(lost: float) -> float:
        chances = np.array([lost + null, lost, 1 - 2 * lost - null])
        counts = np.array([wins, losses, questions - wins - losses])
        return -float((counts * np.log(np.maximum(chances, 1e-300)))[counts > 0].sum())

    low, high = max(0.0, -null), (1 - null) / 2
    lost = optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (wins - losses - questions * null) / np.sqrt(questions * (2 * lost + null - null**2))


@pytest.mark.parametrize("null", [0.0, -0.05, 0.1, -0.3])
@pytest.mark.parametrize(("wins", "losses"), [(7, 1), (3, 3), (5, 0), (0, 4), (12, 6)])
def test_the_score_is_that_of_the_likeliest_shares(wins: int, losses: int, null: float) -> None:
    assert score(np.array(wins), np.array(losses), 21, null) == pytest.approx(
        likeliest(wins, losses, 21, null), abs=1e-4
    )


def test_tangos_interval_of_a_published_table() -> None:
    """7 and 1 of 21 children: Tango's interval is .026 to .517 (Fagerland, Lydersen and Laake 2014, table VI)."""
    ends = [
        optimize.brentq(lambda d, z=z: float(score(np.array(7), np.array(1), 21, d)) - z, -0.9, 0.9)
        for z in (1.96, -1.96)
    ]
    assert ends == pytest.approx([0.026, 0.517], abs=5e-4)


def limits(questions: int) -> np.ndarray:
    """Return Tango's lower limit of every result, (wins, losses); NaN for impossible ones."""
    found = np.full((questions + 1, questions + 1), np.nan)
    for wins in range(questions + 1):
        for losses in range(questions + 1 - wins):
            found[wins, losses] = -1.0
            own = np.array(wins), np.array(losses), questions
            if losses < questions:
                found[wins, losses] = optimize.brentq(
                    lambda d, own=own: float(score(*own, d)) - 1.959964, -1 + 1e-9, 1 - 1e-12
                )
    return found


@pytest.mark.parametrize("null", [0.0, -0.1])
def test_p_is_the_largest_probability_of_results_at_least_as_extreme(null: float) -> None:
    """Twelve questions: all results in order of their limits, at 60 shares that the observed one does not rule out."""
    order = limits(12)
    for wins, losses in ((6, 1), (3, 0), (8, 3), (0, 0)):
        number = wins + losses
        low = stats.beta.ppf(5e-7, number, 13 - number) if number else 1e-12
        shares = np.maximum(np.linspace(low, stats.beta.isf(5e-7, number + 1, 12 - number), 60), abs(null))
        beyond = [tuple(place) for place in np.argwhere(order >= order[wins, losses] - 1e-9)]
        most = max(
            sum(
                stats.multinomial.pmf([w, v, 12 - w - v], 12, [(share + null) / 2, (share - null) / 2, 1 - share])
                for w, v in beyond
            )
            for share in shares
        )
        assert Paired(wins, losses, 12).sides(null)[0] == pytest.approx(most + 1e-6, rel=1e-6)


@pytest.mark.parametrize("questions", [10, 20])
@pytest.mark.parametrize("null", [0.0, -0.05, 0.1])
def test_no_share_of_differing_questions_errs_more_often_than_stated(questions: int, null: float) -> None:
    """Every result with its probability, at 101 shares: at most 2.5 % on either side."""
    results = [(w, v) for w in range(questions + 1) for v in range(questions + 1 - w)]
    sides = np.array([Paired(w, v, questions).sides(null) for w, v in results]) <= 0.025
    counts = np.array([(w, v, questions - w - v) for w, v in results])
    for share in np.linspace(max(abs(null), 0.01), 1, 101):
        chances = stats.multinomial.pmf(counts, questions, [(share + null) / 2, (share - null) / 2, 1 - share])
        assert (chances @ sides <= 0.025 + 1e-4).all()


@pytest.mark.parametrize(("wins", "losses", "questions"), [(0, 0, 20), (5, 0, 20), (9, 1, 30), (20, 0, 20), (1, 0, 1)])
def test_interval_and_p_agree(wins: int, losses: int, questions: int) -> None:
    pair = Paired(wins, losses, questions)
    low, high = pair.interval()
    assert -1 <= low <= (wins - losses) / questions <= high <= 1
    for end, side, out in ((low, 0, -1e-6), (high, 1, 1e-6)):
        if abs(end) < 1:
            assert pair.sides(end + out)[side] <= 0.025 < pair.sides(end - out)[side]


def test_a_million_results_mirror() -> None:
    assert Paired(9, 1, 30).sides(0.1) == Paired(1, 9, 30).sides(-0.1)[::-1]
    assert Paired(9, 1, 30).interval() == tuple(-end for end in reversed(Paired(1, 9, 30).interval()))


def test_questions_that_never_differ_prove_nothing() -> None:
    """Of 20 questions none differs: a margin of 5 points is not shown, one of 20 points is."""
    assert Paired(0, 0, 20).sides(0.0) == (1.0, 1.0)
    assert Paired(0, 0, 20).sides(-0.05)[0] == pytest.approx(0.95**20, abs=1e-5)
    assert Paired(0, 0, 20).sides(-0.2)[0] <= 0.025


def test_p_falls_away_from_the_estimate() -> None:
    pair = Paired(30, 22, MOST_QUESTIONS)
    above = [pair.sides(null)[0] for null in np.linspace(-1, 1, 60)]
    assert (np.diff(above) >= -1e-12).all()
