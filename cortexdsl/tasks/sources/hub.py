"""Rows from the Hugging Face hub through the library `datasets` (extra `data`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cortexdsl.errors import DataError


def hub_rows(candidates: Sequence[Mapping[str, str]], split: str, subsets: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the first hub id that can be loaded.

    Parameters
    ----------
    candidates : sequence of mapping
        Each with `id` and perhaps `config` (`*`: one config a subset) and `split`. `datasets` 4 runs no loading
        scripts, so that some original ids fail and a re-upload follows.
    split : str
        Where a candidate names none.
    subsets : sequence of str
        The configs to load where `config` is `*`.

    Raises
    ------
    DataError
        If the library is missing or no candidate can be loaded; says what each of them answered.
    """
    try:
        from datasets import load_dataset
    except ImportError:
        raise DataError(
            "reading from the hub needs the extra `data`\n"
            "    pip install -e '.[data]', or give the path of the official files: dataset: {path: ...}"
        ) from None
    failures: list[str] = []
    for candidate in candidates:
        config = candidate.get("config")
        configs = list(subsets) if config == "*" else [config]
        try:
            tables = [
                (name, load_dataset(candidate["id"], name, split=candidate.get("split", split))) for name in configs
            ]
        except Exception as error:  # the library raises whatever its network stack and builders do
            failures.append(f"{candidate['id']}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
            continue
        for name, table in tables:
            for row in table:
                yield {"subset": name, **row} if config == "*" else dict(row)
        return
    raise DataError(
        "no hub id could be loaded:\n    "
        + "\n    ".join(failures)
        + "\n    give the path of the official files instead: dataset: {path: ...}"
    )
