"""Calls that ask a judge for the label of one turn of a finished debate, and the reading of its replies.

The judge is told the golds and what the speaker was shown, so no debater may see its calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cortexdsl.core import Agent, Call, Debate, Label, Model, Question, Turn
from cortexdsl.engine.seeds import call_seed
from cortexdsl.tasks.judging import NAME, Rendering
from cortexdsl.tasks.reading.text import clean, without_forms

_LINE = re.compile(r"\blabel\b[*_`\s]{0,4}[:=]", re.IGNORECASE)
_MARKS = r"[\s*_`\"'(<\[]*"


def label_variables(question: Question, golds: Sequence[str], debate: Debate, turn: Turn) -> Mapping[str, Any]:
    """Return the variables of a template that asks for a label, except `agent` and `values`."""
    shown = [debate.turns[number] for number in sorted({*turn.heard, *turn.recalled} - turn.replaced)]
    earlier = [each for each in debate.turns if each.speaker == turn.speaker and each.execution < turn.execution]
    return {
        "question": question,
        "golds": tuple(golds),
        "turn": _plain(turn),
        "heard": [_plain(each) for each in shown if each.speaker != turn.speaker],
        "earlier": [_plain(each) for each in earlier],
    }


def _plain(turn: Turn) -> dict[str, str]:
    return {"speaker": turn.speaker, "text": turn.text, "answer": turn.answer or ""}


def label_call(label: Label, judge: Model, variables: Mapping[str, Any], render: Rendering, *, seed: int) -> Call:
    """Return the call that asks the judge for the label of a turn.

    Its seed knows neither cell nor replicate, so that equal turns of a question are labelled once, and alike.

    Parameters
    ----------
    label : Label
    judge : Model
    variables : mapping
        As `label_variables` returns them.
    render : callable
    seed : int
        The seed of the experiment.
    """
    view = {"agent": Agent(NAME, judge), "values": label.values, **variables}
    return Call(judge, render(label.prompt, view), call_seed(seed, 0, variables["question"].id, NAME, 0))


def read_label(text: str, values: Sequence[str]) -> str | None:
    """Read a reply: the value in its last `Label:`, or a reply that is a value alone; None for anything else."""
    text = without_forms(clean(text))
    places = list(_LINE.finditer(text))
    rest = text[places[-1].end() :] if places else text
    spelled = {value.replace("_", "[ _-]"): value for value in sorted(values, key=len, reverse=True)}
    for pattern, value in spelled.items():
        match = re.match(rf"{_MARKS}{pattern}(?![\w-])", rest, re.IGNORECASE)
        if match is None:
            continue
        after = rest[match.end() :]
        if re.match(r"\s*(or\b|/|\|)", after) or not (places or re.fullmatch(r"[\s*_`\"').!\]>]*", after)):
            return None
        return value
    return None
