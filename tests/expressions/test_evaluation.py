"""The small arithmetic: what it computes, and everything that it refuses."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.expressions.evaluation import FUNCTIONS, MAX_FITTED, evaluate, parse, split_key
from cortexdsl.expressions.names import NAMES


def value(text: str, **names: object) -> float:
    return float(evaluate(parse(text), names))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 ** 3 ** 2", 512.0),  # powers bind from the right
        ("-2 ** 2", -4.0),  # and before the sign
        ("+3 - -4", 7.0),
        ("7 / 2", 3.5),
        ("1.5e3", 1500.0),
        ("18e12", 1.8e13),
        ("50_000", 50000.0),
        ("min(3, 1, 2) + max(3, 1, 2)", 4.0),
        ("sqrt(16) + log(exp(2)) + ceil(2.1)", 9.0),
        ("2 ** 0.5", math.sqrt(2)),
        ("7 % 3 + floor(2.9) + abs(-1)", 4.0),
        ("1 < 2 <= 2", 1.0),  # what is true is 1
        ("1 < 2 < 2", 0.0),
        ("1 == 2 or not 3", 0.0),
        ("2 and 3", 1.0),
        ("(3 > 2) * 5 + (3 != 3)", 5.0),
        ("  1 +\n 1  ".replace("\n", ""), 2.0),
    ],
)
def test_values_by_hand(text: str, expected: float) -> None:
    assert value(text) == pytest.approx(expected, rel=1e-15)


def test_names_are_arrays_that_broadcast() -> None:
    """A column per speaker times a matrix per pair: row u is multiplied by the credibility of u."""
    credibility, intimacy = np.array([[2.0], [3.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    result = evaluate(parse("credibility * intimacy"), {"credibility": credibility, "intimacy": intimacy})
    assert result.tolist() == [[0.0, 2.0], [3.0, 0.0]]


PAIR = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
COLUMN = np.array([[1.0], [2.0], [4.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean(pair)", [[1.0, 2.0, 2.0]]),  # over the two others whom each could hear, never itself
        ("any(pair)", [[1.0, 1.0, 1.0]]),
        ("all(pair)", [[0.0, 1.0, 0.0]]),
        ("sum(mean(pair))", 5.0),
        ("mean(column)", 7 / 3),
        ("column > mean(column)", [[0.0], [0.0], [1.0]]),
        ("column < mine(column)", [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
        ("theirs(column)", [[1.0], [2.0], [4.0]]),
        ("theirs(mine(column))", [[1.0], [2.0], [4.0]]),
        ("theirs(pair)", PAIR.T.tolist()),
        ("theirs(mean(pair))", [[1.0], [2.0], [2.0]]),
    ],
)
def test_reductions_go_over_the_others_and_mine_is_the_listeners(text: str, expected: Any) -> None:
    assert np.asarray(evaluate(parse(text), {"pair": PAIR, "column": COLUMN})).tolist() == expected


def test_the_names_used_are_known() -> None:
    assert parse("credibility * reliability / (self_orientation + 1)").names == {
        "credibility",
        "reliability",
        "self_orientation",
    }
    assert {"credibility", "reliability", "intimacy", "self_orientation", "mean_score", "round", "n_agents"} <= {
        *NAMES["weight"]
    }
    assert set(FUNCTIONS) >= {"min", "max", "sqrt", "log", "exp", "ceil", "mean", "any", "all", "mine"}


def test_a_name_of_some_steps_is_looked_up_as_such() -> None:
    parsed = parse("chosen + chosen(rank) * sum(score(check , weigh))")
    assert parsed.names == {"chosen", "score"}
    assert parsed.keys == {"chosen", "chosen(rank)", "score(check, weigh)"}
    assert [split_key(key) for key in sorted(parsed.keys)] == [
        ("chosen", ()), ("chosen", ("rank",)), ("score", ("check", "weigh")),
    ]  # fmt: skip
    assert evaluate(parsed, {"chosen": 1.0, "chosen(rank)": 2.0, "score(check, weigh)": np.full((2, 1), 3.0)}) == 13.0


@pytest.mark.parametrize("text", ["chosen()", "chosen(1)", "approved(rule + 1)", "score(mean_score(review))"])
def test_a_name_is_of_steps_and_of_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"\(\) takes the names of steps"):
        parse(text)


@pytest.mark.parametrize("text", ["confidence(answer)", "chosen(step=rank)", "chosen(*rank)"])
def test_other_names_are_of_no_step(text: str) -> None:
    with pytest.raises(ValueError, match=r"there is no function|is not allowed|takes the names of steps"):
        parse(text)


@pytest.mark.parametrize(
    "text", ["1 / 0", "0 / 0", "log(0)", "log(-1)", "sqrt(-1)", "10 ** 400", "9 ** 9 ** 9", "exp(1000)"]
)
def test_what_has_no_finite_value_is_infinite_or_nan_without_noise(text: str) -> None:
    """No exception, no warning, no endless integer arithmetic: the caller knows whose weight it is."""
    assert not math.isfinite(value(text))


HOSTILE = [
    "__import__('os').system('true')",
    "().__class__",
    "credibility.__class__",
    "credibility.T",
    "credibility[0]",
    "open('x')",
    "eval('1')",
    "[x for x in (1, 2)]",
    "{x: 1 for x in (1,)}",
    "(x for x in (1, 2))",
    "lambda: 1",
    "(lambda: 1)()",
    "1 if 2 else 3",
    "~1",
    "1 // 2",
    "1 << 62",
    "1 @ 2",
    "x := 1",
    "(x := 1)",
    "'text'",
    "b'text'",
    "f'{1}'",
    "True",
    "None",
    "...",
    "1j",
    "(1, 2)",
    "[1]",
    "*x",
    "min(*x)",
    "min(x, key=abs)",
    "sqrt(x, out=x)",
    "sqrt.real",
    "np.sqrt(2)",
    "await x",
    "yield",
    "1; 2",
    "x = 1",
    "import os",
    "1 +",
    "(1",
    "",
    "   ",
    "1e400",
    "9" * 400,
    "-" * 499 + "1",
    "(" * 249 + "1" + ")" * 249,
    "1+" * 249 + "1 " * 100,
    "x" * (MAX_FITTED + 1),
    "\x00",
    "1\x00",
    "\ud800",
    "🙂",
    "credibility × reliability",
    "1 in x",
    "1 not in x",
    "x is 1",
    "1 < 2 in x",
]


@pytest.mark.parametrize("text", [*HOSTILE], ids=lambda text: repr(text)[:40])
def test_hostile_text_is_a_plain_error(text: str) -> None:
    """Refused as ValueError whatever it is, except that long chains of signs or parentheses may be computed."""
    if text.startswith(("---", "(((")):
        try:
            assert abs(value(text)) == 1.0
        except ValueError:
            return
    else:
        with pytest.raises(ValueError, match=r".+"):
            parse(text)


@pytest.mark.parametrize("text", ["sqrt()", "sqrt(1, 2)", "min(1)", "max()", "ceil(1, 2)", "log(8, 2)"])
def test_functions_take_their_number_of_values(text: str) -> None:
    with pytest.raises(ValueError, match="takes"):
        parse(text)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_min_and_max_take_two_values_or_more_and_all_else_one(name: str) -> None:
    takes, allowed = ("two values or more", {2, 3}) if name in ("min", "max") else ("one value", {1})
    for count_ in range(4):
        text = f"{name}({', '.join(['1'] * count_)})"
        if count_ in allowed:
            parse(text)
        else:
            with pytest.raises(ValueError, match=rf"^{name}\(\) takes {takes}$"):
                parse(text)


def test_the_longest_expression_and_the_largest_number() -> None:
    assert parse("x" * MAX_FITTED).names == {"x" * MAX_FITTED}
    with pytest.raises(ValueError, match="the expression has 100001 characters; 100000 are allowed"):
        parse("x" * (MAX_FITTED + 1))
    assert value("9.9e299") == 9.9e299
    with pytest.raises(ValueError, match="too large"):
        parse("1e300")


def test_a_pair_of_two_is_the_other_and_of_one_itself() -> None:
    two = np.array([[9.0, 1.0], [2.0, 9.0]])
    assert np.asarray(evaluate(parse("mean(pair)"), {"pair": two})).tolist() == [[2.0, 1.0]]
    assert value("sum(pair)", pair=np.array([[3.0]])) == 3.0


def test_of_nobody_every_reduction_is_zero() -> None:
    for name in ("mean", "sum", "any", "all"):
        assert value(f"{name}(column)", column=np.zeros((0, 1))) == 0.0
        assert value(f"{name}(pair)", pair=np.zeros((0, 0))) == 0.0


def test_a_unicode_name_is_a_name_that_no_weight_knows() -> None:
    """Letters of other scripts look alike; they are names of their own, which the language then refuses."""
    cyrillic = "с" + "redibility"
    assert parse(cyrillic).names.isdisjoint(NAMES["weight"])
    with pytest.raises(KeyError, match=cyrillic):
        evaluate(parse(cyrillic), {"credibility": 1.0})


def test_functions_are_no_values() -> None:
    """`sqrt` alone is a name like any other, without a value."""
    with pytest.raises(KeyError, match="sqrt"):
        value("sqrt + 1")


def test_errors_say_what_is_allowed() -> None:
    with pytest.raises(ValueError, match=r"'credibility\.T' is not allowed; allowed are numbers, names"):
        parse("2 * credibility.T")


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_a_value_error(text: str) -> None:
    try:
        parse(text)
    except ValueError:
        return


Term = tuple[str, Fraction | None]


def combined(parts: tuple[Term, str, Term]) -> Term:
    """A longer term in parentheses, and its exact value; None where something is divided by zero."""
    (left, one), operator, (right, other) = parts
    text = f"({left} {operator} {right})"
    if one is None or other is None or (operator == "/" and other == 0):
        return text, None
    values = {"+": one + other, "-": one - other, "*": one * other}
    return text, values[operator] if operator in values else one / other


TERMS = st.recursive(
    st.integers(0, 9).map(lambda digit: (str(digit), Fraction(digit))),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(combined),
    max_leaves=12,
)


@given(TERMS)
def test_arithmetic_agrees_with_exact_fractions(term: Term) -> None:
    text, exact = term
    if exact is None:
        value(text)  # inf or nan, and whatever follows from it, but no error
    else:
        assert value(text) == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
