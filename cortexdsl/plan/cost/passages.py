"""What stands for retrieved passages in a rehearsal: a corpus's own where it is a file here, else made-up ones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.knowledge.corpus import read_passage
from cortexdsl.plan.experiment import Plan, pool_sources
from cortexdsl.terms import Cell

Shown = Mapping[str, str]
"""The title and the text of a passage."""

TOP = 5
_MADE_UP: Shown = {"title": "A made-up passage", "text": "words " * 80}


def made_up_passages(sources: int) -> tuple[Shown, ...]:
    """Return passages for so many sources."""
    return (_MADE_UP,) * TOP * sources


def passages_for(plan: Plan, cell: Cell) -> tuple[Shown, ...]:
    """Return as many passages as each source of a cell gives to a pool: a corpus's first, as long as any."""
    found: list[Shown] = []
    for source in pool_sources(cell):
        found += _of(plan.knowledge[source], Path(plan.spec_path).parent)
    return tuple(found)


def _of(entry: Any, folder: Path) -> list[Shown]:
    """Return the passages of one source; of a folder, another format and what cannot be read made-up ones."""
    path = None if entry.corpus is None else folder / entry.corpus
    found: list[Shown] = []
    if path is not None and path.suffix == ".jsonl" and path.is_file():
        try:
            with path.open(encoding="utf-8") as stream:
                lines = islice(filter(str.strip, stream), entry.top)
                passages = [read_passage(line, str(path)) for line in lines]
        except (DataError, OSError, UnicodeDecodeError):  # told when the pool is built
            passages = []
        found = [{"title": passage.title, "text": passage.text} for passage in passages]
    return found or [_MADE_UP] * entry.top
