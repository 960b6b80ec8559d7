"""Decide on the built-in solver's answer, and write the reply that a prompt asks for.

It makes attempts of its own and weighs the replies of others against them; its parameters say how well.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from cortexdsl.models.solver.arithmetic import (
    ArithmeticTask,
    Attempt,
    find_expression,
    mistake_rate,
    odds_of_right,
    usual_accuracy,
    work_out,
)
from cortexdsl.models.solver.prompts import SOUND, Prompt
from cortexdsl.models.solver.settings import SolverSettings

CARE = 0.8
"""Factor of the probability of a mistake in a second attempt, which is more careful."""
ATTENTION = 2.0
"""Total weight of the answers heard, for a solver without stubbornness; each attempt of its own weighs 1."""
LEANING = 0.6
"""Share of guesses that follow the bias of their question, which is the same for every agent."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d+)?")
_WORD = re.compile(r"[A-Za-z][\w'-]{3,}")


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """The solver's answer, and how it was reached.

    Attributes
    ----------
    answer : str
    confidence : float
        The confidence that the reply will state.
    steps : tuple of str
        Of its first attempt.
    check : str or None
        The result of the second attempt, if there was one.
    is_persuaded : bool
        Whether the answer comes from others, not from an attempt of the solver.
    computed : str
        What a tool computed, if it did.
    """

    answer: str
    confidence: float
    steps: tuple[str, ...] = ()
    check: str | None = None
    is_persuaded: bool = False
    computed: str = ""


SURE = 0.99
"""Confidence in the result of a tool."""


def decide(prompt: Prompt, settings: SolverSettings, rng: random.Random, computed: int | None = None) -> SolverAnswer:
    """Decide on an answer; if the prompt says which one to argue for, on that.

    Parameters
    ----------
    prompt : Prompt
    settings : SolverSettings
    rng : Random
    computed : int or None
        What a tool computed. The solver trusts it more than itself and others.
    """
    expression = arithmetic_of(prompt)
    if computed is not None and expression is not None:
        mind = SolverAnswer(_option(prompt, computed), SURE, computed=f"{expression.text} = {computed}")
    else:
        mind = _own_mind(prompt, settings, rng)
    return replace(mind, answer=prompt.target) if prompt.target else mind


def _own_mind(prompt: Prompt, settings: SolverSettings, rng: random.Random) -> SolverAnswer:
    """Attempt the question; if it shows other answers or an earlier one, attempt it again and weigh them all."""
    expression = arithmetic_of(prompt)
    first, steps = _attempt(prompt, expression, settings.skill, 1.0, rng)
    hope = _hope(expression, settings.skill)
    if not prompt.heard and prompt.own is None:
        return SolverAnswer(first, _stated(hope, settings, rng), steps)
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
    return SolverAnswer(answer, confidence, steps, check, answer not in (first, check))


def arithmetic_of(prompt: Prompt) -> ArithmeticTask | None:
    """Return the arithmetic to work out; None if one of the options is not a number."""
    numbers = prompt.options.values()
    return None if None in numbers else find_expression(prompt.stem)


def _attempt(
    prompt: Prompt, expression: ArithmeticTask | None, skill: float, care: float, rng: random.Random
) -> tuple[str, tuple[str, ...]]:
    if expression is None:
        return _guess(prompt, rng), ()
    attempt: Attempt = work_out(expression, care * mistake_rate(expression.text, skill), rng)
    return _option(prompt, attempt.value), attempt.steps


def _option(prompt: Prompt, value: int) -> str:
    """Return a result as an answer: if there are options, the nearest of them."""
    distances = {label: abs(number - value) for label, number in prompt.options.items() if number is not None}
    return min(distances, key=lambda label: distances[label]) if distances else str(value)


def _hope(expression: ArithmeticTask | None, skill: float) -> float:
    """Return how likely it feels to be right: half its usual accuracy, half how hard this question is."""
    if expression is None:
        return 0.3
    return (usual_accuracy(skill) + odds_of_right(expression.text, skill)) / 2


def _stated(hope: float, settings: SolverSettings, rng: random.Random) -> float:
    moved = hope + (1.0 - hope) * settings.overconfidence + rng.gauss(0.0, 0.06)
    return round(min(1.0, max(0.05, moved)), 2)


def _guess(prompt: Prompt, rng: random.Random) -> str:
    """Guess if there is nothing to work out; all solvers prefer the same guess."""
    choices = _choices(prompt)
    lean = int.from_bytes(hashlib.sha256(prompt.question.encode("utf-8", "surrogatepass")).digest()[:4], "big")
    return choices[lean % len(choices)] if rng.random() < LEANING else rng.choice(choices)


def _choices(prompt: Prompt) -> list[str]:
    """Return possible answers: options, the words of the form, results of the question's numbers, or words."""
    if prompt.options:
        return list(prompt.options)
    form = prompt.form
    if form.startswith("one of:"):
        return [label.strip() for label in form.removeprefix("one of:").split(",") if label.strip()] or ["none"]
    if re.fullmatch(r"\w+ or \w+", form):
        return form.split(" or ")
    numbers = [float(n) for n in _NUMBER.findall(prompt.question)][:6]
    if "number" in form.lower() or (not form and numbers):
        results = (
            [a + b for a in numbers for b in numbers[1:]] + [a * b for a in numbers for b in numbers[1:]] + numbers
        )
        return [f"{n:.10g}" for n in results] or ["0", "1", "2"]
    words = _WORD.findall(prompt.question)
    return sorted(set(words)) or ["unknown"]


