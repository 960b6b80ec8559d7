"""What needs turns that are about somebody (such as a review), and which steps could have said them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cortexdsl.debate.weights import expressions
from cortexdsl.protocols.text import walks
from cortexdsl.spec.grammar.protocols.protocol import ProtocolText
from cortexdsl.spec.grammar.protocols.steps import StepText, ToldText
from cortexdsl.spec.text.nodes import Route

EACH = ("edge", "listener", "group")
"""Values of `each` whose turns are about one agent."""
SCORES = ("peer_score", "score")
"""Names that are worked out of reviews, by whom these are about."""


def about_nobody(text: ProtocolText) -> Iterator[tuple[Route, str, tuple[str, ...]]]:
    """Yield what needs a turn about somebody and cannot have one.

    Yields
    ------
    (route, what, steps)
        Where it is needed, what is wrong, and the steps that would be about somebody with `each:`; none where no step
        hears anybody whom it could be about.
    """
    for name, step in text.steps.items():
        for told in step.tells:
            if isinstance(told, ToldText):
                needs, said = told.about == "me", tuple(one for one in told.step if one in text.steps)
            else:
                needs, said = told == "about_me", ()
            if needs and not any(text.steps[one].kind in EACH for one in said or text.steps):
                which = "no turn is" if not said else f"no turn of {' or '.join(said)} is"
                what = f"{name} is told what is about it, and {which} about anybody"
                yield ("steps", name, "tells"), what, said or _could(text, name)
    reviews = tuple(name for name, step in text.steps.items() if "review" in step.reads)
    if reviews and not any(text.steps[name].kind in EACH for name in reviews):
        for expression, route in walks.expressions(text):
            for factor in sorted(expressions.parse(expression).names & {*SCORES}):
                yield route, f"{factor} needs reviews of somebody, and {' and '.join(reviews)} is about nobody", reviews


def _could(text: ProtocolText, needing: str) -> tuple[str, ...]:
    """Return the steps that most likely were meant: what is read as a review, else what the step hears or is told."""
    step = text.steps[needing]
    heard = getattr(step.hears, "role", None)
    likely: tuple[Callable[[StepText], bool], ...] = (
        lambda other: "review" in other.reads,
        lambda other: heard is not None and other.role in heard,
        lambda other: True,
    )
    for is_meant in likely:
        found = [
            name
            for name, other in text.steps.items()
            if name != needing and other.hears != "nobody" and other.kind == "speaker" and is_meant(other)
        ]
        if found:
            return tuple(found)
    return ()
