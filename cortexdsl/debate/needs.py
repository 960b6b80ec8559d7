"""What a debate cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cortexdsl.debate.roles import members, opens_round, parts, principal_roles, spoken
from cortexdsl.debate.weights import expressions
from cortexdsl.debate.weights.factors import ASKED
from cortexdsl.debate.without import present
from cortexdsl.terms import NEVER, Choose, Method, OfRole, Repeat, Sparse, Step, Without


def needed(method: Method, without: Without) -> tuple[str, str] | None:
    """Say why something cannot be left out of a debate.

    Parameters
    ----------
    method : Method
    without : Without
        Whose agents and steps are those of the method.

    Returns
    -------
    (str, str) or None
        What needs it, and what to do; None where the debate can go on without it.
    """
    return next(_reasons(method, without), None)


def _reasons(method: Method, without: Without) -> Iterator[tuple[str, str]]:
    left = present(method, without)
    if not members(left):
        yield f"nobody is left to debate as {' or '.join(principal_roles(method))}", "leave out fewer agents"
        return
    steps = [method.steps[name] for name in dict.fromkeys(spoken(method.schedule))]
    said = [step for step in steps if step.name not in without.steps and left.cast[step.role]]
    silent = ", ".join(step.name for step in steps if step not in said)

    def lost(reads: str, role: str | None = None) -> bool:
        return not any(reads in (step.reads, *step.beside) and role in (None, step.role) for step in said)

    opening = next(step for step in steps if opens_round(method, step))
    if opening not in said:
        yield f"step {opening.name} opens the debate, and all that follows is about its answers", "leave out another"
    if method.decide.role is not None and method.decide.otherwise == "none" and lost("answer", method.decide.role):
        yield f"the answer of the debate is that of {method.decide.role} in step {silent}", "leave out another"
    if lost("verdict") and "agreed" in _named(method):
        yield f"a loop ends at the verdict of step {silent}", "leave out another"
    for name, what in _READ.items():
        if lost(what) and name in _named(method):
            yield f"{name} is made of step {silent}", "leave out another"
    for step in said:
        yield from _unread(step, method, lost, silent)
        if isinstance(step.hears, OfRole) and not any(other.role in step.hears.roles for other in said):
            alone = Without(steps=(*silent.split(", "), step.name))
            yield f"step {step.name} hears nobody but step {silent}", f"leave out both: {alone}"


def _unread(step: Step, method: Method, lost: Callable[[str], bool], silent: str) -> Iterator[tuple[str, str]]:
    """Yield what the weights of a step are made of, and nothing is left to make it of."""
    if not isinstance(step.hears, Sparse):
        return
    used = expressions.parse(step.hears.weight).names
    is_asked = method.similarity == ASKED and used & {"similarity", "intimacy"}
    is_unread = any(name in used and lost(what) for name, what in _READ.items())
    if is_unread or (is_asked and lost("similarity")):
        yield f"the weights of step {step.name} are made of step {silent}", "leave out another"


_READ = {"peer_score": "review", "score": "review", "chosen": "choice"}
"""What some names of choices, conditions and votes are made of."""


def _named(method: Method) -> set[str]:
    """Return the names that the choices, conditions and the vote of a method use."""
    found = [method.decide.weight] if method.decide.rule == "vote" else []
    for part in parts(method.schedule):
        if isinstance(part, Choose):
            found.append(part.weight)
        elif isinstance(part, Repeat):
            found += [text for text in (part.until, part.unless) if text != NEVER]
    return {name for text in found for name in expressions.parse(text).names}
