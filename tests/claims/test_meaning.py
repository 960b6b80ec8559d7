"""Which claims say the same, which cannot both hold, and what a claim may be held against."""

from __future__ import annotations

import pytest

from cortexdsl.claims.meaning import check_claim, estimate_unit, meaning, repeated_claims
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Best
from cortexdsl.errors import SpecError

SAME = [
    ("accuracy(a) > accuracy(b)", "accuracy(b) < accuracy(a)"),
    ("accuracy(a) > accuracy(b)", "score(a) >= accuracy(b)"),
    ("accuracy(a) >= accuracy(b) - 0.02", "accuracy(b) <= accuracy(a) + 2%"),
    ("accuracy(b) >= accuracy(a) - 0.02", "accuracy(b) - accuracy(a) ≥ −0.02"),
    ("accuracy(a) == accuracy(b) +- 0.02", "accuracy(b) == accuracy(a) ± 2%"),
    ("input_tokens(b) <= 0.5 * input_tokens(a)", "input_tokens(a) >= 2 * input_tokens(b)"),
    ("2 * accuracy(a) > 1", "accuracy(a) > 0.5"),
    (
        "accuracy(a) - accuracy(b) > accuracy(c) - accuracy(d)",
        "2 * accuracy(d) - 2 * accuracy(c) > 2 * accuracy(b) - 2 * accuracy(a)",
    ),
    ("accuracy(a) per calls > accuracy(b) per calls", "accuracy(b) per calls < accuracy(a) per calls"),
    ("accuracy(a) > 0.5 and calls(a) < 3", "calls(a) < 3 and accuracy(a) > 0.5"),
    ("accuracy(a[x]) increasing", "accuracy(a[x])   increasing"),
]
OTHER = [
    ("accuracy(a) > accuracy(b)", "accuracy(a) < accuracy(b)"),
    ("accuracy(a) > accuracy(b)", "accuracy(a) > accuracy(b) + 0.01"),
    ("accuracy(a) > accuracy(b)", "accuracy(a) > accuracy(b) on sums"),
    ("accuracy(a) > accuracy(b)", "accuracy(a) > accuracy(b) over seeds"),
    ("accuracy(a) > accuracy(b)", "accuracy(a, round=0) > accuracy(b)"),
    ("accuracy(a) == accuracy(b) +- 0.02", "accuracy(a) == accuracy(b) +- 0.03"),
    ("input_tokens(b) <= 0.5 * input_tokens(a)", "input_tokens(b) <= 2 * input_tokens(a)"),
    ("accuracy(a) > accuracy(every other)", "accuracy(b) > accuracy(every other)"),
    ("accuracy(a[x]) increasing", "accuracy(a[x]) decreasing"),
    ("accuracy(a[x]) increasing", "accuracy(a[x]) monotone increasing"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_one_meaning_has_several_spellings(first: str, second: str) -> None:
    assert meaning(parse_claim(first)) == meaning(parse_claim(second))


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_other_claims_have_other_meanings(first: str, second: str) -> None:
    assert meaning(parse_claim(first)) != meaning(parse_claim(second))


def test_what_is_repeated_is_found_with_what_it_repeats() -> None:
    claims = ["accuracy(a) > 0.5", "accuracy(a) > accuracy(b)", "accuracy(b) < accuracy(a)", "0.5 < accuracy(a)"]
    assert list(repeated_claims([parse_claim(claim) for claim in claims])) == [(2, 1), (3, 0)]


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("accuracy(a) > accuracy(b) and accuracy(b) > accuracy(a)", "cannot both hold"),
        ("accuracy(a) > 0.8 and accuracy(a) < 70%", "cannot both hold"),
        ("accuracy(a) == accuracy(b) +- 0.02 and accuracy(b) > accuracy(a) + 0.02", "cannot both hold"),
        ("input_tokens(a) < 0.5 * input_tokens(b) and input_tokens(a) > 0.6 * input_tokens(b)", "cannot both hold"),
        ("accuracy(a) > 0.5 and 0.5 < score(a)", "says the same as `0.5 < score(a)`"),
        ("a dominates b on accuracy, calls", "`dominates` was removed\n    join comparisons, such as `accuracy(a) >="),
        ("input_tokens(a) > 80%", "a percentage is a share of 1, and input_tokens is not"),
        ("calls(a) == calls(b) +- 5%", "a percentage is a share of 1, and calls is not"),
        ("calls(a) >= calls(b) - 2 * 5%", "a percentage is a share of 1, and calls is not"),
        ("best x of a by consensus is 1", "neither direction of consensus is a merit\n    write highest or lowest"),
        ("accuracy(a) != accuracy(b)", "a claim has a direction: write > or <"),
        ("accuracy(a) > 0.5 or accuracy(b) > 0.5", "write a claim for each of them"),
        ("not accuracy(a) > 0.5", "claim the opposite"),
    ],
)
def test_a_claim_that_says_nothing_or_too_much_is_refused(claim: str, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        check_claim(parse_claim(claim), "spec.yaml:1:1")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "claim",
    [
        "accuracy(a) > 0.5 and accuracy(a) < 0.8",
        "accuracy(a) > accuracy(b) on sums and accuracy(a) < accuracy(b) on words",
        "accuracy(a) > accuracy(b) - 0.02 and accuracy(a) < accuracy(b) + 0.02",
        "accuracy(a) > 0.5 and accuracy(b) < 0.4",
        "input_tokens(a) <= 70% * input_tokens(b)",
        "accuracy(a) >= accuracy(b) - 2%",
        "gain(a) > 2%",
    ],
)
def test_a_claim_that_could_come_out_both_ways_is_not(claim: str) -> None:
    check_claim(parse_claim(claim), "spec.yaml:1:1")


def test_the_best_value_by_a_metric_of_which_less_is_better_is_the_lowest() -> None:
    """The most input tokens were called best once."""
    for text, extreme in {"best x of a by input_tokens is 1": "lowest", "best x of a is 1": "highest"}.items():
        claim = parse_claim(text)
        assert isinstance(claim, Best)
        assert claim.extreme == extreme


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("accuracy(a) > 0.8", "share"),
        ("accuracy(a) > accuracy(b)", "points"),
        ("accuracy(a) - accuracy(b) > accuracy(c) - accuracy(d)", "points"),
        ("accuracy(a[rounds]) increasing", "points"),
        ("accuracy(a) >= 0.9 * accuracy(b)", "ratio"),
        ("input_tokens(a) < input_tokens(b)", "number"),
        ("accuracy(a) > accuracy(b) and accuracy(a) > accuracy(c)", "points"),
        ("accuracy(a) > accuracy(b) and input_tokens(a) < input_tokens(b)", "number"),
    ],
)
def test_the_unit_of_an_estimate(text: str, unit: str) -> None:
    """Accuracy is a share of 1; a difference of two shares is in percentage points, their ratio is not."""
    assert estimate_unit(parse_claim(text), lambda metric: metric == "accuracy") == unit
