"""An LLM judge of answers: what its prompt is given, how its reply is read, how far it agrees with exact match.

MADKE (arXiv 2312.04854) reports judged correctness beside F1 for generated answers. The judge is a role with its
own calls in the call log; its prompt is `prompts/common/judge.j2`. It sees golds, so nothing of it may ever reach
a debater.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cortexdsl.debate.chance import call_seed
from cortexdsl.tasks.reading.forms import without_forms
from cortexdsl.tasks.reading.text import clean
from cortexdsl.terms import Agent, Call, Message, Model, Question

Rendering: TypeAlias = Callable[[str, Mapping[str, Any]], tuple[Message, ...]]
"""Of a template's name and its variables to messages."""
PROMPT = "common/judge.j2"
NAME = "judge"
_JUDGEMENT = re.compile(
    r"\bjudge?ment\b[*_`\s]{0,4}[:=]?[*_`\s]{0,4}(in ?correct|not correct|correct|wrong|right|true|false|yes|no)\b",
    re.IGNORECASE,
)
_ALONE = re.compile(r"[\s*_`\"'(]*(incorrect|not correct|correct|wrong|right|yes|no)[\s*_`\"').!]*", re.IGNORECASE)
_RIGHT = frozenset({"correct", "right", "true", "yes"})


def judge_variables(question: Question, golds: Sequence[str], answer: str) -> Mapping[str, Any]:
    """What the judge's template is rendered with (beside `agent`)."""
    return {"question": question, "golds": tuple(golds), "answer": answer}


def judge_call(
    judge: Model, question: Question, golds: Sequence[str], answer: str, render: Rendering, *, seed: int
) -> Call:
    """Return the call that has an answer judged.

    Its seed knows neither cell nor replicate, so that equal answers to a question are judged once, and alike.

    Parameters
    ----------
    judge : Model
    question : Question
    golds : sequence of str
    answer : str
    render : callable
    seed : int
        Of the experiment.
    """
    variables = {"agent": Agent(NAME, judge), **judge_variables(question, golds, answer)}
    return Call(judge, render(PROMPT, variables), call_seed(seed, 0, question.id, NAME, 0))


def read_judgement(text: str) -> bool | None:
    """Read a judge's reply: the last `Judgement:`, or a reply that is the word alone; None if neither is there."""
    text = without_forms(clean(text))
    found = list(_JUDGEMENT.finditer(text))
    word = found[-1][1] if found else (match[1] if (match := _ALONE.fullmatch(text[:100])) else None)
    return None if word is None else word.lower() in _RIGHT


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judgements agree with exact match.

    Attributes
    ----------
    judged : int
        Answers with a readable judgement.
    unread : int
        Answers without one; left out of the rest.
    agree : float
        Share on which both say the same.
    kappa : float or None
        Cohen's kappa, (p_o - p_e) / (1 - p_e); None where chance alone explains all (p_e = 1).
    judge_only, exact_only : int
        Right to the judge alone, and to exact match alone.
    """

    judged: int
    unread: int
    agree: float
    kappa: float | None
    judge_only: int
    exact_only: int


def agreement(judged: Sequence[bool | None], exact: Sequence[bool]) -> Agreement:
    """Compare judgements with exact match, answer by answer.

    Raises
    ------
    ValueError
        If the two differ in length, or no judgement could be read.
    """
    pairs = [(said, match) for said, match in zip(judged, exact, strict=True) if said is not None]
    if not pairs:
        raise ValueError("no readable judgement")
    n = len(pairs)
    observed = sum(said == match for said, match in pairs) / n
    judge_rate, exact_rate = sum(said for said, _ in pairs) / n, sum(match for _, match in pairs) / n
    expected = judge_rate * exact_rate + (1 - judge_rate) * (1 - exact_rate)
    return Agreement(
        judged=n,
        unread=len(judged) - n,
        agree=observed,
        kappa=None if expected == 1 else (observed - expected) / (1 - expected),
        judge_only=sum(said and not match for said, match in pairs),
        exact_only=sum(match and not said for said, match in pairs),
    )
