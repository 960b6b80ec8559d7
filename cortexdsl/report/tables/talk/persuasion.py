"""The table of who persuaded whom: answers heard that were not one's own, and those taken over, right and wrong."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.numbers import estimate, number
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records.links import find_link
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.inputs.rows import Row, read_rows
from cortexdsl.report.tables.talk.debates import rank
from cortexdsl.report.tables.written.table import Column, Entry, Table, words

NAME = "persuasion"
MOST = 200  # rows, before the points of grids are left to the file


def persuasion_table(folder: Path, results: Results) -> Table | None:
    """Return how often each listener took over what each speaker said; None where nobody heard another mind."""
    rows = list(read_rows(Path(Layout(str(folder)).table(NAME))))
    if not rows:
        return None
    note = (
        "Of the times that a listener, before it answered anew, had heard an answer of the speaker that was not its "
        "own: how often it took that answer over. Right ones: the answer heard was right and its own was wrong; wrong "
        "ones: the other way round. Where several said the same, each counts."
    )
    if len(rows) > MOST:
        grid = {str(cell["cell"]) for cell in results.plan.get("cells", ()) if cell.get("axes")}
        shown = [row for row in rows if row["cell"] not in grid]
        if 0 < len(shown) < len(rows):
            rows, note = shown, f"{note} The points of grids stand in {NAME}.csv alone."
    heads = (
        Column("Speaker", ("speaker",), is_numeric=False),
        Column("Cell", ("cell",), is_numeric=False, is_group=True),
        Column("Dataset", ("dataset",), is_numeric=False, is_group=True),
        Column("Listener", ("listener",), is_numeric=False),
        Column("Taken over", ("adopted", "faced")),
        Column("Right ones", ("right_adopted", "right_faced")),
        Column("Wrong ones", ("wrong_adopted", "wrong_faced")),
    )
    cells = results.cells
    rows.sort(key=lambda row: (rank(cells, row["cell"]), row["dataset"], -(row.number("adopted") or 0)))
    body = []
    for row in rows:
        link = find_link(
            results.experiment, dataset=row["dataset"], cell=row["cell"], agent=row["speaker"], sort="persuasive"
        )
        named = words(row["speaker"]), words(row["cell"]), words(row["dataset"]), words(row["listener"])
        body.append((*named, _share(row, "", link), _share(row, "right_"), _share(row, "wrong_")))
    caption = "Who persuaded whom: answers heard that were not one's own, and the share of them that was taken over."
    return Table(NAME, caption, heads, tuple(body), note)


def _share(row: Row, kind: str, link: str = "") -> Entry:
    adopted, faced = (row.whole(f"{kind}{word}") or 0 for word in ("adopted", "faced"))
    more = f"{number(adopted, 1)} of {number(faced, 1)}"
    return Entry(
        estimate(adopted / faced if faced else None, "share"),
        (adopted, faced),
        more=more if faced else "",
        link=link if adopted else "",
    )
