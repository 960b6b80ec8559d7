"""Expressions in weights, choices, conditions, and votes, validated for their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import AfterValidator

from cortexdsl.errors import nearest
from cortexdsl.expressions.evaluation import (
    LAST_PASS,
    MAX_LENGTH,
    ParsedExpression,
    earlier_key,
    evaluate,
    parse,
    side_calls,
    split_key,
)
from cortexdsl.expressions.names import COUNTS, HAVE_EARLIER, LEARNED, NAMES, SHARES, ExpressionPlace, sample_values
from cortexdsl.language.grammar.entries import Text, invalid
from cortexdsl.language.grammar.old_words import expression_remedy

_MOST = {"condition": 0, "choice": 1}
"""Most axes of a value that may be longer than one."""
_TOO_MANY = {
    "condition": "has a value for each agent, and a condition is one of the debate",
    "choice": "has a value for each pair, and a choice weighs agents",
}


PLACES: Mapping[ExpressionPlace, str] = {
    "weight": "a weight of edges",
    "choice": "a choice of agents",
    "condition": "a condition of the debate",
    "vote": "a vote",
    "turn": "a condition on turns",
    "label": "a rule that labels turns",
}
"""What messages call the places of expressions."""
_SLIPS: Mapping[str, str] = {
    r"=>|≥": "write >=",
    r"=<|≤": "write <=",
    r"<>|≠": "write !=",
    r"&": "write and",
    r"\|": "write or",
    r"(?<![<>=!])=(?!=)": "write == to compare",
    r"!(?!=)": "write not",
    r"\d\s*%\s*($|\)|[<>=!]|and\b|or\b)": "write a share of 1: 0.8 for 80 %",
    r"[?:]": "write CONDITION * VALUE: what is true is 1",
    r"\d,\d": "write a decimal point",
    r"\bis\b": "write ==",
    r"\^": "write **",
    r"\b(mine|theirs|mean|sum|any|all)\s+\w": "write parentheses: mine(position)",
    r"\b(min|max)\(\w+\)": "over agents there are mean, sum, any and all",
}


def slip(text: str) -> str:
    """Return the remedy for habits from other languages; empty if none is known."""
    if (surplus := text.count("(") - text.count(")")) != 0:
        return "close the parenthesis" if surplus > 0 else "open the parenthesis, or remove it"
    return next((remedy for pattern, remedy in _SLIPS.items() if re.search(pattern, text)), "")


def _wrong_side(side: str, part: str, shape: tuple[int, ...], place: ExpressionPlace) -> tuple[str, str] | None:
    """Return why one side of an edge has no meaning at a place, and the remedy; None if it has one."""
    inside = part[len(side) + 1 : -1]
    if place in ("vote", "turn", "label"):
        own = "answers, each by its own author" if place == "vote" else "one turn"
        return f"{part} has no meaning in {PLACES[place]}: it is of {own}", f"write {inside}"
    if side == "theirs" or not shape:
        return None
    if place == "choice":
        what = f"{part}: in a choice names are the candidate's own"
        return what, f"write {inside}; or theirs({inside}), the other's"
    if shape[1:] != (1,):
        return (
            f"{part}: {inside} is of the one that listens already",
            f"write {inside}; or theirs({inside}), the speaker's",
        )
    return None


def _check_earlier(parsed: ParsedExpression, place: ExpressionPlace) -> None:
    """Refuse earlier values of names that have none, and a weight that is not an earlier one."""
    if "weight" in parsed.keys:
        remedy = "write before(weight)" if place == "weight" else "write what is weighed, such as confidence"
        raise invalid("weight is what an expression gives, and not a name of it", remedy)
    for key in sorted(parsed.keys):
        name, _ = split_key(key)
        if name == "weight" and place == "weight" and key != "before(weight)":
            raise invalid(f"{key}: a weight has one earlier value", "write before(weight)")
        if LAST_PASS in key and (place in ("vote", "turn", "label") or name == "weight"):
            raise invalid(
                f"{key}: {name} has no value of a pass in {PLACES[place]}", f"write {name}, or before({name})"
            )
        if earlier_key(key) is not None and name not in HAVE_EARLIER[place]:
            known = sorted(HAVE_EARLIER[place])
            having = f"names with one: {', '.join(known)}" if known else "remove it"
            raise invalid(f"{name} has no earlier value in {PLACES[place]}", having)


def expression(place: ExpressionPlace, learned: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """Return a validator of expressions at a place; texts with settings are not validated before these have values.

    Parameters
    ----------
    place : str
    learned : mapping of name to str, optional
        For each fitted function, a name whose value has its shape. Without it, a text with fitted functions is only
        parsed, because one section of a spec does not know the others.
    """

    def check(text: str) -> str:
        if "$" in text:
            return text
        known = NAMES[place]
        try:
            parsed = parse(text)
            if len(text) > MAX_LENGTH:
                raise ValueError(f"the expression has {len(text)} characters; {MAX_LENGTH} are allowed")
        except ValueError as error:
            raise invalid(str(error), expression_remedy(text) or slip(text) or f"names: {', '.join(known)}") from None
        if LEARNED in parsed.names and learned is None:
            return text
        shapes = {f"{LEARNED}({name})": shape for name, shape in (learned or {}).items()}
        _check_earlier(parsed, place)
        for name in sorted(parsed.names - {*NAMES[place], *HAVE_EARLIER[place], LEARNED}):
            if any(name in names for names in NAMES.values()):
                raise invalid(f"{name} has no value in {PLACES[place]}", f"names: {', '.join(known)}")
            raise invalid(f"no factor is called {name}", expression_remedy(text) or nearest(name, known))
        samples = [sample_values(place, value) for value in (0.3, 0.9, 1.7, 3.0)]
        samples = [{key: sample[shapes.get(key, split_key(key)[0])] for key in parsed.keys} for sample in samples]
        for side, part, shape in side_calls(parsed, samples[0]):
            if (wrong := _wrong_side(side, part, shape, place)) is not None:
                raise invalid(*wrong)
        values = [evaluate(parsed, sample) for sample in samples]
        if place in _MOST and sum(length > 1 for length in np.shape(values[0])) > _MOST[place]:
            raise invalid(f"{text!r} {_TOO_MANY[place]}", "say any(...), all(...) or mean(...) of it")
        if place == "choice" and np.shape(values[0])[:1] > (1,):
            raise invalid(
                f"{text!r} has a value for each other agent", "say any(...), all(...), mean(...) or sum(...) of it"
            )
        if not any(np.isfinite(value).any() for value in values):
            raise invalid(f"{text!r} is not a number for any reply", "is something divided by 0, or too large?")
        _check_ends(parsed, samples[0])
        return text

    return check


def _check_ends(parsed: ParsedExpression, sample: Mapping[str, Any]) -> None:
    """Refuse an expression that has no value if names are exactly 0 or 1, each alone or all of them together."""
    for end, reach in ((0.0, SHARES | COUNTS), (1.0, SHARES)):
        keys = [key for key in sorted(parsed.keys) if split_key(key)[0] in reach]
        for ended in [*([key] for key in keys), keys]:
            values = {**sample, **{key: np.full_like(sample[key], end) for key in ended}}
            if not np.isfinite(evaluate(parsed, values)).all():
                what = f"{parsed.text!r} is not a number if {' and '.join(ended)} {'is' if len(ended) == 1 else 'are'}"
                remedy = "add a small number such as 0.01 to what it divides by or takes the logarithm of"
                raise invalid(f"{what} {end:g}", remedy)


Weight: TypeAlias = Annotated[Text, AfterValidator(expression("weight"))]
ChoiceWeight: TypeAlias = Annotated[Text, AfterValidator(expression("choice"))]
TurnCondition: TypeAlias = Annotated[Text, AfterValidator(expression("turn"))]
LabelRule: TypeAlias = Annotated[Text, AfterValidator(expression("label"))]
Ballot: TypeAlias = Annotated[Text, AfterValidator(expression("vote"))]
