"""From a dataset entry of a spec to a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.tasks.grading.metrics import check_metric
from cortexdsl.tasks.items import items_of
from cortexdsl.tasks.own import own_entry
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.registry import Entry, entry_named, nearest
from cortexdsl.tasks.sampling import chosen, with_shuffled_options
from cortexdsl.tasks.sources.arithmetic import arithmetic_rows
from cortexdsl.tasks.sources.fields import field
from cortexdsl.tasks.sources.files import files_of, rows_of
from cortexdsl.tasks.sources.hub import hub_rows
from cortexdsl.tasks.task import Item, Task
from cortexdsl.terms import Dataset

# What a generated dataset holds where the spec names no size.
GENERATED_SIZE = 100
MOST_GENERATED = 1_000_000  # each takes about a kilobyte of memory in every job that reads them


def load(dataset: Dataset) -> Task:
    """Load the questions that a spec chooses.

    Parameters
    ----------
    dataset : Dataset
        A dataset of the registry, generated, from official files (`path`) or from the hub; or a file of one's
        own with a field map.

    Returns
    -------
    Task

    Raises
    ------
    DataError
        If the dataset, its files, subsets, ids, kind or metric are unknown or broken; says what to do.
    """
    entry = _entry(dataset)
    if entry.generated:
        items = _generated(entry, dataset)
    else:
        items = chosen(all_items(entry, dataset), dataset.size, dataset.seed, dataset.stratify, dataset.ids)
    shuffle = entry.shuffle if dataset.shuffle_options is None else dataset.shuffle_options or entry.shuffle
    if shuffle:
        items = [with_shuffled_options(item, dataset.seed) for item in items]
    return Task(dataset.label, dataset.name or "own", tuple(items), dataset.reading, entry.group or None)


def all_items(entry: Entry, dataset: Dataset) -> list[Item]:
    """All items of a dataset's split and subsets, in the order of its files."""
    subsets = _subsets(entry, dataset)
    place = _Place()
    rows = _rows(entry, dataset, subsets, place)
    if subsets:
        rows = _selected(rows, entry.subset_field, subsets)
    items = list(items_of(entry, rows, place.of, place.folder))
    if not items:
        remedy = "is the subset there?" if dataset.name else "the file has no row"
        raise DataError(f"dataset {entry.name}: no question in {dataset.path or 'the hub'}\n    {remedy}", word="file")
    return items


def _entry(dataset: Dataset) -> Entry:
    entry = entry_named(dataset.name) if dataset.name else own_entry(dataset)
    changes: dict[str, Any] = {}
    if dataset.kind is not None and dataset.name:
        if dataset.kind not in KINDS:
            raise DataError(
                f"dataset {dataset.label}: unknown kind {dataset.kind!r}{nearest(dataset.kind, KINDS)}", word="kind"
            )
        changes |= {"kind": dataset.kind, "metric": ""}
    if dataset.metric is not None:
        changes["metric"] = check_metric(dataset.metric)
    if changes:
        kept = {name: {k: v for k, v in words.items() if k not in changes} for name, words in entry.subsets.items()}
        entry = replace(entry, **changes, subsets=kept)
    if dataset.fields and dataset.name:
        entry = replace(entry, **{"options" if k == "choices" else k: v for k, v in dataset.fields.items()})
    return entry


def _generated(entry: Entry, dataset: Dataset) -> list[Item]:
    rows = arithmetic_rows(dataset.seed)
    if dataset.ids:
        wanted = max((int(i.rsplit("-", 1)[-1]) for i in dataset.ids if i.rsplit("-", 1)[-1].isdigit()), default=1)
        return chosen(list(items_of(entry, islice(rows, min(wanted, 100_000)))), None, 0, None, dataset.ids)
    size = GENERATED_SIZE if dataset.size is None else dataset.size
    if size < 1:
        raise DataError(f"dataset {dataset.label}: size is {size}\n    ask for 1 question or more", word="size")
    if size > MOST_GENERATED:
        raise DataError(
            f"dataset {dataset.label}: size is {size:,}\n    ask for at most {MOST_GENERATED:,} questions", word="size"
        )
    return list(items_of(entry, islice(rows, size)))


def _subsets(entry: Entry, dataset: Dataset) -> tuple[str, ...]:
    """The asked subsets, collections opened."""
    names: list[str] = []
    for name in dataset.subset:
        names += entry.collections.get(name, [name])
    if entry.subsets:
        for name in names:
            if name not in entry.subsets:
                raise DataError(
                    f"dataset {entry.name}: no subset {name!r}{nearest(name, entry.subsets)}", word="subset"
                )
    return tuple(dict.fromkeys(names))


@dataclass(slots=True)
class _Place:
    """Where rows are being read: rows are made one by one, and a bad one is the last that was read."""

    file: Path | None = None
    row: int = 0

    def of(self, number: int) -> str:
        """Say where a row is; its number in the whole dataset where it comes from no file."""
        return f"row {number}" if self.file is None else f"{self.file}, row {self.row}"

    def folder(self) -> Path:
        """Return the folder of the file being read."""
        return Path() if self.file is None else self.file.parent


def _rows(entry: Entry, dataset: Dataset, subsets: tuple[str, ...], place: _Place) -> Iterator[Mapping[str, Any]]:
    split = dataset.split or entry.split
    if dataset.path is None:
        if not entry.hub:
            raise DataError(f"dataset {entry.name}: it is on no hub\n    give the path of its files", word="name")
        configs = tuple(s for s in subsets if s in entry.hub_subsets) or entry.hub_subsets
        yield from hub_rows(entry.hub, split, configs or subsets or tuple(entry.subsets))
        return
    if entry.files and split not in entry.files:
        raise DataError(f"dataset {entry.name}: no split {split!r}{nearest(split, entry.files)}", word="split")
    patterns = entry.files.get(split, ["*.jsonl", "*.json", "*.csv", "*.parquet"])
    for path, named in files_of(Path(dataset.path), patterns):
        if subsets and entry.subset_field in named and named[entry.subset_field] not in subsets:
            continue
        place.file = path
        for place.row, row in enumerate(rows_of(path, entry.records, entry.columns), 1):
            yield {**named, **row}


def _selected(rows: Iterable[Mapping[str, Any]], name: str, subsets: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    met: set[str] = set()
    for row in rows:
        value = str(field(row, name, ""))
        met.add(value)
        if _slug(value) in {_slug(subset) for subset in subsets}:
            yield row
    missing = [subset for subset in subsets if _slug(subset) not in {_slug(value) for value in met}]
    if missing:
        raise DataError(f"no subset {missing[0]!r}{nearest(missing[0], sorted(met))}", word="subset")


def _slug(name: str) -> str:
    return name.lower().replace("&", "and").replace(" ", "_")
