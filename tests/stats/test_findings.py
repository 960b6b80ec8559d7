"""What is known of one claim on one table, and its words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.core import Floats
from cortexdsl.stats.findings import Finding, all_of, deciding
from cortexdsl.stats.inference.families import adjust
from cortexdsl.stats.inference.phrases import doubtful_answers, joined, real_variation
from cortexdsl.stats.verdicts import evaluate_claims, verdict_of
from tests.stats.tables import long_table, two_by_two


def found(p: float, supports: bool = True) -> Finding:
    return Finding(0.1, 0.0, 0.2, "a test", supports, p)


def row(frame: pd.DataFrame, claim: str, **options: object) -> pd.Series:
    return evaluate_claims(frame, [claim], seed=1, draws=99, **options).iloc[0]  # type: ignore[arg-type]


# ---------------------------------------------------------------- which of several decides
@pytest.mark.parametrize(
    ("findings", "at", "p", "supports"),
    [
        ([found(0.01), found(0.04), found(0.02)], 1, 0.04, True),  # all for it: the weakest
        ([found(0.04), found(0.04)], 0, 0.04, True),
        ([found(0.9), found(0.02, False), found(0.01, False)], 2, 0.03, False),  # some against: three times the least
        ([found(0.001), found(0.5, False), found(0.6, False)], 1, 1.0, False),
        ([found(0.01), found(np.nan), found(0.001, False), found(np.nan)], 1, np.nan, True),  # none can tell
    ],
)
def test_what_decides_whether_all_hold(findings: list[Finding], at: int, p: float, supports: bool) -> None:
    place, decides = deciding(findings)
    assert (place, decides.supports) == (at, supports)
    assert decides.p == pytest.approx(p, nan_ok=True)
    assert all_of(findings).p == pytest.approx(p, nan_ok=True)


@pytest.mark.parametrize(
    ("adjusted", "supports", "verdict"),
    [
        (0.05, True, "supported"),
        (0.05, False, "contradicted"),
        (0.0501, True, "undecided"),
        (np.nan, True, "undecided"),
    ],
)
def test_a_verdict_needs_a_p_of_at_most_alpha(adjusted: float, supports: bool, verdict: str) -> None:
    assert verdict_of(found(0.01, supports), adjusted, 0.05) == verdict


# ---------------------------------------------------------------- too few
def note(values: Floats, **columns: object) -> str:
    frame = long_table({"a": 50 + values[None], "b": np.full((1, len(values)), 50.0)}, "tokens", **columns)
    return str(row(frame, "tokens(a) > tokens(b)", alpha=1e-12)["note"])  # undecided: nothing else to say


def skewed(questions: int, skewness: float) -> Floats:
    """One value far above the others': k - 2 over sqrt(k - 1) is the skewness of one 1 among k - 1 zeros."""
    share = next(k for k in range(2, 10_000) if (k - 2) / np.sqrt(k - 1) >= skewness)
    return np.tile(np.eye(1, share)[0], questions // share + 1)[:questions]


def test_warnings_begin_where_they_say() -> None:
    """Below ten questions of any shape, below fifty of a skewness of 1.5 or more; there is no further rule."""
    flat = np.linspace(1, 9, 200)
    assert note(flat[:9]) == "with only 9 questions the test may err more often than stated"
    assert note(flat[:10]) == ""
    # one of five is 1 and the rest are 0: a skewness of 1.5 exactly, (5 - 2) / sqrt(4)
    assert note(np.tile([1.0, 0, 0, 0, 0], 9)) == (
        "with only 45 questions of skewed values (skewness 1.5) the test may err more often than stated"
    )
    assert note(np.tile([1.0, 0, 0, 0, 0], 10)) == ""
    assert note(np.tile([1.0, 0, 0, 0], 11)) == "", "a skewness of 1.15"
    assert note(np.full(8, 3.0)) == "not tested: all questions have the same value, so nothing is known of the spread"


def test_clusters_are_counted_where_they_are_declared() -> None:
    """Forty questions in eight clusters are eight."""
    values = np.linspace(1, 9, 40)
    said = note(values, cluster=np.tile(np.repeat(np.arange(8), 5), 1))
    assert said == "with only 8 clusters the test may err more often than stated"


# ---------------------------------------------------------------- equivalence
def test_a_difference_at_its_margin_is_not_within_it() -> None:
    """Ten of a hundred questions apart, and a margin of ten points: on the side of different."""
    frame = long_table(two_by_two(40, 15, 5, 40))
    at = row(frame, "score(a) == score(b) +- 0.1")
    assert at["leans"] == "the estimate points against the claim"
    inside = row(frame, "score(a) == score(b) +- 0.11")
    assert inside["leans"] == "the estimate favours the claim"
    assert (at["note"], inside["note"]) == ("", "90 % interval"), "outside it is the 95 % one that decides"
    assert at["test"] == "two one-sided tests, score (Tango), exact"


def test_far_outside_of_a_margin_is_twice_the_p_of_the_nearer_end() -> None:
    """Against 0.05 from above, the exact test; the same claim as a difference has it two-sided."""
    frame = long_table(two_by_two(40, 40, 5, 15))
    outside = row(frame, "score(a) == score(b) +- 0.05")
    assert outside["verdict"] == "contradicted"
    assert outside["p"] == pytest.approx(row(frame, "score(a) > score(b) + 0.05")["p"])
    turned = row(frame, "score(b) == score(a) +- 0.05")
    assert (turned["verdict"], turned["p"]) == ("contradicted", pytest.approx(outside["p"]))


# ---------------------------------------------------------------- levels of a trend, datasets, parts
def test_a_trend_shows_the_means_of_its_levels() -> None:
    values = {f"s[rounds={r}]": np.repeat([1.0, 0.0], (k, 20 - k))[None] for r, k in ((1, 9), (2, 4), (3, 15))}
    said = row(long_table(values), "score(s[rounds]) increasing")["note"]
    assert said == "change per unit of rounds; means 0.45, 0.2, 0.75"


def test_the_mean_over_datasets_says_on_how_many_it_leans_for_the_claim() -> None:
    parts = [long_table(two_by_two(20, wins, 10, 10), dataset=name) for name, wins in (("x", 20), ("y", 12), ("z", 5))]
    found_ = row(pd.concat(parts), "score(a) > score(b)")
    assert found_["note"] == "mean over datasets, the estimate favours the claim on 2 of 3"
    every = row(pd.concat(parts), "score(a) > score(b) on every dataset")
    assert every["note"] == "the dataset z decides; the comparison holds in the estimates of 2 of 3"


# ---------------------------------------------------------------- what doubtful answers could change
def test_missing_and_unreadable_answers_are_counted_apart() -> None:
    frame = long_table(two_by_two(10, 12, 2, 6)).assign(unparsed=0)
    wrong = frame.index[(frame["cell"] == "b") & (frame["score"] == 0)]
    frame.loc[wrong[:3], "unparsed"] = 1
    said = row(frame.drop(index=wrong[3:5]), "score(a) > score(b)")["note"]
    assert said.startswith(
        "2 missing and 3 unreadable answers count as wrong: scoring them as right could change the verdict ("
    )


@pytest.mark.parametrize("declared", [None, ["score(c) > score(d)"]])
def test_what_a_doubtful_claim_could_be_counts_its_family(declared: list[str] | None) -> None:
    """As if the doubtful answer of b were right or wrong, its p adjusted beside the other claim's own.

    Twelve to three is .024, eleven to three .040: each below .05 by itself, of two claims the second is not.
    """
    frame = long_table({**two_by_two(10, 12, 3, 5), **dict(zip("cd", two_by_two(10, 9, 3, 8).values(), strict=True))})
    doubtful = frame.index[(frame["cell"] == "b") & (frame["score"] == 0)][:1]
    claims = ["score(c) > score(d)", "score(a) > score(b)"]
    cases = []
    for value in (0.0, 1.0):
        filled = frame.copy()
        filled.loc[doubtful, "score"] = value
        p = [row(filled, claim)["p"] for claim in claims]
        leans = row(filled, claims[1])["estimate"] > 0
        cases.append(verdict_of(found(0.0, leans), adjust(p)[1], 0.05))
    seen = evaluate_claims(frame.drop(index=doubtful), claims, seed=1, declared=declared).iloc[1]
    assert cases[0] != cases[1]
    said = "1 missing answer counts as wrong: scoring it as right could change the verdict"
    assert seen["note"] == f"{said} ({cases[0]} at best, {cases[1]} at worst)"


def test_parts_of_a_claim_show_the_doubt_of_the_part_that_has_most() -> None:
    frame = long_table({**two_by_two(10, 12, 2, 6), "c": np.zeros((1, 30))})
    lost = frame.index[(frame["cell"] == "c")][:4]
    said = row(frame.drop(index=lost), "score(a) > score(b) and score(a) > score(c)")
    assert "4 missing answers" in said["note"]
    assert said["null"] == ("at least one part does not hold, shown is a difference of 0, two-sided")


@pytest.mark.parametrize(
    ("sizes", "note"),
    [
        ((10,) * 8, "with only 8 clusters"),
        ((15,) * 6 + (1,) * 18, "24 clusters of such different sizes count like 9: the test may err"),
        ((15,) * 3 + (1,) * 9, "one cluster holds 28% of the questions: the test may err"),
    ],
)
def test_clusters_of_very_different_sizes_are_warned_of(sizes: tuple[int, ...], note: str) -> None:
    """By Kish's effective number: 108 questions in 6 clusters of 15 and 18 of 1 are 108^2 / (6 x 225 + 18) = 8.5."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    random = np.random.default_rng(0)
    frame = long_table({cell: (random.random((1, len(clusters))) < 0.6).astype(float) for cell in "ab"})
    frame = frame.assign(cluster=clusters[frame["question_id"].str[1:].astype(int)])
    frame["tokens"] = 400 + 100 * random.random(len(frame))
    said = row(frame, "tokens(a) > tokens(b)")["note"]
    assert said.startswith(note)
    assert row(frame, "score(a) >= score(b) - 0.1")["note"] == "", "the test of accuracies holds its level"


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "almost none"), (0.1, "about a tenth"), (0.25, "about a quarter"), (0.33, "about a third"),
     (0.49, "about half"), (0.66, "about two thirds"), (0.75, "about three quarters"), (0.9, "about nine tenths"),
     (1.0, "almost all")],
)  # fmt: skip
def test_a_share_of_variation_is_a_fraction(share: float, said: str) -> None:
    assert real_variation(share) == said


def test_a_note_has_no_semicolon_of_its_own_and_no_full_stop() -> None:
    """Semicolons part notes in one cell of a table, and the report makes a sentence of each."""
    note = doubtful_answers(2, 3, "supported", "supported", "undecided")
    assert ";" not in note
    assert not note.endswith(".")
    assert joined("", note, "", "more") == f"{note}; more"
