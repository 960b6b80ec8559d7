"""Rules over the turns of finished debates; apart from `labels`, because plans use them and do without tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from cortexdsl.core import Bools, Turn
from cortexdsl.expressions.evaluation import evaluate, parse
from cortexdsl.metrics.view import DebateView
from cortexdsl.models.similarity.embeddings import ngram_vector

_WORD = re.compile(r"\w+")


def labelled_turns(view: DebateView, rule: str) -> Bools:
    """Return for each turn of a debate whether a rule holds.

    Parameters
    ----------
    view : DebateView
    rule : str
        An expression of the names in `cortexdsl.expressions.names.OF_LABEL`.
    """
    expression, turns = parse(rule), _Turns(view)
    values = {key: np.array([turns.value(key, turn) for turn in view.debate.turns]) for key in expression.keys}
    result = np.broadcast_to(np.asarray(evaluate(expression, values), dtype=float), len(view.debate.turns))
    holds: Bools = np.isfinite(result) & (result != 0)
    return holds


class _Turns:
    """The values of names at the turns of one debate."""

    def __init__(self, view: DebateView) -> None:
        self._view, self._turns = view, view.debate.turns

    def value(self, key: str, turn: Turn) -> float:
        """Return the value of a name, or of an earlier value of one, at a turn."""
        return float(_VALUES[key](self, turn))

    def own(self, turn: Turn) -> list[Turn]:
        """Return the earlier turns of the speaker; those of the same execution of a step are not earlier."""
        return [each for each in self._turns if each.speaker == turn.speaker and each.execution < turn.execution]

    def shown(self, turn: Turn) -> list[Turn]:
        """Return the turns of others that the prompt contained, except those that a placebo replaced."""
        shown = (self._turns[number] for number in {*turn.heard, *turn.recalled} - turn.replaced)
        return [each for each in shown if each.speaker != turn.speaker]

    def before(self, turn: Turn) -> Turn | None:
        """Return the last earlier turn in which the speaker gives an answer."""
        return next(filter(gives_answer, reversed(self.own(turn))), None)

    def changed(self, turn: Turn) -> bool:
        before = self.before(turn)
        return gives_answer(turn) and before is not None and before.answer != turn.answer

    def heard(self, turn: Turn) -> float:
        answers = [each.answer for each in self.shown(turn) if gives_answer(each)]
        return answers.count(turn.answer) / len(answers) if answers and gives_answer(turn) else 0.0

    def new(self, turn: Turn) -> bool:
        earlier = [each for each in self._turns if each.execution < turn.execution] + self.shown(turn)
        return gives_answer(turn) and all(each.answer != turn.answer for each in filter(gives_answer, earlier))

    def right(self, turn: Turn | None) -> bool:
        return turn is not None and gives_answer(turn) and self._view.is_right(turn.answer)

    def similarity(self, turn: Turn) -> float:
        words = ngram_vector(turn.text)
        return max((float(words @ ngram_vector(each.text)) for each in self.own(turn)), default=0.0)

    def novelty(self, turn: Turn) -> float:
        words = _words(turn.text)
        known = set().union(*(_words(each.text) for each in (*self.own(turn), *self.shown(turn))))
        return len(words - known) / len(words) if words else 0.0


def _confidence(turn: Turn | None) -> float:
    return 0.0 if turn is None or turn.confidence is None else turn.confidence


_VALUES: Mapping[str, Callable[[_Turns, Turn], float]] = {
    "changed": _Turns.changed,
    "heard": _Turns.heard,
    "new": _Turns.new,
    "right": _Turns.right,
    "similarity": _Turns.similarity,
    "novelty": _Turns.novelty,
    "confidence": lambda turns, turn: _confidence(turn),
    "round": lambda turns, turn: turn.round,
    "before(right)": lambda turns, turn: turns.right(turns.before(turn)),
    "before(confidence)": lambda turns, turn: _confidence(turns.before(turn)),
}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def gives_answer(turn: Turn) -> bool:
    """Return whether a turn has a readable answer to the question; a review or a verdict has none."""
    return turn.reads == "answer" and turn.answer is not None
