"""A stand-in for the library `datasets`: tables by id, configuration and commit, as the hub keeps them."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    """One table that was asked for."""

    path: str
    name: str | None
    split: str | None
    revision: str | None


class Table(list[dict[str, Any]]):
    """Rows that know the file in the cache that they were read from; the library names its folder by the commit."""

    def __init__(self, rows: Rows, commit: str) -> None:
        super().__init__(rows)
        self.cache_files = [{"filename": f"/cache/datasets/own___data/default/0.0.0/{commit}/data-test.arrow"}]


def fake_hub(
    monkeypatch: pytest.MonkeyPatch,
    tables: Mapping[tuple[str, str | None], Rows],
    commits: Mapping[str, Rows] | None = None,
    loaded: str | None = None,
) -> list[Asked]:
    """Put a stand-in for the library in its place, and return what it is asked for.

    Parameters
    ----------
    monkeypatch : MonkeyPatch
    tables : mapping of (id, configuration) to rows
        Other ids need a loading script.
    commits : mapping of commit to rows
        What a table holds at a commit, instead; the last one is the newest.
    loaded : str or None
        The commit that is loaded whatever is asked for, as from a cache when the hub cannot be reached.
    """
    asked: list[Asked] = []

    def load_dataset(path: str, name: str | None = None, split: str | None = None, revision: str | None = None) -> Rows:
        asked.append(Asked(path, name, split, revision))
        if (path, name) not in tables:
            raise RuntimeError("Dataset scripts are no longer supported")
        if commits is None:
            return tables[(path, name)]
        commit = loaded or revision or list(commits)[-1]
        if commit not in commits:
            raise RuntimeError(f"Revision '{commit}' doesn't exist")
        return Table(commits[commit], commit)

    module = types.ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return asked
