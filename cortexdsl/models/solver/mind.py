"""How the built-in solver makes up its mind: attempts of its own, and the weight of what it hears."""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass, replace

from cortexdsl.models.solver.arithmetic import (
    Attempt,
    Expression,
    find_expression,
    mistake_rate,
    odds_of_right,
    usual_accuracy,
    work_out,
)
from cortexdsl.models.solver.prompt import Prompt
from cortexdsl.models.solver.settings import SolverSettings

CARE = 0.8
"""What a mistake's probability is multiplied by in a second attempt: it is made with more care."""
ATTENTION = 2.0
"""What all that is heard weighs together, for a solver without stubbornness; an attempt of its own weighs 1."""
LEANING = 0.6
"""How often a guess is the one that its question suggests to everybody."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d+)?")
_WORD = re.compile(r"[A-Za-z][\w'-]{3,}")


@dataclass(frozen=True, slots=True)
class Mind:
    """What the solver has come to.

    Attributes
    ----------
    answer : str
    confidence : float
        As it is going to state it.
    steps : tuple of str
        Of its first attempt.
    check : str or None
        What a second attempt came to, where there was a reason for one.
    is_persuaded : bool
        The answer is neither attempt's.
    """

    answer: str
    confidence: float
    steps: tuple[str, ...] = ()
    check: str | None = None
    is_persuaded: bool = False


def make_up_mind(prompt: Prompt, settings: SolverSettings, rng: random.Random) -> Mind:
    """Come to an answer; where it is told which to argue for, to that one."""
    mind = _own_mind(prompt, settings, rng)
    return replace(mind, answer=prompt.target) if prompt.target else mind


def _own_mind(prompt: Prompt, settings: SolverSettings, rng: random.Random) -> Mind:
    """Attempt the question; where others or an earlier answer are in sight, attempt it again and weigh them all."""
    expression = _expression(prompt)
    first, steps = _attempt(prompt, expression, settings.skill, 1.0, rng)
    hope = _hope(expression, settings.skill)
    if not prompt.heard and prompt.own is None:
        return Mind(first, _stated(hope, settings, rng), steps)
    check, again = _attempt(prompt, expression, settings.skill, CARE, rng)
    weights = {first: 1.0}
    weights[check] = weights.get(check, 0.0) + 1.0
    if prompt.own is not None:
        weights[prompt.own] = weights.get(prompt.own, 0.0) + settings.stubbornness
    total = sum(heard.weight for heard in prompt.heard)
    for heard in prompt.heard if total > 0 else ():
        share = ATTENTION * (1.0 - settings.stubbornness) * heard.weight / total
        weights[heard.answer] = weights.get(heard.answer, 0.0) + share
    answer = max(weights, key=lambda said: weights[said] + 0.3 * rng.random())
    support = weights[answer] / sum(weights.values())
    confidence = _stated(min(1.0, hope + 0.25 * (support - 0.5)), settings, rng)
    if answer == check != first:
        steps = again
    return Mind(answer, confidence, steps, check, answer not in (first, check))


def _expression(prompt: Prompt) -> Expression | None:
    """Return what there is to work out; where one of the options is no number, nothing."""
    numbers = prompt.options.values()
    return None if None in numbers else find_expression(prompt.stem)


def _attempt(
    prompt: Prompt, expression: Expression | None, skill: float, care: float, rng: random.Random
) -> tuple[str, tuple[str, ...]]:
    if expression is None:
        return _guess(prompt, rng), ()
    attempt: Attempt = work_out(expression, care * mistake_rate(expression.text, skill), rng)
    return _option(prompt, attempt.value), attempt.steps


def _option(prompt: Prompt, value: int) -> str:
    """Return a result as an answer: where there are options, the nearest of them."""
    distances = {label: abs(number - value) for label, number in prompt.options.items() if number is not None}
    return min(distances, key=lambda label: distances[label]) if distances else str(value)


def _hope(expression: Expression | None, skill: float) -> float:
    """Return how likely it feels to be right: half its usual accuracy, half how hard this question is."""
    if expression is None:
        return 0.3
    return (usual_accuracy(skill) + odds_of_right(expression.text, skill)) / 2


def _stated(hope: float, settings: SolverSettings, rng: random.Random) -> float:
    moved = hope + (1.0 - hope) * settings.overconfidence + rng.gauss(0.0, 0.06)
    return round(min(1.0, max(0.05, moved)), 2)


def _guess(prompt: Prompt, rng: random.Random) -> str:
    """Guess where there is nothing to work out; everybody leans to the same guess."""
    choices = _choices(prompt)
    lean = int.from_bytes(hashlib.sha256(prompt.question.encode("utf-8", "surrogatepass")).digest()[:4], "big")
    return choices[lean % len(choices)] if rng.random() < LEANING else rng.choice(choices)


def _choices(prompt: Prompt) -> list[str]:
    """Return what an answer could be: options, the words that the form names, numbers made of the question's, words."""
    if prompt.options:
        return list(prompt.options)
    form = prompt.form
    if form.startswith("one of:"):
        return [label.strip() for label in form.removeprefix("one of:").split(",") if label.strip()] or ["none"]
    if re.fullmatch(r"\w+ or \w+", form):
        return form.split(" or ")
    numbers = [float(n) for n in _NUMBER.findall(prompt.question)][:6]
    if "number" in form.lower() or (not form and numbers):
        made = [a + b for a in numbers for b in numbers[1:]] + [a * b for a in numbers for b in numbers[1:]] + numbers
        return [f"{n:.10g}" for n in made] or ["0", "1", "2"]
    words = _WORD.findall(prompt.question)
    return sorted(set(words)) or ["unknown"]
