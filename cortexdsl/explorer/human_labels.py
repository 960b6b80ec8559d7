"""Human labels of turns: typed in the explorer, and kept in one file next to the folder of results."""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from cortexdsl.errors import InputError, RecordError
from cortexdsl.explorer.store import IndexStore
from cortexdsl.metrics.labels import read_labels, write_labels
from cortexdsl.metrics.rows import LabelRow


class HumanLabels:
    """The human labels of one experiment.

    Parameters
    ----------
    root : Path
        The folder of results; the file stands next to it, because nothing but its run writes to it.
    store : IndexStore
        Knows the labelled turns.
    values : mapping of label to sequence of str
        What each label may be.
    """

    def __init__(self, root: Path, store: IndexStore, values: Mapping[str, tuple[str, ...]]) -> None:
        named = root.resolve() if root.name in ("", "..") else root
        self.path = named.with_name(f"{named.name}.human-labels.csv")
        self._store, self._values = store, values

    def of(self, debate: int) -> dict[int, dict[str, str]]:
        """Return the human labels of a debate, by turn and name."""
        place = self._place(debate)
        given: dict[int, dict[str, str]] = defaultdict(dict)
        for row in self._read():
            if row.value is not None and (row.dataset, row.question_id, row.cell, row.replicate) == place:
                given[row.turn][row.label] = row.value
        return given

    def put(self, debate: int, turn: int, label: str, value: str) -> dict[int, dict[str, str]]:
        """Write a human label, or remove it with an empty value; return the labels of the debate.

        Raises
        ------
        InputError
            The run has no such label of this turn, or the value is not one of its values.
        RecordError
            The file cannot be written.
        """
        dataset, question, cell, replicate = self._place(debate)
        with self._store.reading() as db:
            known = db.execute(
                "SELECT round, speaker FROM labels WHERE dataset = ? AND question = ? AND cell = ? AND replicate = ?"
                " AND turn = ? AND label = ?",
                (dataset, question, cell, replicate, turn, label),
            ).fetchone()
        if known is None:
            raise InputError(f"the run has no label {label!r} of this turn\n    choose one of the turn's labels")
        if value and value not in self._values.get(label, ()):
            raise InputError(f"{value!r} is not a value of {label}\n    values: {', '.join(self._values[label])}")
        round_, speaker = known
        row = LabelRow(dataset, cell, replicate, question, turn, round_, speaker, label, value or None, None)
        with self._locked():
            others = [each for each in self._read() if replace(each, value=row.value, call=None) != row]
            write_labels(self.path, [*others, row] if value else others)
        return self.of(debate)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold a lock of the folder of the file while the file is changed: other explorers may show the experiment."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _place(self, debate: int) -> tuple[str, str, str, int]:
        with self._store.reading() as db:
            place = db.execute(
                "SELECT dataset, question, cell, replicate FROM debates WHERE id = ?", (debate,)
            ).fetchone()
        if place is None:
            raise InputError("there is no such debate; it may have been replaced\n    load the page again")
        dataset, question, cell, replicate = place
        return dataset, question, cell, replicate

    def _read(self) -> list[LabelRow]:
        if not self.path.exists():
            return []
        try:
            return read_labels(self.path)
        except RecordError as error:
            what = str(error).partition("\n")[0]
            raise InputError(f"{what}\n    mend this file, or move it away: it holds human labels") from None
