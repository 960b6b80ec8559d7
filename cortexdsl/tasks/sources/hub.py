"""Rows from the Hugging Face hub through the library `datasets` (extra `data`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError

COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubTable:
    """One dataset of the hub, loaded.

    Attributes
    ----------
    id : str
    revision : str or None
        The commit that it was loaded from, if the library says so, else the requested one.
    is_pinned : bool
        Whether a commit was asked for.
    tables : sequence of (subset, rows)
        The subset is empty unless each has a configuration of its own.
    """

    id: str
    revision: str | None
    is_pinned: bool
    tables: Sequence[tuple[str, Any]]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all rows; those of a configuration of their own with their `subset`."""
        for subset, table in self.tables:
            for row in table:
                yield {"subset": subset, **row} if subset else dict(row)


def hub_table(
    candidates: Sequence[Mapping[str, str]], subsets: Sequence[str] = (), revision: str | None = None
) -> HubTable:
    """Load the first hub id that can be loaded.

    Parameters
    ----------
    candidates : sequence of mapping
        Each with `id`, `split`, and perhaps `config` (`*`: one configuration for each subset) and `revision`, the
        commit. `datasets` 4 and later run no loading scripts: for such ids a copy in another format follows.
    subsets : sequence of str
        The configurations to load if `config` is `*`.
    revision : str or None
        Loaded instead of the candidates' own commits.

    Raises
    ------
    DataError
        If the library is missing, no candidate can be loaded (says what each of them answered), or the library
        loaded another commit than the one that was asked for.
    """
    try:
        from datasets import load_dataset
    except ImportError:
        raise DataError(
            "reading from the hub needs the extra `data`\n"
            "    pip install 'cortexdsl[data]', or give the path of the official files: dataset: {name: ..., path: ...}"
        ) from None
    failures: list[str] = []
    for candidate in candidates:
        config = candidate.get("config")
        asked = revision or candidate.get("revision")
        names = list(subsets) if config == "*" else [config]
        try:
            loading = (load_dataset(candidate["id"], name, split=candidate["split"], revision=asked) for name in names)
            tables = [_with_bytes(table) for table in loading]
        except Exception as error:  # the library raises whatever its network stack and builders do
            said = (str(error).splitlines() or [""])[0]
            failures.append(f"{candidate['id']}: {type(error).__name__}: {said[:160]}")
            continue
        loaded = {commit for table in tables if (commit := _commit_of(table))}
        is_pinned = asked is not None and COMMIT.fullmatch(asked) is not None
        if is_pinned and loaded - {asked}:  # without the hub, the library takes what its cache has
            raise DataError(
                f"{candidate['id']}: revision {asked} was asked for, and {', '.join(sorted(loaded))} was loaded\n"
                "    the hub could not be reached, so the newest of the cache was taken: try again with the network",
                word="revision",
            )
        commit = loaded.pop() if len(loaded) == 1 else asked
        labels = names if config == "*" else [""] * len(names)
        return HubTable(candidate["id"], commit, is_pinned, list(zip(map(str, labels), tables, strict=True)))
    raise DataError(
        "no hub id could be loaded:\n    "
        + "\n    ".join(failures)
        + "\n    or download its files and name them: {name: ..., path: ...} of the list, {file: ...} of others"
    )


def _with_bytes(table: Any) -> Any:
    """Return a table whose images are bytes, as its files have them, and not decoded."""
    for column, feature in dict(getattr(table, "features", None) or {}).items():
        if type(feature).__name__ == "Image":
            table = table.cast_column(column, type(feature)(decode=False))
    return table


def _commit_of(table: Any) -> str | None:
    """Return the commit that a table came from: the library names its cache's folders by it."""
    files = getattr(table, "cache_files", None) or ()
    folders = {part for file in files for part in Path(str(file["filename"])).parts if COMMIT.fullmatch(part)}
    return folders.pop() if len(folders) == 1 else None
