"""Labels of turns: rules over finished debates, rows of labels.csv, and the columns of scores.csv that count them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.core import Label
from cortexdsl.core.metric_types import OF_DEBATES, OF_TURNS
from cortexdsl.errors import RecordError
from cortexdsl.metrics.rows import LabelRow
from cortexdsl.metrics.scores import Row, read_rows, write_rows
from cortexdsl.metrics.turn_rules import labelled_turns
from cortexdsl.metrics.view import DebateView
from cortexdsl.records import Record

_NUMBERS = ("replicate", "turn", "round")


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


def unread_labels(path: Path) -> tuple[str, ...]:
    """Return the keys of the judge's calls that gave a turn no label."""
    return tuple(row.call for row in read_labels(path) if row.value is None and row.call is not None)
