"""What the debates of each cell are made of, from the table of scores: calls and prompt tokens, shared or not."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from cortexdsl.plan.parts.layout import Layout


class Debated(NamedTuple):
    """Of one cell; `input_tokens` is None where a server did not count some."""

    calls: int = 0
    input_tokens: int | None = 0

    def plus(self, other: Debated) -> Debated:
        """Return the sum of two."""
        is_known = self.input_tokens is not None and other.input_tokens is not None
        tokens = (self.input_tokens or 0) + (other.input_tokens or 0) if is_known else None
        return Debated(self.calls + other.calls, tokens)


def read_debated(folder: Path) -> dict[str, Debated]:
    """Return what the debates of each cell are made of, by the cell's name; empty without a table of scores.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    """
    scores = Path(Layout(str(folder)).table("scores"))
    found: dict[str, Debated] = {}
    if not scores.is_file():
        return found
    with scores.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            tokens = row.get("input_tokens") or ""
            one = Debated(int(float(row.get("calls") or 0)), int(float(tokens)) if tokens else None)
            found[row["cell"]] = found.get(row["cell"], Debated()).plus(one)
    return found
