"""Several datasets: Demsar's worked example, the tie trap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.errors import DataError
from cortexdsl.stats.inference.families import adjust
from cortexdsl.stats.inference.rankings import critical_difference, iman_davenport, rank_cells, rank_methods
from tests.stats.tables import long_table

RANKS = [44 / 14, 28 / 14, 40.5 / 14, 27.5 / 14]
"""Mean ranks of C4.5, +m, +cf, +m+cf on 14 data sets: 3.143, 2.000, 2.893, 1.964 (Demsar 2006, Table 6)."""
ACCURACIES = pd.DataFrame(
    {
        "C4.5": [.763, .599, .954, .628, .882, .936, .661, .583, .775, 1.0, .940, .619, .972, .957],
        "+m": [.768, .591, .971, .661, .888, .931, .668, .583, .838, 1.0, .962, .666, .981, .978],
        "+cf": [.771, .590, .968, .654, .886, .916, .609, .563, .866, 1.0, .965, .614, .975, .946],
        "+m+cf": [.798, .569, .967, .657, .898, .931, .685, .625, .875, 1.0, .962, .669, .975, .970],
    }
)  # fmt: skip


def test_friedman_and_iman_davenport_of_demsar() -> None:
    """chi2F 9.28 and FF 3.69, above the critical F(3, 39) of 2.85."""
    chi2 = 12 * 14 / (4 * 5) * (np.square(RANKS).sum() - 4 * 5**2 / 4)
    assert chi2 == pytest.approx(9.2786, abs=1e-4)
    assert iman_davenport(chi2, 14, 4)[0] == pytest.approx(3.6863, abs=1e-4)
    assert stats.f.isf(0.05, 3, 39) == pytest.approx(2.845, abs=1e-3)


def test_critical_differences_of_demsar() -> None:
    """Nemenyi 1.25 (.05) and 1.12 (.10); Bonferroni-Dunn 1.17 and 1.04."""
    assert critical_difference(4, 14) == pytest.approx(1.2536, abs=1e-4)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.1181, abs=1e-4)
    assert critical_difference(4, 14, control=True) == pytest.approx(1.168, abs=1e-3)
    assert critical_difference(4, 14, 0.10, control=True) == pytest.approx(1.038, abs=1e-3)


def test_holm_against_the_first_of_demsar() -> None:
    """z 2.342, 0.512, 2.415 from C4.5; p .0192, .608, .0157; Holm rejects two."""
    z = (RANKS[0] - np.array(RANKS[1:])) / np.sqrt(4 * 5 / (6 * 14))
    assert z == pytest.approx([2.342, 0.512, 2.415], abs=1e-3)
    p = 2 * stats.norm.sf(np.abs(z))
    assert p == pytest.approx([0.0192, 0.608, 0.0157], abs=1e-3)
    assert (adjust(p) <= 0.05).tolist() == [True, False, True]


def test_the_tie_trap() -> None:
    """From the raw accuracies, with ties corrected, Friedman's chi-squared is 10.952 and not 9.28."""
    found = rank_methods(ACCURACIES)
    assert found.friedman == pytest.approx(10.952, abs=1e-3)
    assert found.iman_davenport == pytest.approx(iman_davenport(10.952, 14, 4)[0], rel=1e-3)
    assert found.ranks.idxmin() == "+m+cf"
    assert found.nemenyi.loc["C4.5", "+m+cf"] < 0.1
    assert found.holm["C4.5 - +m+cf"] < found.holm["C4.5 - +cf"]


def test_wilcoxon_of_demsar_depends_on_zeros() -> None:
    """C4.5 against C4.5+m: T = 12 where ties at 0 are split (the paper, Table 2), 6.5 where they are dropped."""
    pair = ACCURACIES["C4.5"], ACCURACIES["+m"]
    difference = (pair[1] - pair[0]).round(3)
    assert stats.wilcoxon(difference, zero_method="zsplit", method="asymptotic").statistic == 12
    assert stats.wilcoxon(difference, zero_method="wilcox", method="asymptotic").statistic == 6.5


def test_the_spread_that_cortexdebate_prints_is_a_population_variance() -> None:
    """Runs of 79, 79, 80 right answers in 100: 79.33 +- 0.22, in squared points (`published_claims.py`)."""
    assert np.var([79, 79, 80]) == pytest.approx(0.22, abs=0.005)


def test_lower_is_better_turns_the_ranks() -> None:
    assert rank_methods(ACCURACIES, higher_is_better=False).ranks.to_numpy() == pytest.approx(
        5 - rank_methods(ACCURACIES).ranks.to_numpy()
    )


def test_equal_methods_do_not_differ() -> None:
    found = rank_methods(pd.DataFrame(np.ones((4, 3)), columns=list("abc")))
    assert (found.friedman, found.p) == (0.0, 1.0)


def test_cells_of_a_table_are_ranked_over_its_datasets() -> None:
    """a is best on both datasets, c worst."""
    frame = pd.concat(
        long_table({c: np.full((1, 4), v) for c, v in (("a", 3.0), ("b", 2.0), ("c", 1.0))}, "t", dataset=d)
        for d in "xy"
    )
    assert rank_cells(frame, "t").ranks.to_dict() == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(DataError, match="3 methods and 2 datasets"):
        rank_cells(frame[frame.cell != "c"], "t")
