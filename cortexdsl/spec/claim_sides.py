"""Reads the two sides of a comparison: `[number *] metric(name) [+ number]`, an operator, perhaps a margin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cortexdsl.spec.claim_terms import Comparison, Operator, fail

_NUMBER = r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*%?"
_TOKEN = re.compile(rf"\s*(?:(?P<op>>=|<=|==|>|<)|(?P<margin>\+-|±)|(?P<sign>[-+*])|(?P<number>{_NUMBER}))")
_QUANTITY = re.compile(r"\s*([A-Za-z_][\w.@]*)\s*\(")


def read_quantity(body: str, start: int) -> tuple[str, str, int] | None:
    """Read `metric(name)` at a position: metric, name, where it ends. Names may hold brackets of any kind."""
    head = _QUANTITY.match(body, start)
    if head is None:
        return None
    depth = 1
    for position in range(head.end(), len(body)):
        depth += (body[position] in "([{") - (body[position] in ")]}")
        if depth == 0:
            return head[1], body[head.end() : position].strip(), position + 1
    return None


@dataclass(slots=True)
class _Side:
    """One side of a comparison while it is read: `factor * metric(name) + offset`."""

    quantity: tuple[str, str] | None = None
    factor: float = 1.0
    offset: float = 0.0


def _number(token: str) -> float:
    plain = token.replace("_", "").replace(" ", "")
    return float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)


def _tokens(text: str, body: str, where: str) -> list[tuple[str, str, str]]:
    """(kind, text, name): kinds are op, margin, sign, number, quantity."""
    found, position = [], 0
    while position < len(body):
        if quantity := read_quantity(body, position):
            found.append(("quantity", quantity[0], quantity[1]))
            position = quantity[2]
        elif (match := _TOKEN.match(body, position)) and match.lastgroup:
            found.append((match.lastgroup, match[match.lastgroup].strip(), ""))
            position = match.end()
        else:
            fail(where, text, f"cannot be read from {body[position:].strip()!r} on")
        while position < len(body) and body[position].isspace():
            position += 1
    return found


def _side(text: str, tokens: list[tuple[str, str, str]], where: str) -> _Side:
    """Read `[number *] metric(name) [+ number]` in any order of its terms."""
    side, terms = _Side(), [[]]  # type: tuple[_Side, list[list[tuple[str, str, str]]]]
    for token in tokens:
        if token[0] == "sign" and token[1] in "+-" and terms[-1]:
            terms.append([])
        terms[-1].append(token)
    for term in terms:
        sign = -1.0 if term and term[0][:2] == ("sign", "-") else 1.0
        bare = term[1:] if term and term[0][0] == "sign" and term[0][1] in "+-" else term
        numbers = [_number(token[1]) for token in bare if token[0] == "number"]
        quantities = [token for token in bare if token[0] == "quantity"]
        stars = sum(token[:2] == ("sign", "*") for token in bare)
        if stars != len(bare) - stars - 1 or len(numbers) > 1 or len(quantities) > 1 or len(bare) > 3:
            fail(where, text, "a side is `metric(name)`, perhaps times a number, plus or minus a number")
        if not quantities:
            side.offset += sign * numbers[0]
        elif side.quantity is not None or sign < 0:
            fail(where, text, "a side holds one `metric(name)`, not subtracted")
        else:
            side.quantity = (quantities[0][1], quantities[0][2])
            side.factor = numbers[0] if numbers else 1.0
    return side


_FLIPPED: Mapping[str, Operator] = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "=="}


def read_comparison(text: str, body: str, dataset: str | None, where: str) -> Comparison:
    """Read a comparison: `body` is the claim `text` without its dataset."""
    tokens = _tokens(text, body, where)
    at = [i for i, token in enumerate(tokens) if token[0] == "op"]
    if len(at) != 1:
        fail(where, text, "a comparison has one of > < >= <= ==, once")
    operator = _FLIPPED[_FLIPPED[tokens[at[0]][1]]]
    right_tokens, margin = tokens[at[0] + 1 :], None
    if ends := [i for i, token in enumerate(right_tokens) if token[0] == "margin"]:
        if len(right_tokens) != ends[0] + 2 or right_tokens[-1][0] != "number" or operator != "==":
            fail(where, text, "`+- number` stands at the end of a claim with ==")
        margin = _number(right_tokens[-1][1])
        right_tokens = right_tokens[: ends[0]]
    left, right = _side(text, tokens[: at[0]], where), _side(text, right_tokens, where)
    if left.quantity is None:
        left, right, operator = right, left, _FLIPPED[operator]
    if left.quantity is None:
        fail(where, text, "names no metric of a method")
    if right.quantity is not None and right.quantity[0] != left.quantity[0]:
        fail(where, text, f"compares {left.quantity[0]} with {right.quantity[0]}", "compare one metric of two methods")
    if right.quantity == left.quantity:
        fail(where, text, f"compares {left.quantity[1]} with itself")
    if left.factor <= 0 or right.factor <= 0:
        fail(where, text, "a factor is above 0")
    factor = right.factor / left.factor if right.quantity else 1.0
    offset = (right.offset - left.offset) / left.factor
    if (operator == "==") != (margin is not None) or margin == 0:
        fail(
            where,
            text,
            "equality needs a margin above 0: two methods are never exactly equal",
            "write `== ... +- 0.02`",
        )
    if factor != 1 and (offset != 0 or margin is not None):
        fail(
            where,
            text,
            "has both a factor and an offset or margin",
            "claim a ratio or a difference, or both in two claims",
        )
    reference = right.quantity[1] if right.quantity else None
    return Comparison(text, *left.quantity, operator, reference, factor, offset, margin, dataset)