_LONG_WORD = re.compile(r"\w{4,}")
_ANY_WORD = re.compile(r"\w+")


def speak(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    """Return the reply that the prompt asks for, with the lines of all kinds that it asks for."""
    reply = _SPEECHES[prompt.wanted](prompt, mind, settings, rng)
    others = [_SPEECHES[kind](prompt, mind, settings, rng) for kind in prompt.beside]
    numbers = [f"{name}: {_score(prompt, mind, rng)}" for name in prompt.numbers]
    bare = (_bare(kind, speech) for kind, speech in zip(prompt.beside, others, strict=True))
    return "\n".join([reply, *numbers, *bare])


def _score(prompt: Prompt, mind: SolverAnswer, rng: random.Random) -> int:
    """Return a high score for a reply that the solver agrees with, or its confidence in an answer of its own."""
    if not prompt.heard:
        return round(10 * mind.confidence)
    return rng.randint(8, 10) if prompt.heard[-1].answer == mind.answer else rng.randint(1, 4)


def _bare(kind: str, text: str) -> str:
    """Return what a speech has to hold: its last line, but all of a summary and of a belief."""
    return text if kind in ("summary", "belief") else text.rpartition("\n")[2]


def _answer(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    lines = [*_working(mind), *_weighing(prompt, mind)]
    return "\n".join([*lines, f"Answer: {mind.answer}", f"Confidence: {mind.confidence:.2f}"])


def _working(mind: SolverAnswer) -> list[str]:
    if mind.computed:
        return [f"A tool has computed it: {mind.computed}."]
    if not mind.steps:
        return ["There is nothing here that I can work out, so I choose what seems most likely."]
    return ["Working step by step:", *(f"{number}. {step}" for number, step in enumerate(mind.steps, 1))]


def _weighing(prompt: Prompt, mind: SolverAnswer) -> list[str]:
    if mind.check is None:
        return []
    lines = []
    if prompt.heard:
        lines.append(f"The others say {', '.join(f'{said} ({n})' for said, n in _tally(prompt).items())}.")
    if mind.is_persuaded:
        lines.append(f"Checking again I came to {mind.check}, but what was said for {mind.answer} convinces me.")
    else:
        lines.append(f"Checking again I came to {mind.check}.")
    return lines


def _tally(prompt: Prompt) -> dict[str, int]:
    """Count who said what, in the order in which it was first heard."""
    tally: dict[str, int] = {}
    for heard in prompt.heard:
        tally[heard.answer] = tally.get(heard.answer, 0) + 1
    return tally


def _review(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    theirs = prompt.heard[-1].answer if prompt.heard else None
    if theirs is None:
        lines, score = ["I find no answer in this solution."], rng.randint(1, 3)
    elif theirs == mind.answer:
        lines, score = [f"I went through the steps and came to {theirs} as well."], rng.randint(8, 10)
    else:
        lines, score = (
            [f"I came to {mind.answer} and not to {theirs}, so one of the steps is wrong."],
            rng.randint(1, 4),
        )
    if prompt.wants_answer:  # the score then says how sure the reviewer is of its own judgement
        lines.append(f"Answer: {mind.answer}")
        score = max(1, round(10 * mind.confidence))
    return "\n".join([*lines, f"Score: {score}"])


def _verdict(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    if not prompt.heard and not prompt.silent and prompt.own is not None:  # a judge of its own answer checks it again
        agrees = prompt.own == mind.check
    else:
        agrees = len(_tally(prompt)) == 1 and not prompt.silent
    if rng.random() < 0.1 * (1.0 - settings.skill):
        agrees = not agrees
    said = "the same answer" if agrees else "different answers"
    lines = [f"I read {said}.", *([f"Answer: {mind.answer}"] if prompt.wants_answer else [])]
    return "\n".join([*lines, f"Verdict: {'agree' if agrees else 'disagree'}"])


def _choice(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    """Choose agents with the solver's own answer before others, and sometimes another agent."""
    numbers = list(dict.fromkeys(heard.number for heard in prompt.heard if heard.number))
    alike = {heard.number for heard in prompt.heard if heard.answer == mind.answer}
    rng.shuffle(numbers)
    if rng.random() >= 0.1 * (1.0 - settings.skill):
        numbers.sort(key=lambda number: number not in alike)
    chosen = ", ".join(map(str, sorted(numbers[: prompt.choose]))) or "none"
    lines = [f"I came to {mind.answer}.", *([f"Answer: {mind.answer}"] if prompt.wants_answer else [])]
    return "\n".join([*lines, f"Choice: {chosen}"])


def _ranking(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    """Rank agents with the solver's own answer before others, or its answer before other options or answers."""
    if prompt.ranks_agents:
        authors = {str(heard.number): heard.answer for heard in prompt.heard if heard.number}
        places = sorted(authors, key=lambda number: (authors[number] != mind.answer, rng.random()))
    else:
        others = {*prompt.options, *(heard.answer for heard in prompt.heard)} - {mind.answer}
        places = [mind.answer, *sorted(sorted(others), key=lambda answer: rng.random())]
    lines = [f"I came to {mind.answer}.", *([f"Answer: {mind.answer}"] if prompt.wants_answer else [])]
    return "\n".join([*lines, f"Ranking: {' > '.join(places) or 'none'}"])


def _belief(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    """Give the solver's answer the probability that is its confidence, and others that it heard equal parts of half of
    the rest; what is left is for other answers.
    """
    top = min(max(mind.confidence, 0.0), 1.0)
    heard = [answer for answer in dict.fromkeys(other.answer for other in prompt.heard) if answer != mind.answer]
    part = min((1.0 - top) / 2 / len(heard), top) if heard else 0.0
    lines = {mind.answer: top, **{answer: part for answer in heard if part >= 0.005}}
    written = {answer: f"{share:.2f}" for answer, share in lines.items()}
    left = 1.0 - sum(float(share) for share in written.values())
    written |= {"other": f"{left:.2f}"} if left >= 0.005 else {}
    return "\n".join(f"Belief: {answer} = {share}" for answer, share in written.items())


def _summary(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    lines = [
        f"Answer: {said} ({n} agent{'s' if n > 1 else ''}): worked out step by step"
        for said, n in _tally(prompt).items()
    ]
    return "\n".join(["Summary:", *(lines or ["No answer was given."])])


def _selection(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    """Select passages that share words with the question, one word missed now and then."""
    question_words = {word.lower() for word in _LONG_WORD.findall(prompt.question)}
    useful = [
        number
        for number, passage in prompt.passages
        if len(question_words & {word.lower() for word in _LONG_WORD.findall(passage)}) - rng.randint(0, 1) > 0
    ]
    return f"These share words with the question.\nSelected: {', '.join(map(str, useful)) or 'none'}"


def _similarity(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    is_same = len(_tally(prompt)) == 1 and not prompt.silent
    alike = rng.uniform(0.7, 0.95) if is_same else rng.uniform(0.2, 0.5)
    return f"They come to {'the same answer' if is_same else 'different answers'}.\nSimilarity: {alike:.2f}"


def _judgement(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    """Find a reference answer word for word in the answer, capitals and marks aside; now and then misjudge."""
    said = _words(prompt.to_judge)
    is_right = any(said == words or (words != "  " and words in said) for words in map(_words, prompt.references))
    if rng.random() < 0.1 * (1.0 - settings.skill):
        is_right = not is_right
    found = "holds a reference answer" if is_right else "differs from every reference answer"
    return f"The answer {found}.\nJudgement: {'correct' if is_right else 'incorrect'}"


def _label(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    """Give the first label to a turn with a number that nothing above it has, else the last; now and then mislabel."""
    has_own = prompt.has_new_number != (rng.random() < 0.1 * (1.0 - settings.skill))
    why = "has a number of its own" if prompt.has_new_number else "has no number of its own"
    return f"The turn {why}.\nLabel: {prompt.labels[0 if has_own else -1] if prompt.labels else 'none'}"


def _words(text: str) -> str:
    return f" {' '.join(_ANY_WORD.findall(text.lower()))} "


def _comment(prompt: Prompt, mind: SolverAnswer, settings: SolverSettings, rng: random.Random) -> str:
    if prompt.heard and prompt.heard[-1].answer == mind.answer:
        return SOUND
    doubt = f"Check the step {rng.choice(mind.steps).partition(' = ')[0]} again. " if mind.steps else ""
    quote = f"It says: <quote>{prompt.quote}</quote> " if prompt.quote else ""
    return f"{doubt}{quote}I think that the result should be {mind.answer}."


_SPEECHES: Mapping[str, Callable[[Prompt, SolverAnswer, SolverSettings, random.Random], str]] = {
    "answer": _answer,
    "review": _review,
    "verdict": _verdict,
    "summary": _summary,
    "selection": _selection,
    "similarity": _similarity,
    "judgement": _judgement,
    "choice": _choice,
    "ranking": _ranking,
    "belief": _belief,
    "comment": _comment,
    "label": _label,
}


def malform(text: str, rng: random.Random) -> tuple[str, str]:
    """Return a reply as models spoil them, and its finish reason: cut, without its form, hedged, refused."""
    kind = rng.randrange(5)
    if kind == 0:
        return text[: max(1, len(text) // 3)], "length"
    if kind == 1:
        return "I'm sorry, but I cannot help with that.", "stop"
    if kind == 2:
        return "As I said above, it follows directly from the steps.", "stop"
    if kind == 3:
        return re.sub(
            r"(?m)^((?:Answer|Score|Verdict|Selected|Similarity|Judgement|Choice|Ranking|Label):).*$",
            r"\1 it depends on how one reads it",
            text,
        ), "stop"
    return re.sub(r"(?m)^(Confidence:).*$", r"\1 very high", text), "stop"
