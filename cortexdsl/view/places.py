"""The experiments that the explorer was opened on: their names, and where their files lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError, RecordError
from cortexdsl.plan import Layout
from cortexdsl.plan.kept.store import read_plan

RESULTS = Path("results")


@dataclass(frozen=True, slots=True)
class Place:
    """One experiment.

    Attributes
    ----------
    name : str
        Unique among those that are open; `results/NAME` where it lies there.
    root : Path
        The folder of its results.
    """

    name: str
    root: Path

    @property
    def layout(self) -> Layout:
        """Where its files lie."""
        return Layout(self.root.as_posix())

    @property
    def is_here(self) -> bool:
        """Whether it lies where runs of this folder write, so that it may be running."""
        return self.root == RESULTS / self.name

    def plan(self) -> Mapping[str, Any]:
        """Return its plan.json; empty where there is none yet, or ever (transcripts of another program)."""
        try:
            return read_plan(Path(self.layout.plan))
        except RecordError:
            return {}


def places_of(experiments: Sequence[str]) -> list[Place]:
    """Return the experiments that some names or folders mean; without any, all of this folder.

    Raises
    ------
    InputError
        Where there is no such experiment, or none at all.
    """
    roots = [_root(experiment) for experiment in experiments] if experiments else _all()
    places: dict[str, Place] = {}
    for root in dict.fromkeys(roots):
        name = root.relative_to(RESULTS).as_posix() if root.is_relative_to(RESULTS) else root.name
        name = name if name not in places else root.as_posix()
        places[name] = Place(name, root)
    return list(places.values())


def _all() -> list[Path]:
    found = sorted({path.parent for path in RESULTS.rglob("plan.json")})
    found += sorted(path.parent for path in RESULTS.glob("*/debates") if path.parent not in found)
    if not found:
        raise InputError("no experiment has begun in this folder\n    start one: cortexdsl run NAME")
    return found


def _root(experiment: str) -> Path:
    named = RESULTS / experiment.strip("/").removeprefix("./").removeprefix("results/")
    for folder in (named, Path(experiment)):
        if any((folder / name).exists() for name in ("plan.json", "debates", "spent")):
            return folder
    began = ", ".join(path.relative_to(RESULTS).as_posix() for path in _begun())
    raise InputError(
        f"{experiment}: neither {named} nor {experiment} holds results"
        f"\n    {f'begun here: {began}' if began else 'no experiment has begun in this folder'}"
    )


def _begun() -> list[Path]:
    try:
        return _all()
    except InputError:
        return []
