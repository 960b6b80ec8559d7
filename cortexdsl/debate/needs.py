"""What a debate cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from cortexdsl.debate.roles import members, opens_round, parts, principal_roles, spoken
from cortexdsl.debate.weights import expressions
from cortexdsl.debate.weights.factors import ASKED
from cortexdsl.debate.weights.names import OF_STEPS
from cortexdsl.debate.without import present
from cortexdsl.terms import NEVER, Choose, Method, OfRole, Repeat, Sparse, Step, Told, Without


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
    there = {role for role, agents in left.cast.items() if agents} | {""}
    said = [step for step in steps if step.name not in without.steps and {step.role, step.of} <= there]
    silent = ", ".join(step.name for step in steps if step not in said)

    def lost(reads: str, role: str | None = None, among: Collection[str] = ()) -> bool:
        reading = [step for step in said if reads in (step.reads, *step.beside) and role in (None, step.role)]
        return not any(not among or step.name in among for step in reading)

    opening = next(step for step in steps if opens_round(method, step))
    if opening not in said:
        yield f"step {opening.name} opens the debate, and all that follows is about its answers", "leave out another"
    if method.decide.role is not None and method.decide.otherwise == "none" and lost("answer", method.decide.role):
        yield f"the answer of the debate is that of {method.decide.role} in step {silent}", "leave out another"
    for name, among in sorted(_named(method)):
        if name in OF_STEPS and lost(OF_STEPS[name], among=among):
            what = "a loop ends at the verdict" if name == "agreed" else f"{name} is made"
            yield f"{what} of step {silent}", "leave out another"
    for step in said:
        yield from _unread(step, method, lost, silent)
        yield from _untold(step, lost, silent)
        if isinstance(step.hears, OfRole) and not any(other.role in step.hears.roles for other in said):
            alone = Without(steps=(*silent.split(", "), step.name))
            yield f"step {step.name} hears nobody but step {silent}", f"leave out both: {alone}"


def _unread(step: Step, method: Method, lost: Callable[..., bool], silent: str) -> Iterator[tuple[str, str]]:
    """Yield what the weights of a step are made of, and nothing is left to make it of."""
    if not isinstance(step.hears, Sparse):
        return
    used = _of_steps(step.hears.weight)
    is_asked = method.similarity == ASKED and {name for name, _ in used} & {"similarity", "intimacy"}
    is_unread = any(name in OF_STEPS and lost(OF_STEPS[name], among=among) for name, among in used)
    if is_unread or (is_asked and lost("similarity")):
        yield f"the weights of step {step.name} are made of step {silent}", "leave out another"


def _untold(step: Step, lost: Callable[..., bool], silent: str) -> Iterator[tuple[str, str]]:
    """Yield that the turns which a step is told are picked by what nothing is left to say."""
    conditions = [told.where for told in (*step.tells, step.own) if isinstance(told, Told) and told.where]
    used = {named for text in conditions for named in _of_steps(text)}
    if any(name in OF_STEPS and lost(OF_STEPS[name], among=among) for name, among in used):
        yield f"what step {step.name} is told is picked by step {silent}", "leave out another"


def _of_steps(text: str) -> set[tuple[str, tuple[str, ...]]]:
    """Return the names that an expression uses, and the steps that each is of."""
    return {expressions.named(key) for key in expressions.parse(text).keys}


def _named(method: Method) -> set[tuple[str, tuple[str, ...]]]:
    """Return the names that the choices, conditions and the vote of a method use, and the steps that each is of."""
    found = [method.decide.weight] if method.decide.rule == "vote" else []
    for part in parts(method.schedule):
        if isinstance(part, Choose):
            found.append(part.weight)
        elif isinstance(part, Repeat):
            found += [text for text in (part.until, part.unless) if text != NEVER]
    return {named for text in found for named in _of_steps(text)}
