"""The report's table of judged answers: how far the judge agrees with exact match."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.numbers import estimate, number
from cortexdsl.report.inputs.rows import read_rows
from cortexdsl.report.tables.written.table import Column, Entry, Table, words

NAME = "agreement"
_SHARES = (("Correct", "correct"), ("Exact match", "exact"), ("Agree", "agree"))
_COUNTS = (("Right to the judge alone", "judge_only"), ("Exact alone", "exact_only"))


def agreement_table(folder: Path) -> Table | None:
    """Return the table of a results folder's agreement.csv; None where nothing was judged."""
    rows = []
    for row in read_rows(folder / "agreement.csv"):
        answers, unread, kappa = row.whole("answers"), row.whole("unread"), row.number("kappa")
        shares = [(estimate(row.number(name), "share"), row.number(name)) for _, name in _SHARES]
        counts = [(number(row.number(name), 1), row.whole(name)) for _, name in _COUNTS]
        known = [(number(answers, 1), answers), (number(unread, 1), unread)]
        found = [*known, *shares, (number(kappa, 2), kappa), *counts]
        entries = [Entry(text, (value,)) for text, value in found]
        rows.append((words(row["cell"]), words(row["dataset"]), *entries))
    if not rows:
        return None
    heads = [Column("Cell", ("cell",), is_numeric=False), Column("Dataset", ("dataset",), is_numeric=False)]
    heads += [Column("Answers", ("answers",)), Column("Unreadable", ("unread",))]
    heads += [Column(title, (name,)) for title, name in _SHARES]
    heads += [Column("Kappa", ("kappa",)), *(Column(title, (name,)) for title, name in _COUNTS)]
    caption = "What the judging model said of each different answer, beside exact match."
    note = (
        "Shares are of the answers whose judgement could be read; an unreadable one scores 0. "
        "Kappa: Cohen's, agreement beyond chance. The judge was told the reference answers; no debater heard it."
    )
    return Table(NAME, caption, tuple(heads), tuple(rows), note)
