"""Expressions as they are written: checked where they stand, for weights, choices, conditions and votes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import AfterValidator

from cortexdsl.debate.weights.expressions import evaluate, named, parse, sides
from cortexdsl.debate.weights.names import NAMES, Place, made_up
from cortexdsl.spec.grammar.values.words import Text, said
from cortexdsl.spec.text.messages import nearest

_MOST = {"condition": 0, "choice": 1}
"""How many axes of a value are longer than one, at most."""
_TOO_MANY = {
    "condition": "has a value for each agent, and a condition is one of the debate",
    "choice": "has a value for each pair, and a choice weighs agents",
}


_PLACES: Mapping[Place, str] = {
    "weight": "a weight of edges",
    "choice": "a choice of agents",
    "condition": "a condition of the debate",
    "vote": "a vote",
    "turn": "a condition on turns",
}
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
    r"\b(mine|theirs|mean|sum|any|all)\s+\w": "write parentheses: mine(place)",
    r"\b(min|max)\(\w+\)": "over agents there are mean, sum, any and all",
}


def slip(text: str) -> str:
    """Return the remedy for what people write who are used to another language; empty where nothing is known."""
    if (surplus := text.count("(") - text.count(")")) != 0:
        return "close the parenthesis" if surplus > 0 else "open the parenthesis, or remove it"
    return next((remedy for pattern, remedy in _SLIPS.items() if re.search(pattern, text)), "")


def _wrong_side(side: str, part: str, shape: tuple[int, ...], place: Place) -> tuple[str, str] | None:
    """Return why one side of an edge cannot be asked for, and the remedy; None where it can."""
    inside = part[len(side) + 1 : -1]
    if place in ("vote", "turn"):
        own = "answers, each by its own author" if place == "vote" else "one turn"
        return f"{part} has no meaning in {_PLACES[place]}: it is of {own}", f"write {inside}"
    if side == "theirs" or not shape:
        return None
    if place == "choice":
        said = f"{part}: in a choice names are the candidate's own"
        return said, f"write {inside}; or theirs({inside}), the other's"
    if shape[1:] != (1,):
        return (
            f"{part}: {inside} is of the one that listens already",
            f"write {inside}; or theirs({inside}), the speaker's",
        )
    return None


def expression(place: Place) -> Callable[[str], str]:
    """Return a validator of expressions at a place; a text that names a setting waits until that has a value."""

    def check(text: str) -> str:
        if "$" in text:
            return text
        known = NAMES[place]
        try:
            parsed = parse(text)
        except ValueError as error:
            raise said(str(error), slip(text) or f"names: {', '.join(known)}") from None
        for name in sorted(parsed.names - set(known)):
            if any(name in names for names in NAMES.values()):
                raise said(f"{name} has no value in {_PLACES[place]}", f"names: {', '.join(known)}")
            raise said(f"no factor is called {name}", nearest(name, known))
        made = [made_up(place, value) for value in (0.3, 0.9, 1.7, 3.0)]
        made = [{key: one[named(key)[0]] for key in parsed.keys} for one in made]
        for side, part, shape in sides(parsed, made[0]):
            if (wrong := _wrong_side(side, part, shape, place)) is not None:
                raise said(*wrong)
        values = [evaluate(parsed, one) for one in made]
        if place in _MOST and sum(length > 1 for length in np.shape(values[0])) > _MOST[place]:
            raise said(f"{text!r} {_TOO_MANY[place]}", "say any(...), all(...) or mean(...) of it")
        if place == "choice" and np.shape(values[0])[:1] > (1,):
            raise said(
                f"{text!r} has a value for each other agent", "say any(...), all(...), mean(...) or sum(...) of it"
            )
        if not any(np.isfinite(value).any() for value in values):
            raise said(f"{text!r} is no number, whatever the agents say", "is something divided by 0, or too large?")
        return text

    return check


Weight: TypeAlias = Annotated[Text, AfterValidator(expression("weight"))]
ChoiceWeight: TypeAlias = Annotated[Text, AfterValidator(expression("choice"))]
TurnCondition: TypeAlias = Annotated[Text, AfterValidator(expression("turn"))]
Ballot: TypeAlias = Annotated[Text, AfterValidator(expression("vote"))]
