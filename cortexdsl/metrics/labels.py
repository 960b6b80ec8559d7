"""Labels of turns: rules over finished debates, rows of labels.csv, and the columns of scores.csv that count them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np

from cortexdsl.checksums import write_lines
from cortexdsl.core import Bools, Label, Turn
from cortexdsl.core.metric_types import OF_DEBATES, OF_TURNS
from cortexdsl.errors import RecordError
from cortexdsl.expressions.evaluation import evaluate, parse
from cortexdsl.metrics.rows import LabelRow
from cortexdsl.metrics.scores import Row, read_rows, write_rows
from cortexdsl.metrics.view import DebateView
from cortexdsl.models.similarity.embeddings import ngram_vector
from cortexdsl.records import Record

_WORD = re.compile(r"\w+")
_NUMBERS = ("replicate", "turn", "round")


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


def label_rows(
    record: Record, view: DebateView, labels: Sequence[Label], judged: Mapping[tuple[str, int], tuple[str | None, str]]
) -> list[LabelRow]:
    """Return the rows of one debate, in the order of its turns.

    Parameters
    ----------
    record : Record
    view : DebateView
        Of the same debate.
    labels : sequence of Label
    judged : mapping of (label, turn) to (value, call)
        What a judge said about the turns that its labels are about; the value is None if it could not be read.
    """
    header, rows = record.header, []
    chosen = {label.name: labelled_turns(view, label.where) for label in labels}
    for turn in view.debate.turns:
        for label in labels:
            holds = chosen[label.name][turn.turn]
            if label.prompt and holds:
                value, call = judged[label.name, turn.turn]
            elif len(label.counted) == 1:
                value, call = label.values[0 if holds else 1], None
            else:  # the label is not about this turn
                continue
            place = header.dataset, header.cell, header.replicate, record.debate.question_id
            rows.append(LabelRow(*place, turn.turn, turn.round, turn.speaker, label.name, value, call))
    return rows


def label_columns(records: Iterable[Record], rows: Iterable[LabelRow], labels: Sequence[Label]) -> list[Row]:
    """Return the columns of scores.csv that count labels, for each debate.

    Turns whose label could not be read are left out; a debate of such turns alone has no value.
    """
    values: dict[tuple[int, str, str], list[str | None]] = defaultdict(list)
    for row in rows:
        values[row.replicate, row.question_id, row.label].append(row.value)
    columns: list[Row] = []
    for record in records:
        own: Row = {}
        for label in labels:
            given = values[record.header.replicate, record.debate.question_id, label.name]
            unread, turns = given.count(None), len(record.debate.turns)
            for name, value in label.counted.items():
                own[f"{OF_DEBATES}{name}"] = float(value in given) if turns > unread else None
                own[f"{OF_TURNS}{name}"] = given.count(value) / (turns - unread) if turns > unread else None
        columns.append(own)
    return columns


def write_labels(path: Path, rows: Iterable[LabelRow]) -> None:
    """Write rows of labels.csv; a file without rows has the header alone."""
    lines = [asdict(row) for row in rows]
    if lines:
        write_rows(path, lines)
    else:
        write_lines(path, [",".join(field.name for field in fields(LabelRow))])


def read_labels(path: Path) -> list[LabelRow]:
    """Read rows of labels.csv.

    Raises
    ------
    RecordError
        The file is missing, or a row is not one of a label.
    """
    try:
        return [
            LabelRow(**{**row, **{name: int(str(row[name])) for name in _NUMBERS}})  # type: ignore[arg-type]
            for row in read_rows(path)
        ]
    except (KeyError, TypeError, ValueError) as error:
        what = f"{path}: a row is not one of a label ({error})"
        raise RecordError(f"{what}\n    run the workflow again, which writes the file again") from None
