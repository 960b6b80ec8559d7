"""How the built-in solver says what it has come to, for each kind of reply that a prompt can ask for."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from cortexdsl.models.solver.mind import Mind
from cortexdsl.models.solver.prompt import SOUND, Prompt, Wanted
from cortexdsl.models.solver.settings import SolverSettings

_WORD = re.compile(r"\w{4,}")
_ANY_WORD = re.compile(r"\w+")


def speak(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    """Return the reply that the prompt asks for; where it asks for several lines, with those of the other kinds."""
    reply = _SPEECHES[prompt.wanted](prompt, mind, settings, rng)
    others = [_SPEECHES[kind](prompt, mind, settings, rng) for kind in prompt.beside]
    return "\n".join([reply, *(_bare(kind, said) for kind, said in zip(prompt.beside, others, strict=True))])


def _bare(kind: Wanted, said: str) -> str:
    """Return what a speech has to hold: its last line, but all of a summary."""
    return said if kind == "summary" else said.rpartition("\n")[2]


def _answer(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    lines = [*_working(mind), *_weighing(prompt, mind)]
    return "\n".join([*lines, f"Answer: {mind.answer}", f"Confidence: {mind.confidence:.2f}"])


def _working(mind: Mind) -> list[str]:
    if not mind.steps:
        return ["There is nothing here that I can work out, so I choose what seems most likely."]
    return ["Working step by step:", *(f"{number}. {step}" for number, step in enumerate(mind.steps, 1))]


def _weighing(prompt: Prompt, mind: Mind) -> list[str]:
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


def _review(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
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


def _verdict(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    if not prompt.heard and not prompt.silent and prompt.own is not None:  # a judge of its own answer checks it again
        agrees = prompt.own == mind.check
    else:
        agrees = len(_tally(prompt)) == 1 and not prompt.silent
    if rng.random() < 0.1 * (1.0 - settings.skill):
        agrees = not agrees
    said = "the same answer" if agrees else "different answers"
    lines = [f"I read {said}.", *([f"Answer: {mind.answer}"] if prompt.wants_answer else [])]
    return "\n".join([*lines, f"Verdict: {'agree' if agrees else 'disagree'}"])


def _choice(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    """Choose those who came to the solver's own answer before others; now and then somebody else."""
    numbers = list(dict.fromkeys(heard.number for heard in prompt.heard if heard.number))
    alike = {heard.number for heard in prompt.heard if heard.answer == mind.answer}
    rng.shuffle(numbers)
    if rng.random() >= 0.1 * (1.0 - settings.skill):
        numbers.sort(key=lambda number: number not in alike)
    chosen = ", ".join(map(str, sorted(numbers[: prompt.choose]))) or "none"
    lines = [f"I came to {mind.answer}.", *([f"Answer: {mind.answer}"] if prompt.wants_answer else [])]
    return "\n".join([*lines, f"Choice: {chosen}"])


def _summary(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    lines = [
        f"Answer: {said} ({n} agent{'s' if n > 1 else ''}): worked out step by step"
        for said, n in _tally(prompt).items()
    ]
    return "\n".join(["Summary:", *(lines or ["No answer was given."])])


def _selection(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    """Select passages that share words with the question, one word missed now and then."""
    asked = {word.lower() for word in _WORD.findall(prompt.question)}
    useful = [
        number
        for number, passage in prompt.passages
        if len(asked & {word.lower() for word in _WORD.findall(passage)}) - rng.randint(0, 1) > 0
    ]
    return f"These share words with the question.\nSelected: {', '.join(map(str, useful)) or 'none'}"


def _similarity(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    is_same = len(_tally(prompt)) == 1 and not prompt.silent
    alike = rng.uniform(0.7, 0.95) if is_same else rng.uniform(0.2, 0.5)
    return f"They come to {'the same answer' if is_same else 'different answers'}.\nSimilarity: {alike:.2f}"


def _judgement(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    """Find a reference answer word for word in the answer, capitals and marks aside; now and then misjudge."""
    said = _words(prompt.to_judge)
    is_right = any(said == words or (words != "  " and words in said) for words in map(_words, prompt.references))
    if rng.random() < 0.1 * (1.0 - settings.skill):
        is_right = not is_right
    found = "holds a reference answer" if is_right else "differs from every reference answer"
    return f"The answer {found}.\nJudgement: {'correct' if is_right else 'incorrect'}"


def _words(text: str) -> str:
    return f" {' '.join(_ANY_WORD.findall(text.lower()))} "


def _comment(prompt: Prompt, mind: Mind, settings: SolverSettings, rng: random.Random) -> str:
    if prompt.heard and prompt.heard[-1].answer == mind.answer:
        return SOUND
    doubt = f"Check the step {rng.choice(mind.steps).partition(' = ')[0]} again. " if mind.steps else ""
    return f"{doubt}I think that the result should be {mind.answer}."


_SPEECHES: Mapping[str, Callable[[Prompt, Mind, SolverSettings, random.Random], str]] = {
    "answer": _answer,
    "review": _review,
    "verdict": _verdict,
    "summary": _summary,
    "selection": _selection,
    "similarity": _similarity,
    "judgement": _judgement,
    "choice": _choice,
    "comment": _comment,
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
            r"(?m)^((?:Answer|Score|Verdict|Selected|Similarity|Judgement|Choice):).*$",
            r"\1 it depends on how one reads it",
            text,
        ), "stop"
    return re.sub(r"(?m)^(Confidence:).*$", r"\1 very high", text), "stop"
