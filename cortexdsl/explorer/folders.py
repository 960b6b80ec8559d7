"""Folders of results that the explorer shows, and the tables in them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.record import PlanRecord, plan_or_empty
from cortexdsl.symlinks import opened_results

RESULTS = Path("results")


@dataclass(frozen=True, slots=True)
class ResultsFolder:
    """The folder of results of one experiment.

    Attributes
    ----------
    name : str
        Unique among the open experiments; NAME if the folder is `results/NAME`.
    root : Path
        The folder.
    """

    name: str
    root: Path

    @property
    def layout(self) -> Layout:
        """The paths of its files."""
        return Layout(self.root.as_posix())

    @property
    def is_here(self) -> bool:
        """Whether runs of this working folder write to it, so that it may be running."""
        return self.root == RESULTS / self.name

    def plan(self) -> PlanRecord:
        """Return its plan.json; empty if there is none (yet, or because it holds imported transcripts)."""
        return plan_or_empty(self.layout)


def find_results(experiments: Sequence[str]) -> list[ResultsFolder]:
    """Return the folders of experiments, given by name or path; without any, all in `results/`.

    Raises
    ------
    InputError
        There is no such experiment, or none at all.
    """
    roots = [_root(experiment) for experiment in experiments] if experiments else _all()
    folders: dict[str, ResultsFolder] = {}
    for root in map(opened_results, dict.fromkeys(roots)):
        name = root.relative_to(RESULTS).as_posix() if root.is_relative_to(RESULTS) else root.name
        name = name if name not in folders else root.as_posix()
        folders[name] = ResultsFolder(name, root)
    return list(folders.values())


def _all() -> list[Path]:
    roots = sorted({path.parent for path in RESULTS.rglob("plan.json") if not path.parent.name.startswith(".")})
    roots += sorted(path.parent for path in RESULTS.glob("*/debates") if path.parent not in roots)
    if not roots:
        raise InputError("no experiment has begun in this folder\n    start one: cortexdsl run NAME")
    return roots


def _root(experiment: str) -> Path:
    by_name = RESULTS / experiment.strip("/").removeprefix("./").removeprefix("results/")
    for folder in (by_name, Path(experiment)):
        if any((folder / name).exists() for name in ("plan.json", "debates", "spent")):
            return folder
    known = ", ".join(path.relative_to(RESULTS).as_posix() for path in _begun())
    raise InputError(
        f"{experiment}: neither {by_name} nor {experiment} holds results"
        f"\n    {f'begun here: {known}' if known else 'no experiment has begun in this folder'}"
    )


def _begun() -> list[Path]:
    try:
        return _all()
    except InputError:
        return []


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV table, without pandas; none if the file does not exist or cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            return [{name: value or "" for name, value in row.items() if name} for row in csv.DictReader(stream)]
    except (OSError, csv.Error):
        return []


def number(row: Mapping[str, str], column: str) -> float | None:
    """Return a number of a row; None if there is none, or it is not finite."""
    try:
        value = float(row[column])
    except (KeyError, ValueError):
        return None
    return value if value == value and abs(value) != float("inf") else None
