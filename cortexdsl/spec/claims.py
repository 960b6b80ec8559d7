"""The claim language: one line of `hypotheses:` becomes a frozen claim.

    accuracy(sparse) > accuracy(full)                        a difference, or its opposite with <
    accuracy(sparse) >= accuracy(full) - 0.02                non-inferior by a margin of two points
    accuracy(sparse) == accuracy(full) +- 0.02               equivalent within a margin
    input_tokens(sparse) <= 0.7 * input_tokens(full)         a ratio of means
    accuracy(sparse) > 0.8                                   against a fixed value
    accuracy(sparse[rounds]) increasing                      a trend over a grid axis; or `decreasing`
    accuracy(sparse[team=three<five<eight]) increasing       the same over an axis that is no number
    best keep of sparse is mean                              the best point of an axis (highest accuracy)
    lowest rounds of sparse by input_tokens is 1             the same for any metric and either end
    accuracy(sparse[keep, recalibration]) interacting        the effect of one axis depends on the other

Any claim may end in `on NAME` (one dataset) or `on every dataset`; without it, a claim over several datasets
is about the mean over datasets. A name is a cell, one of its other names, or a method.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from cortexdsl.errors import Problem, SpecError
from cortexdsl.spec.claim_sides import read_comparison, read_quantity
from cortexdsl.spec.claim_terms import EVERY, HELP, Best, Claim, Comparison, Interaction, Slice, Trend, fail

__all__ = [
    "EVERY",
    "Best",
    "Claim",
    "Comparison",
    "Interaction",
    "Slice",
    "Trend",
    "claims_digest",
    "metrics_of",
    "parse_claim",
    "parse_point",
]

_BEST = re.compile(
    r"(?P<end>best|highest|lowest)\s+(?P<axis>\S+)\s+of\s+(?P<name>.+?)(?:\s+by\s+(?P<metric>\S+))?\s+is\s+(?P<value>.+)"
)
_SHAPE = re.compile(r"(?P<quantity>.+\))\s+(?P<word>increasing|decreasing|interacting)")


def parse_claim(text: str, where: str = "hypotheses") -> Claim:
    """Read one claim.

    Parameters
    ----------
    text : str
        The claim; see the head of this module for the forms.
    where : str
        Named in the error: `file:line:column`, or the section.

    Returns
    -------
    Comparison, Trend, Best or Interaction

    Raises
    ------
    SpecError
        With one problem: what is wrong, and how a claim is written.
    """
    if not text.strip():
        raise SpecError([Problem(where, "a claim is a line of text, not empty", HELP)])
    body, dataset = _split_dataset(text.strip())
    if best := _BEST.fullmatch(body):
        return _best(text, best, dataset, where)
    if shape := _SHAPE.fullmatch(body):
        return _shaped(text, shape["quantity"], shape["word"], dataset, where)
    return read_comparison(text, body, dataset, where)


def parse_point(name: str) -> tuple[str, dict[str, str]]:
    """Split a cell's name into its method and its axes.

    Parameters
    ----------
    name : str
        `sparse[keep=top-3, rounds=5]`, or `sparse`.

    Returns
    -------
    (str, dict)
        `("sparse", {"keep": "top-3", "rounds": "5"})`. An item without `=` has the value `""`.
    """
    method, bracket, inside = name.strip().partition("[")
    if not bracket or not inside.rstrip().endswith("]"):
        return name.strip(), {}
    items = (item.partition("=") for item in _split(inside.rstrip()[:-1], ","))
    return method.strip(), {axis.strip(): value.strip() for axis, _, value in items if axis.strip()}


def metrics_of(claims: Sequence[Claim]) -> tuple[str, ...]:
    """The metrics that the claims need, each once, in order of appearance."""
    return tuple(dict.fromkeys(claim.metric for claim in claims))


def claims_digest(claims: Sequence[str]) -> str:
    """A digest of claims that a plan keeps: the same for the same claims in any order and spacing."""
    lines = sorted({" ".join(claim.split()) for claim in claims})
    return sha256("\n".join(lines).encode()).hexdigest()[:16]


def _split(text: str, separator: str) -> list[str]:
    """Split at separators that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _split_dataset(text: str) -> tuple[str, str | None]:
    head, word, tail = text.rpartition(" on ")
    if not word or ")" in tail or " is " in tail:
        return text, None
    return head.strip(), EVERY if tail.strip() in (EVERY, "every") else tail.strip()


def _slice(text: str, name: str, axes: int, where: str) -> Slice:
    method, items = parse_point(name)
    ordered = {axis: tuple(map(str.strip, value.split("<"))) for axis, value in items.items() if "<" in value}
    free = tuple(axis for axis, value in items.items() if not value or axis in ordered)
    if len(free) != axes:
        fail(
            where, text, f"{name!r} leaves {len(free)} axes open, not {axes}",
            "name an open axis alone, `sparse[rounds]`, or with its levels in order, `sparse[team=three<five]`; "
            "fix others with =, `sparse[rounds, team=five]`",
        )  # fmt: skip
    fixed = {axis: value for axis, value in items.items() if axis not in free}
    return Slice(method, free, ordered, fixed)


def _shaped(text: str, quantity: str, word: str, dataset: str | None, where: str) -> Trend | Interaction:
    read = read_quantity(quantity, 0)
    if read is None or quantity[read[2] :].strip():
        fail(where, text, f"{quantity!r} is not `metric(method[axis])`")
    metric, name, _ = read
    if word == "interacting":
        return Interaction(text, metric, _slice(text, name, 2, where), dataset)
    direction: Literal["increasing", "decreasing"] = "increasing" if word == "increasing" else "decreasing"
    return Trend(text, metric, _slice(text, name, 1, where), direction, dataset)


def _best(text: str, found: re.Match[str], dataset: str | None, where: str) -> Best:
    method, fixed = parse_point(found["name"])
    inside = ", ".join([found["axis"], *(f"{axis}={value}" for axis, value in fixed.items())])
    chosen = _slice(text, f"{method}[{inside}]", 1, where)
    extreme: Literal["highest", "lowest"] = "lowest" if found["end"] == "lowest" else "highest"
    return Best(text, found["metric"] or "accuracy", chosen, found["value"].strip(), extreme, dataset)
