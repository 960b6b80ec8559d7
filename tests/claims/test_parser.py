"""Claims are read as written, or refused with what is wrong and the nearest correct claims."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.claims.meaning import check_claim
from cortexdsl.claims.parser import parse_claim, parse_point
from cortexdsl.claims.values import EVERY, FORMS, Best, Comparison, Quantity, Slice, Trend, nearest_claims
from cortexdsl.errors import SpecError


def test_superiority() -> None:
    text = "accuracy(sparse) > accuracy(full)"
    terms = ((1.0, Quantity("accuracy", "sparse")), (-1.0, Quantity("accuracy", "full")))
    assert parse_claim(text) == Comparison(text, terms, ">")


def test_non_inferiority_keeps_the_margin_as_an_offset() -> None:
    claim = parse_claim("accuracy(sparse) >= accuracy(full) - 0.02")
    assert isinstance(claim, Comparison)
    assert (claim.operator, claim.offset, claim.factor) == (">=", -0.02, 1.0)


@pytest.mark.parametrize("margin", ["+- 0.02", "± 0.02", "+-2%", "+- 2 %"])
def test_equivalence(margin: str) -> None:
    claim = parse_claim(f"accuracy(a) == accuracy(b) {margin}")
    assert isinstance(claim, Comparison)
    assert claim.margin == pytest.approx(0.02)


def test_ratio() -> None:
    claim = parse_claim("input_tokens(sparse) <= 0.7 * input_tokens(full)")
    assert isinstance(claim, Comparison)
    assert (claim.factor, claim.reference) == (0.7, "full")


def test_a_ratio_on_the_left_moves_to_the_right() -> None:
    claim = parse_claim("2 * input_tokens(a) < input_tokens(b)")
    assert isinstance(claim, Comparison)
    assert claim.factor == 0.5


def test_a_fixed_value_on_either_side() -> None:
    left, right = parse_claim("0.8 < accuracy(a)"), parse_claim("accuracy(a) > 80%")
    assert isinstance(left, Comparison)
    assert isinstance(right, Comparison)
    assert (left.operator, left.offset, left.reference) == (right.operator, right.offset, right.reference)
    assert (right.operator, right.offset, right.reference) == (">", 0.8, None)


def test_names_may_hold_signs_brackets_and_expressions() -> None:
    claim = parse_claim("cvr(sparse+mdm[weight=a * (b + 1), steps=[0.9, 0.7]]) > cvr(sparse-without-IS)")
    assert isinstance(claim, Comparison)
    assert claim.name == "sparse+mdm[weight=a * (b + 1), steps=[0.9, 0.7]]"
    assert parse_point(claim.name) == ("sparse+mdm", {"weight": "a * (b + 1)", "steps": "[0.9, 0.7]"})


def test_trend_and_best() -> None:
    assert parse_claim("accuracy(sparse[rounds]) increasing") == Trend(
        "accuracy(sparse[rounds]) increasing", "accuracy", Slice("sparse", ("rounds",)), "increasing"
    )
    ordered = parse_claim("accuracy(s[agents=three<five<eight, keep=mean]) decreasing")
    assert isinstance(ordered, Trend)
    assert ordered.slice == Slice("s", ("agents",), {"agents": ("three", "five", "eight")}, {"keep": "mean"})
    best = parse_claim("best keep of sparse+mdm is mean")
    assert isinstance(best, Best)
    assert (best.metric, best.slice.method, best.value, best.extreme) == ("accuracy", "sparse+mdm", "mean", "highest")
    lowest = parse_claim("lowest rounds of sparse[keep=mean] by input_tokens is 1")
    assert isinstance(lowest, Best)
    assert (lowest.metric, lowest.extreme, lowest.slice.fixed) == ("input_tokens", "lowest", {"keep": "mean"})


def test_interacting_was_removed_and_names_what_replaces_it() -> None:
    with pytest.raises(SpecError, match="`interacting` was removed") as caught:
        parse_claim("accuracy(sparse[keep, recalibration]) interacting", "spec.yaml:9:5")
    (problem,) = caught.value.problems
    assert problem.where == "spec.yaml:9:5"
    assert problem.remedy.startswith("write `accuracy(a[x=1, y=1]) - accuracy(a[x=2, y=1]) > ")


def test_datasets() -> None:
    assert parse_claim("accuracy(a) > accuracy(b) on gsm8k").dataset == "gsm8k"
    assert parse_claim("accuracy(a[rounds]) increasing on every dataset").dataset == EVERY
    assert parse_claim("best keep of a is mean on math").dataset == "math"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("accuracy(a) == accuracy(b)", "equality needs a margin"),
        ("accuracy(a) > f1(b)", "compares accuracy with f1"),
        ("accuracy(a) > accuracy(a)", "with itself"),
        ("accuracy(a) > accuracy(b) > accuracy(c)", "once"),
        ("accuracy(a) >= 0.9 * accuracy(b) - 0.1", "both a factor and an offset"),
        ("accuracy(a > accuracy(b)", "cannot be read"),
        ("a > b", "cannot be read"),
        ("0.2 > 0.1", "names no metric"),
        ("accuracy(a) increasing", "leaves 0 axes open"),
        ("accuracy(a[x, y]) increasing", "leaves 2 axes open"),
        ("accuracy(a) > 0 * accuracy(b)", "a factor is above 0"),
        ("accuracy(a) per accuracy > accuracy(b) per accuracy", "a mean is divided by itself"),
        ("accuracy(a) > accuracy(b) +- 0.1", "at the end of a claim with =="),
        ("", "a line of text"),
    ],
)
def test_a_wrong_claim_is_one_clear_error(text: str, what: str) -> None:
    with pytest.raises(SpecError, match=what) as caught:
        parse_claim(text, "x.yaml:3:5")
    assert caught.value.problems[0].where == "x.yaml:3:5"
    assert caught.value.problems[0].remedy


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("accuracy(a) > 80", "no outcome can bring accuracy\\(a\\) above 80: it lies between 0 and 1", "0.8 (or 80%)"),
        ("accuracy(a) >= accuracy(b) - 2", "every outcome has the difference >= -2", "0.02 (or 2%)"),
        ("accuracy(a) > accuracy(b) + 1", "no outcome can bring the difference above 1", "0.01 (or 1%)"),
        ("accuracy(a) == accuracy(b) +- 1", "no outcome can miss a margin of 1", "0.01 (or 1%)"),
        ("accuracy(a) == accuracy(b) + 3 +- 1", "no outcome can be within 1 of 3", "0.01"),
        ("consensus(a) <= 1.5", "every outcome has", "0.015"),
        ("input_tokens(a) > -5", "every outcome has", "could miss"),
        ("gain(a) >= -1", "every outcome has", "could miss"),
        ("acuracy(a) > 0.5", "no metric acuracy", "did you mean accuracy?"),
        ("accuracy(a) > acuracy(b)", "there is no metric acuracy", "did you mean accuracy?"),
        ("accuracy(a) - accuracy(b) > accuracy(c) - accuracy(d) + 2.5", "no outcome can bring the difference", "0.025"),
    ],
)
def test_a_claim_whose_outcome_is_known_beforehand_is_refused(text: str, what: str, remedy: str) -> None:
    """Shares lie in [0, 1], their differences in [-1, 1], counts at 0 or above."""
    with pytest.raises(SpecError, match=what) as caught:
        check_claim(parse_claim(text), "x.yaml:3:5")
    assert remedy in caught.value.problems[0].remedy


@pytest.mark.parametrize(
    "text",
    ["accuracy(a) > 0", "accuracy(a) < 1", "gain(a) > 0", "calls(a) < 1e5", "accuracy(a) >= accuracy(b) - 0.02",
     "improvement(a) > 2", "accuracy(a) - accuracy(b) > accuracy(c) - accuracy(d) + 1.5", "brier(a) < 0.25"],
)  # fmt: skip
def test_a_claim_that_could_come_out_both_ways_is_a_claim(text: str) -> None:
    check_claim(parse_claim(text), "x")


@given(st.text(max_size=60))
def test_any_text_is_a_claim_or_a_spec_error(text: str) -> None:
    with contextlib.suppress(SpecError):
        assert parse_claim(text).text == text


@pytest.mark.parametrize("metric", ["consensus", "input_tokens", "ece"])
def test_every_form_that_is_shown_is_a_claim(metric: str) -> None:
    for form in FORMS:
        for text in nearest_claims(form.format(m=metric, a="sparse", b="full")):
            assert parse_claim(text).text == text


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("accuracy(sparse) = accuracy(full)", "accuracy(sparse) == accuracy(full) +- 0.02"),
        ("input_tokens(sparse) < 70% of input_tokens(full)", "input_tokens(sparse) <= 0.7 * input_tokens(full)"),
        (
            "accuracy(a)/tokens(a) > accuracy(b)/tokens(b)",
            "accuracy(a) per input_tokens > accuracy(b) per input_tokens",
        ),
        ("acuracy(sparse) >> acuracy(full) on every dataset", "accuracy(sparse) > accuracy(full) on every dataset"),
        ("accuracy(sparse) rises with rounds", "accuracy(sparse[rounds]) increasing"),
        ("best rounds is 3", "best keep of a is mean"),
        ("", "accuracy(a) > accuracy(b)"),
    ],
)
def test_the_nearest_form_is_among_those_shown(text: str, nearest: str) -> None:
    assert nearest in nearest_claims(text)
    with pytest.raises(SpecError) as caught:
        parse_claim(text)
    assert caught.value.problems[0].remedy.startswith(("write for instance `", "for efficiency write `"))
