"""Agreement of labels with human ones: by hand, and the coverage of its interval if turns of a question are alike."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.stats.tables.label_agreement import label_agreement

VALUES = ("yes", "no")


def test_kappa_is_cohen_s_and_unread_labels_are_counted() -> None:
    """The table of Cohen's example, each turn of its own question: 20, 5, 10, 15."""
    counts = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
    turns = [pair for pair, times in counts.items() for _ in range(times)]
    pairs = [(f"q{number}", given, human) for number, (given, human) in enumerate(turns)]
    one = label_agreement([*pairs, ("q0", None, "yes")], VALUES)
    assert (one.turns, one.unread, one.questions) == (50, 1, 50)
    assert one.agree == 0.7
    assert one.kappa == pytest.approx(0.4)
    assert one.ci_low < 0.4 < one.ci_high


def test_nothing_is_claimed_without_two_questions_or_two_values() -> None:
    """One question has no interval, and labels that are all equal have no kappa."""
    alone = label_agreement([("q", "yes", "yes"), ("q", "no", "no"), ("q", "no", "yes")], VALUES)
    assert np.isfinite(alone.kappa)
    assert np.isnan([alone.ci_low, alone.ci_high]).all()
    assert np.isnan(label_agreement([("a", "yes", "yes"), ("b", "yes", "yes")], VALUES).kappa)
    assert label_agreement([("a", None, "yes")], VALUES).turns == 0


def test_labels_that_never_differ_have_no_interval() -> None:
    """That five turns agree does not say that all turns would."""
    one = label_agreement([(f"q{k}", VALUES[k % 2], VALUES[k % 2]) for k in range(5)], VALUES)
    assert (one.kappa, one.agree) == (1.0, 1.0)
    assert np.isnan([one.ci_low, one.ci_high]).all()


def test_the_interval_covers_where_turns_of_a_question_are_alike() -> None:
    """1,000 runs of 60 questions with 6 turns; the judge is wrong on whole questions more often. Nominal: 95 %."""
    rng = np.random.default_rng(5)

    def draw(questions: int) -> list[tuple[str, str | None, str]]:
        pairs: list[tuple[str, str | None, str]] = []
        for number in range(questions):
            share, error = rng.beta(1, 2), rng.choice([0.05, 0.4])
            human = rng.random(6) < share
            given = human != (rng.random(6) < error)
            pairs += [
                (f"q{number}", VALUES[1 - int(one)], VALUES[1 - int(other)])
                for one, other in zip(given, human, strict=True)
            ]
        return pairs

    truth = label_agreement(draw(20_000), VALUES).kappa
    found = [label_agreement(draw(60), VALUES) for _ in range(1_000)]
    covered = np.mean([one.ci_low <= truth <= one.ci_high for one in found])
    assert 0.93 <= covered <= 0.975
