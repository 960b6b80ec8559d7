"""The table of what was kept of guided replies: which made pairs to learn from, and why the others made none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortexdsl.numbers import number
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.rows import read_rows
from cortexdsl.report.tables.written.table import Column, Entry, Table, words

NAME = "kept"
_COUNTS = {
    "moments": "Replies", "right": "Guided right", "wrong": "Guided wrong", "below": "No difference", "same": "Same",
    "cut": "Cut", "no_reply": "No reply", "examples": "To imitate",
}  # fmt: skip
"""Columns of kept.csv, as they are headed."""
_RARE = ("same", "cut", "no_reply")


def kept_table(folder: Path, plan: Mapping[str, Any]) -> Table | None:
    """Return what became of the replies that each phase guided; None where nothing learns, or nothing is there yet."""
    layout = Layout(str(folder))
    places = [
        (str(training["training"]), str(phase["phase"]))
        for training in plan.get("trainings") or ()
        for phase in training.get("phases") or ()
    ]
    found = [(place, row) for place in places for row in read_rows(Path(layout.kept(*place)))]
    if not found:
        return None
    kinds = [kind for kind in _COUNTS if kind not in _RARE or any(row.whole(kind) for _, row in found)]
    heads = [Column("Phase", ("training", "phase"), is_numeric=False), Column("Part", ("part",), is_numeric=False)]
    heads += [Column("Round", ("round",)), *(Column(_COUNTS[kind], (kind,)) for kind in kinds)]
    rows = [
        (
            Entry(" ".join(place), place), words(row["part"]), Entry(row["round"], (row.whole("round"),)),
            *(Entry(number(row.whole(kind), 1), (row.whole(kind),)) for kind in kinds),
        )
        for place, row in found
    ]  # fmt: skip
    note = (
        "Guided right: the reply that was guided to the right answer is preferred to the natural one; guided wrong: "
        "the natural one to that guided to a wrong answer. All others make no pair: no difference of values reaches "
        "the threshold, both say the same, the better one was cut at its limit, a call brought no reply. To imitate: "
        "natural replies after which every roll-out ended right."
    )
    caption = "Replies that made preference pairs, and why the others made none."
    return Table(NAME, caption, tuple(heads), tuple(rows), note)
