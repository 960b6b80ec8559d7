"""Parse comparisons: sums of named means on both sides of an operator, by recursive descent.

    comparison := sum (> | < | >= | <= | ==) sum [+- number]
    sum        := product {(+ | -) product}
    product    := factor {(* | /) factor}
    factor     := [-] (number [%] | quantity | "(" sum ")")
    quantity   := metric "(" name {, round=NUMBER | , agent=NAME} ")" [per metric]

A sum must be linear in its means, because no test here compares a product of means with a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cortexdsl.claims.values import (
    AFTER_ROUNDS,
    BY_AGENT,
    CALIBRATION_METRICS,
    CLAIMED_METRICS,
    OTHERS,
    POOLED_METRICS,
    Comparison,
    Operator,
    Quantity,
    alike,
    fail,
    meant_by,
    range_of,
)
from cortexdsl.core.metrics import find_metric
from cortexdsl.errors import nearest

_NUMBER = r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*%?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<op>>=|<=|==|>|<)|(?P<margin>\+-|±)|(?P<sign>[-+])|(?P<times>[*/])|(?P<bracket>[()])|(?P<number>{_NUMBER}))"
)
_QUANTITY = re.compile(r"\s*([A-Za-z_][\w.@]*)\s*\(")
_PER = re.compile(r"\s*\bper\s+([A-Za-z_][\w.]*)(?!\s*\()")
_OTHERS = re.compile(r"(?:every|all|each)\s+others?(?:\s+(?:cell|method)s?)?")
_DEEPEST = 20
_FLIPPED: Mapping[str, Operator] = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "=="}


class _Token(NamedTuple):
    kind: str
    text: str
    quantity: Quantity | None = None


def split_outside(text: str, separator: str) -> list[str]:
    """Split at separators outside of brackets."""
    parts, depth, start, position = [], 0, 0, 0
    while position < len(text):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position])
            start = position = position + len(separator)
        else:
            position += 1
    return [*parts, text[start:]]


def read_quantity(text: str, body: str, start: int, where: str) -> tuple[Quantity, int] | None:
    """Read the named mean at a position of `body`; return it and its end. Names may hold brackets of any kind."""
    head = _QUANTITY.match(body, start)
    if head is None:
        return None
    depth = 1
    for position in range(head.end(), len(body)):
        depth += (body[position] in "([{") - (body[position] in ")]}")
        if depth == 0:
            quantity = _quantity(text, head[1], body[head.end() : position], where)
            per = _PER.match(body, position + 1)
            if per is None:
                return quantity, position + 1
            return Quantity(quantity.metric, quantity.name, quantity.round, quantity.agent, per[1]), per.end()
    return None


def _quantity(text: str, metric: str, inside: str, where: str) -> Quantity:
    name, *options = (part.strip() for part in split_outside(inside, ","))
    round_: int | None = None
    agent: str | None = None
    for option in options:
        key, _, value = (part.strip() for part in option.partition("="))
        if key == "round" and value.isascii() and value.isdigit() and len(value) < 7:
            round_ = int(value)
        elif key == "agent" and value:
            agent = value
        elif key == "round":
            fail(where, text, f"round={value} is not a round", "write round=0 for the opening, round=1, round=2 ...")
        else:
            fail(where, text, f"a mean has no setting {option!r}", nearest(key, ("round", "agent"), say="settings"))
    if round_ is not None and agent is None and metric not in (*AFTER_ROUNDS, *CALIBRATION_METRICS):
        known = ", ".join((*AFTER_ROUNDS, *CALIBRATION_METRICS))
        fail(where, text, f"{metric} is not known after each round", f"after a round: {known}")
    if agent is not None and metric not in BY_AGENT:
        fail(where, text, f"{metric} is not known of each agent", f"by agent: {', '.join(BY_AGENT)}")
    return Quantity(metric, OTHERS if _OTHERS.fullmatch(name) else name, round_, agent)


def _number(token: str) -> float:
    plain = token.replace("_", "").replace(" ", "")
    return float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)


def _tokens(text: str, body: str, where: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(body):
        if read := read_quantity(text, body, position, where):
            tokens.append(_Token("quantity", body[position : read[1]].strip(), read[0]))
            position = read[1]
        elif (match := _TOKEN.match(body, position)) and match.lastgroup:
            tokens.append(_Token(match.lastgroup, match[match.lastgroup].strip()))
            position = match.end()
        else:
            rest = body[position:].strip()
            fail(where, text, f"cannot be read from {rest!r} on", meant_by(rest))
        while position < len(body) and body[position].isspace():
            position += 1
    return tokens


@dataclass(slots=True)
class _Sum:
    """A linear sum: `constant`, and a coefficient for each mean in order of appearance.

    `percent` says whether a percentage is part of the constant.
    """

    constant: float = 0.0
    means: dict[Quantity, float] = field(default_factory=dict)
    percent: bool = False

    def plus(self, other: _Sum, factor: float) -> _Sum:
        means = dict(self.means)
        for quantity, coefficient in other.means.items():
            means[quantity] = means.get(quantity, 0.0) + factor * coefficient
        return _Sum(self.constant + factor * other.constant, means, self.percent or other.percent)


class _Reader:
    """A recursive-descent reader of one side of a comparison."""

    def __init__(self, text: str, tokens: list[_Token], where: str) -> None:
        self.text, self.tokens, self.where, self.at, self.depth = text, tokens, where, 0, 0

    def peek(self, *texts: str) -> str:
        here = self.tokens[self.at].text if self.at < len(self.tokens) else ""
        return here if here in texts else ""

    def whole(self) -> _Sum:
        whole = self.sum()
        if self.at < len(self.tokens):
            fail(self.where, self.text, f"cannot be read from {self.tokens[self.at].text!r} on")
        return whole

    def sum(self) -> _Sum:
        total = self.product()
        while sign := self.peek("+", "-"):
            self.at += 1
            total = total.plus(self.product(), 1.0 if sign == "+" else -1.0)
        return total

    def product(self) -> _Sum:
        product = self.factor()
        while sign := self.peek("*", "/"):
            self.at += 1
            other = self.factor()
            if (product.means and other.means) or (sign == "/" and other.means):
                fail(
                    self.where, self.text, "means are added and multiplied by numbers, not by each other",
                    "for efficiency write `accuracy(a) per input_tokens > accuracy(b) per input_tokens`; for a ratio "
                    "`input_tokens(a) <= 0.7 * input_tokens(b)`",
                )  # fmt: skip
            if sign == "/" and other.constant == 0:
                fail(self.where, self.text, "divides by 0")
            left, right = (product, other) if not other.means else (other, product)
            factor = 1 / right.constant if sign == "/" else right.constant
            if left.means and factor == 0:
                fail(self.where, self.text, "a factor is above 0")
            percent = product.percent or other.percent
            product = _Sum().plus(left, factor)
            product.percent = percent and not left.means  # a percentage of a mean is a factor
        return product

    def factor(self) -> _Sum:
        if self.at >= len(self.tokens):
            fail(self.where, self.text, "a side is a sum of `metric(name)`, perhaps times a number, and of numbers")
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "number":
            return _Sum(_number(token.text), percent=token.text.endswith("%"))
        if token.quantity is not None:
            return _Sum(means={token.quantity: 1.0})
        if token.text not in ("-", "+", "("):
            fail(self.where, self.text, f"cannot be read from {token.text!r} on")
        self.depth += 1
        if self.depth > _DEEPEST:
            fail(self.where, self.text, "has too many brackets and signs within each other")
        if token.text == "(":
            inner = self.sum()
            if not self.peek(")"):
                fail(self.where, self.text, "a bracket is not closed")
            self.at += 1
        else:
            inner = _Sum().plus(self.factor(), -1.0 if token.text == "-" else 1.0)
        self.depth -= 1
        return inner


def read_comparison(text: str, body: str, dataset: str | None, where: str) -> Comparison:
    """Read a comparison; `body` is the claim `text` without its dataset."""
    tokens = _tokens(text, body, where)
    at = [i for i, token in enumerate(tokens) if token.kind == "op"]
    if len(at) != 1:
        fail(where, text, "a comparison has one of > < >= <= ==, once")
    operator = _FLIPPED[_FLIPPED[tokens[at[0]].text]]
    right_tokens, margin, is_percent = tokens[at[0] + 1 :], None, False
    if ends := [i for i, token in enumerate(right_tokens) if token.kind == "margin"]:
        if len(right_tokens) != ends[0] + 2 or right_tokens[-1].kind != "number" or operator != "==":
            fail(where, text, "`+- number` stands at the end of a claim with ==")
        margin, is_percent = _number(right_tokens[-1].text), right_tokens[-1].text.endswith("%")
        right_tokens = right_tokens[: ends[0]]
    left, right = (_Reader(text, side, where).whole() for side in (tokens[: at[0]], right_tokens))
    if not left.means:
        left, right, operator = right, left, _FLIPPED[operator]
    if not left.means:
        fail(where, text, "names no metric of a method")
    if len(left.means | right.means) == 1 and right.means:
        fail(where, text, f"compares {next(iter(left.means)).name} with itself")
    whole = left.plus(right, -1.0)
    first = next(iter(whole.means))
    for other in whole.means:
        if not alike(first.metric, other.metric) or first.per != other.per:
            unknown = next((one.metric for one in (first, other) if find_metric(one.metric) is None), None)
            if unknown:
                fail(where, text, f"there is no metric {unknown}", nearest(unknown, CLAIMED_METRICS, say="metrics"))
            what = f"compares {_measure(first)} with {_measure(other)}"
            fail(where, text, what, "compare one metric of two methods")
    if (whole.percent or is_percent) and range_of(first.metric) == (0.0, math.inf):
        what = f"a percentage is a share of 1, and {first.metric} is not"
        fail(where, text, what, f"write a number, or a ratio: `{first.metric}(a) <= 70% * {first.metric}(b)`")
    if (operator == "==") != (margin is not None) or margin == 0:
        fail(
            where,
            text,
            "equality needs a margin above 0: two methods are never exactly equal",
            "write `== ... +- 0.02`",
        )
    return _normal(text, whole, operator, margin, dataset, where)


def _measure(quantity: Quantity) -> str:
    return quantity.metric + (f" per {quantity.per}" if quantity.per else "")


def _normal(
    text: str, whole: _Sum, operator: Operator, margin: float | None, dataset: str | None, where: str
) -> Comparison:
    """Normalise a comparison: with one or two means, the first coefficient is 1."""
    terms, offset, factor = [(coefficient, one) for one, coefficient in whole.means.items() if coefficient], 0.0, 1.0
    if not terms:
        fail(where, text, f"compares {next(iter(whole.means)).name} with itself")
    scale = abs(terms[0][0]) if len(terms) < 3 else 1.0
    if len(terms) < 3 and terms[0][0] < 0:
        operator, scale = _FLIPPED[operator], -scale
    terms = [(coefficient / scale, quantity) for coefficient, quantity in terms]
    offset = -whole.constant / scale
    offset, margin = offset + 0.0, None if margin is None else margin / abs(scale)
    is_efficiency = any(quantity.per for _, quantity in terms)
    if len(terms) == 2 and terms[1][0] < 0 and (is_efficiency or terms[1][0] != -1):
        factor = -terms[1][0]
        if offset != 0 or margin is not None:
            fail(
                where, text, "has both a factor and an offset or margin",
                "claim a ratio or a difference, or both in two claims",
            )  # fmt: skip
        terms = [terms[0], (-1.0, terms[1][1])]
    elif is_efficiency and (len(terms) > 1 or margin is not None or offset <= 0):
        fail(
            where, text, "a mean per another mean is compared with one other, or with a number above 0",
            "write `accuracy(a) per input_tokens > accuracy(b) per input_tokens`, with a factor if you like",
        )  # fmt: skip
    elif is_efficiency:
        factor, offset = offset, 0.0
    if OTHERS in [quantity.name for _, quantity in terms] and (
        len(terms) != 2 or terms[1][1].name != OTHERS or terms[1][0] != -1
    ):
        fail(
            where, text, "`every other` stands alone on the right side",
            "write `accuracy(a) > accuracy(every other)`",
        )  # fmt: skip
    if any(quantity.per == quantity.metric for _, quantity in terms):
        fail(where, text, "a mean is divided by itself", "write `accuracy(a) per input_tokens`, or leave out `per`")
    if any(quantity.per in POOLED_METRICS for _, quantity in terms):
        fail(where, text, "a mean is divided by a mean, such as a budget", "write `... per input_tokens`")
    return Comparison(text, tuple(terms), operator, offset, factor, margin, dataset)
