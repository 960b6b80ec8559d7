"""Parse the claim language: one line of `hypotheses:` becomes a frozen claim.

    accuracy(sparse) > accuracy(full)                        a difference; < for the opposite
    accuracy(sparse) >= accuracy(full) - 0.02                non-inferior by a margin of two points
    accuracy(sparse) == accuracy(full) +- 0.02               equivalent within a margin
    input_tokens(sparse) <= 0.7 * input_tokens(full)         a ratio of means
    accuracy(sparse) > 0.8                                   against a fixed value
    accuracy(a) - accuracy(b) > accuracy(c) - accuracy(d)    any sum of named means; here a difference of differences
    accuracy(full, round=0) < accuracy(full)                 after a round; round 0 is the opening
    brier(sparse, agent=quick) < brier(full, agent=quick)    of one agent's own answers
    ece_recalibrated(sparse) < ece_stated(sparse)            calibration of confidences: ece, brier, auroc
    accuracy(a) per input_tokens > accuracy(b) per input_tokens    efficiency: a ratio of ratios
    accuracy(sparse) > accuracy(every other)                 against each of the other cells
    sparse on front of accuracy, dollars                     each other cell is worse on one of them at least
    accuracy(sparse[rounds]) increasing                      a slope over a grid axis; or `decreasing`
    accuracy(sparse[rounds]) monotone increasing             every step of the axis in this direction
    accuracy(sparse[agents=three<five<eight]) increasing       the same over an axis that is not a number
    best keep of sparse is mean                              the best point of an axis (highest accuracy)
    lowest rounds of sparse by input_tokens is 1             the same for any metric and either end
    ... and ...                                              every one of several claims

Any claim may end in `on NAME` (one dataset) or `on every dataset`; without it, a claim over several
datasets is about the mean over datasets. A comparison that ends in `over teams`, `over seeds`, `over datasets`,
`over prompts` or `over fits` is about a population, and these are a sample of it. A claim is about questions like
these, with the questions that were asked as a sample of them. A name is a cell, one of its aliases, or a method.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from hashlib import sha256
from typing import Literal, NoReturn

from cortexdsl.claims.comparisons import read_comparison, read_quantity, split_outside
from cortexdsl.claims.values import (
    CLAIMED_METRICS,
    EVERY,
    LIKE_THESE,
    OTHERS,
    POOLED_METRICS,
    All,
    Best,
    Claim,
    Front,
    Over,
    Simple,
    Slice,
    Trend,
    advice,
    better_of,
    fail,
    one_line,
)
from cortexdsl.core.metrics import find_metric
from cortexdsl.errors import Problem, SpecError

_BEST = re.compile(
    r"(?P<end>best|highest|lowest)\s+(?P<axis>\S+)\s+of\s+(?P<name>.+?)(?:\s+by\s+(?P<metric>\S+))?\s+is\s+(?P<value>.+)"
)
_SHAPE = re.compile(r"(?P<quantity>.+\))\s+(?P<monotone>monotone\s+)?(?P<word>increasing|decreasing)")
_INTERACTS = re.compile(r".+\)\s+interacting")
_DOMINATES = re.compile(r"(\S.*?)\s+dominates\s+(\S.*?)\s+on\s+.+")
_FRONT = re.compile(r"(?P<name>\S.*?)\s+on\s+(?:the\s+)?front\s+of\s+(?P<metrics>.+)")
_ON_FRONT = "write `a on front of accuracy, dollars`"
_SIGNS = str.maketrans({"≥": ">=", "≤": "<=", "−": "-", "–": "-", "×": "*"})
_OVER: tuple[Over, ...] = ("teams", "seeds", "datasets", "prompts", "fits")


def parse_claim(text: str, where: str = "hypotheses") -> Claim:
    """Read one claim.

    Parameters
    ----------
    text : str
        The claim; see the head of this module for the forms.
    where : str
        The place that the error names: `file:line:column`, or the section.

    Returns
    -------
    Comparison, Trend, Best, Front or All

    Raises
    ------
    SpecError
        With one problem: what is wrong, and the nearest correct claims.
    """
    if not text.strip():
        raise SpecError([Problem(where, "a claim is a line of text, not empty", advice(""))])
    plain = " ".join(text.translate(_SIGNS).split()).removesuffix(f" on {LIKE_THESE}")
    if " on these questions" in plain:
        what = f"`on these questions` was removed: claims are about {LIKE_THESE}"
        fail(where, text, what, "leave it out; more questions make a claim more precise")
    if plain.endswith(" on no dataset"):
        fail(where, text, "`on no dataset` was removed", f"claim the opposite `on {EVERY}`")
    if old := _DOMINATES.fullmatch(plain):
        a, b = old.groups()
        joined = f"accuracy({a}) >= accuracy({b}) - 0.02 and input_tokens({a}) < input_tokens({b})"
        fail(where, text, "`dominates` was removed", f"join comparisons, such as `{joined}`")
    if (front := _FRONT.fullmatch(plain)) and " and " not in plain:
        return _front(text, front, where)
    whole, over = _split_over(plain)
    body, dataset = _split_dataset(whole)
    parts = split_outside(body, " and ")
    if len(parts) == 1:
        return _simple(text, body, dataset, over, where)
    claims: list[Simple] = []
    for part in parts:
        own, its_dataset = _split_dataset(part.strip())
        claims.append(_simple(part.strip(), own, its_dataset or dataset, over, where))
    return All(text, tuple(claims))


def known_claim(text: str) -> Claim | None:
    """Read a claim of finished results; None if it has a form that only another version or program knows."""
    try:
        return parse_claim(text)
    except SpecError:
        return None


def _simple(text: str, body: str, dataset: str | None, over: Over | None, where: str) -> Simple:
    if _INTERACTS.fullmatch(body):
        what = "`interacting` was removed: claims say which difference is larger"
        fail(where, text, what, "write `accuracy(a[x=1, y=1]) - accuracy(a[x=2, y=1]) > accuracy(a[x=1, y=2]) - ...`")
    best, shape = _BEST.fullmatch(body), _SHAPE.fullmatch(body)
    if over is not None and (best or shape or dataset == EVERY):
        fail(where, text, f"`over {over}` ends a comparison, on one dataset or on the mean over them")
    if best:
        return _best(text, best, dataset, where)
    if shape:
        return _shaped(text, shape, dataset, where)
    comparison = replace(read_comparison(text, body, dataset, where), over=over)
    if over is not None and (
        comparison.is_ratio or comparison.margin is not None or OTHERS in (comparison.name, comparison.reference)
    ):
        fail(where, text, f"`over {over}` ends a claim about a difference or a mean", "claim a difference")
    if over == "datasets" and dataset is not None:
        fail(where, text, "is both on one dataset and over datasets", "remove one of the two")
    return comparison


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
    items = (item.partition("=") for item in split_outside(inside.rstrip()[:-1], ","))
    return method.strip(), {axis.strip(): value.strip() for axis, _, value in items if axis.strip()}


def claims_digest(claims: Sequence[str]) -> str:
    """Return a digest of claims for a plan: independent of their order and spacing."""
    lines = sorted({one_line(claim) for claim in claims})
    return sha256("\n".join(lines).encode()).hexdigest()[:16]


DATASET_WORDS = {EVERY: EVERY, "every": EVERY}
"""What may follow `on` in a claim apart from the name of a dataset, and its meaning."""


def _split_dataset(text: str) -> tuple[str, str | None]:
    head, word, tail = text.rpartition(" on ")
    if not word or ")" in tail or " is " in tail:
        return text, None
    return head.strip(), DATASET_WORDS.get(tail.strip(), tail.strip())


def _split_over(text: str) -> tuple[str, Over | None]:
    head, word, tail = text.rpartition(" over ")
    population = next((over for over in _OVER if tail.strip() == over), None) if word else None
    return (head.strip(), population) if population else (text, None)


def _front(text: str, clause: re.Match[str], where: str) -> Front:
    """Read `a on front of accuracy, dollars`."""
    listed, dataset = _split_dataset(clause["metrics"])
    metrics = tuple(item.strip() for item in listed.split(","))
    if dataset == EVERY:
        fail(where, text, "a front is of one dataset, or of the mean over them", "write a claim for each dataset")
    for metric in metrics:
        if not re.fullmatch(r"[A-Za-z_]\w*", metric):
            fail(where, text, f"{metric!r} is not a metric", _ON_FRONT)
        if better_of(metric) == "neither":
            _without_direction(text, metric, _ON_FRONT, where)
    if len(set(metrics)) < len(metrics) or len(metrics) < 2:
        fail(where, text, "a front has two different metrics or more", _ON_FRONT)
    return Front(text, clause["name"].strip(), metrics, dataset)


def _without_direction(text: str, metric: str, remedy: str, where: str) -> NoReturn:
    """Refuse a claim that needs the better direction of a metric without one."""
    if find_metric(metric) is not None:
        fail(where, text, f"neither direction of {metric} is a merit", remedy)
    near = get_close_matches(metric, CLAIMED_METRICS, 1)
    nearest = f"did you mean {near[0]}? " if near else ""
    what = f"which direction of {metric} is better is not known"
    fail(where, text, what, f"{nearest}For a column of a table, give compare --lower {metric} or --higher {metric}")


def _slice(text: str, name: str, where: str) -> Slice:
    """Read a method with one open axis."""
    method, items = parse_point(name)
    ordered = {axis: tuple(map(str.strip, value.split("<"))) for axis, value in items.items() if "<" in value}
    free = tuple(axis for axis, value in items.items() if not value or axis in ordered)
    if len(free) != 1:
        fail(
            where, text, f"{name!r} leaves {len(free)} axes open, not 1",
            "name an open axis alone, `sparse[rounds]`, or with its levels in order, `sparse[agents=three<five]`; "
            "fix others with =, `sparse[rounds, agents=five]`",
        )  # fmt: skip
    fixed = {axis: value for axis, value in items.items() if axis not in free}
    return Slice(method, free, ordered, fixed)


def _shaped(text: str, shape: re.Match[str], dataset: str | None, where: str) -> Trend:
    read = read_quantity(text, shape["quantity"], 0, where)
    if read is None or shape["quantity"][read[1] :].strip():
        fail(where, text, f"{shape['quantity']!r} is not `metric(method[axis])`")
    quantity, monotone = read[0], bool(shape["monotone"])
    if not quantity.is_plain or quantity.metric in POOLED_METRICS:
        fail(where, text, f"{quantity} has no trend", "a trend is of a metric of a method at the end of its debates")
    direction: Literal["increasing", "decreasing"] = "increasing" if shape["word"] == "increasing" else "decreasing"
    return Trend(text, quantity.metric, _slice(text, quantity.name, where), direction, dataset, monotone)


def _best(text: str, match: re.Match[str], dataset: str | None, where: str) -> Best:
    method, fixed = parse_point(match["name"])
    inside = ", ".join([match["axis"], *(f"{axis}={value}" for axis, value in fixed.items())])
    chosen = _slice(text, f"{method}[{inside}]", where)
    metric = match["metric"] or "accuracy"
    better = better_of(metric)
    if match["end"] == "best" and better == "neither":
        _without_direction(text, metric, "write highest or lowest for best", where)
    is_lowest = match["end"] == "lowest" or (match["end"] == "best" and better == "lower")
    return Best(text, metric, chosen, match["value"].strip(), "lowest" if is_lowest else "highest", dataset)
