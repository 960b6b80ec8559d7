"""What a debate cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cortexdsl.debate import expressions
from cortexdsl.debate.engine import principal_role, spoken
from cortexdsl.debate.sparsify import ASKED
from cortexdsl.debate.without import present
from cortexdsl.terms import Method, OfRole, Repeat, Sparse, Step, Without


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
    left, principal = present(method, without), principal_role(method)
    if not left.cast[principal]:
        yield f"nobody is left to debate as {principal}", "leave out fewer agents"
        return
    steps = [method.steps[name] for name in dict.fromkeys(spoken(method.schedule))]
    said = [step for step in steps if step.name not in without.steps and left.cast[step.role]]
    silent = ", ".join(step.name for step in steps if step not in said)

    def lost(reads: str, role: str | None = None) -> bool:
        return not any(step.reads == reads and role in (None, step.role) for step in said)

    opening = next(step for step in steps if step.reads == "answer" and step.role == principal)
    if opening not in said:
        yield f"step {opening.name} opens the debate, and all that follows is about its answers", "leave out another"
    if method.decide.role is not None and lost("answer", method.decide.role):
        yield f"the answer of the debate is that of {method.decide.role} in step {silent}", "leave out another"
    if lost("verdict") and "agreed" in _conditions(method.schedule):
        yield f"a loop ends at the verdict of step {silent}", "leave out another"
    for step in said:
        yield from _unread(step, method, lost, silent)
        if isinstance(step.hears, OfRole) and not any(other.role in step.hears.roles for other in said):
            yield f"step {step.name} hears nobody but step {silent}", f"leave out both: step={silent},{step.name}"


def _unread(step: Step, method: Method, lost: Callable[[str], bool], silent: str) -> Iterator[tuple[str, str]]:
    """Yield what the weights of a step are made of, and nothing is left to make it of."""
    if not isinstance(step.hears, Sparse):
        return
    used = expressions.parse(step.hears.weight).names
    is_asked = method.similarity == ASKED and used & {"similarity", "intimacy"}
    if ("peer_score" in used and lost("review")) or (is_asked and lost("similarity")):
        yield f"the weights of step {step.name} are made of step {silent}", "leave out another"


def _conditions(schedule: Sequence[str | Repeat]) -> set[str]:
    found: set[str] = set()
    for part in schedule:
        if isinstance(part, Repeat):
            found |= {part.until, part.unless} | _conditions(part.body)
    return found
