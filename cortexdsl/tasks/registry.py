"""The table of datasets, read from `registry.yaml`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from importlib import resources
from typing import Any

import yaml

from cortexdsl.core import EMPTY
from cortexdsl.errors import DataError
from cortexdsl.tasks.grading.metrics import check_metric
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.reading.number import Mark
from cortexdsl.tasks.sources.hub import COMMIT
from cortexdsl.tasks.sources.values import CONVERTERS

_LISTS = ("labels", "hub", "hub_subsets", "columns", "images", "setup")
HUB_WORDS = ("id", "config", "split", "revision")


@dataclass(frozen=True)
class DatasetEntry:
    """One dataset; the attributes are the words of `registry.yaml`, explained at its top."""

    name: str
    title: str = ""
    source: str = ""
    licence: str = ""
    kind: str = "text"
    metric: str = ""
    labels: tuple[str, ...] = ()
    generated: bool = False
    hub: tuple[Mapping[str, str], ...] = ()
    hub_subsets: tuple[str, ...] = ()
    split: str = "test"
    files: Mapping[str, list[str]] = field(default_factory=lambda: EMPTY)
    records: str = ""
    columns: tuple[str, ...] = ()
    id: Any = "id"
    question: Any = "question"
    answer: Any = "answer"
    options: Any = None
    context: Any = None
    cluster: Any = None
    images: tuple[str, ...] = ()
    aliases: Any = None
    digits: Any = None
    only: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    settings: Any = None
    entry: Any = None
    examples: Any = None
    solution: Any = ("solution", "canonical_solution")
    setup: tuple[str, ...] = ()
    shown: str = ""
    turn: str = ""
    gold: str = "plain"
    decimal: Mark = "."
    ask: str = ""
    subset_field: str = "subset"
    labels_field: str = ""
    group: str = ""
    subsets: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)
    collections: Mapping[str, list[str]] = field(default_factory=lambda: EMPTY)
    shuffle: bool = False
    once: bool = False

    @property
    def metric_name(self) -> str:
        """The metric, or the kind's usual one."""
        return self.metric or KINDS[self.kind].metric

    def of_subset(self, subset: str | None) -> DatasetEntry:
        """The entry as it is for one subset."""
        changes = self.subsets.get(subset or "", {})
        return replace(self, **{**changes, "labels": tuple(changes.get("labels", self.labels))}) if changes else self


@lru_cache(maxsize=1)
def registry() -> Mapping[str, DatasetEntry]:
    """All datasets by name, in the table's order.

    Raises
    ------
    DataError
        If an entry has an unknown word, kind, metric or gold.
    """
    text = resources.files("cortexdsl.tasks").joinpath("registry.yaml").read_text(encoding="utf-8")
    said = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {name: entry_of(name, words) for name, words in said.items()}


def entry_of(name: str, words: Mapping[str, Any]) -> DatasetEntry:
    """Check the words of one entry and return it."""
    known = {each.name for each in fields(DatasetEntry)} - {"name"}
    for word in words:
        if word not in known:
            raise DataError(f"dataset {name}: unknown word {word!r}{nearest(word, known)}")
    tuples = {word: tuple(words[word]) for word in _LISTS if word in words}
    for each in tuples.get("hub", ()):
        for word in each:
            if word not in HUB_WORDS:
                raise DataError(f"dataset {name}: unknown word {word!r} in hub{nearest(word, HUB_WORDS)}")
        if not COMMIT.fullmatch(each.get("revision", "0" * 40)):
            raise DataError(f"dataset {name}: revision {each['revision']!r}\n    write a commit: 40 hexadecimal digits")
    entry = DatasetEntry(name, **{**words, **tuples})
    for part in [entry, *(entry.of_subset(subset) for subset in entry.subsets)]:
        if part.kind not in KINDS:
            raise DataError(f"dataset {name}: unknown kind {part.kind!r}{nearest(part.kind, KINDS)}")
        if part.gold not in CONVERTERS:
            raise DataError(f"dataset {name}: unknown gold {part.gold!r}{nearest(part.gold, CONVERTERS)}")
        check_metric(part.metric_name)
    return entry


def entry_named(name: str) -> DatasetEntry:
    """Return a dataset's entry.

    Raises
    ------
    DataError
        If there is no dataset of that name; names the nearest one.
    """
    try:
        return registry()[name]
    except KeyError:
        raise DataError(f"no dataset {name!r}{nearest(name, registry())}", word="name") from None


def nearest(word: str, known: Any, say: str = "known") -> str:
    """The remedy for an unknown word: the nearest known one and all of them."""
    close = difflib.get_close_matches(word, list(known), 1)
    return (f"\n    did you mean {close[0]!r}?" if close else "") + f"\n    {say}: {', '.join(known)}"
