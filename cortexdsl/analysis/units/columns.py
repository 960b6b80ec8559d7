"""What stands in the columns of a table of scores: ids, clusters, and numbers however they are written."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cortexdsl.errors import DataError

Ints: TypeAlias = NDArray[np.int64]
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
NOTHING = {"", "nan", "none", "null", "na", "n/a", "<na>", "nat"}
PARSED = NOTHING | {"0", "0.0", "false", "no"}
"""What `unparsed` says of a row that could be read."""


def number_of(value: Any, source: str, column: str, row: int) -> float:
    """Read one value of a column that is not numeric as a whole."""
    text = str(value).strip().lower()
    if text in NOTHING:
        return np.nan
    try:
        return TRUTH[text] if text in TRUTH else float(text)
    except ValueError:
        raise DataError(f"{source}: row {row + 1}: {column} is {value!r}, which is no number") from None


def codes_of(column: pd.Series[Any], name: str, source: str) -> tuple[Ints, tuple[str, ...]]:
    """Return codes in order of appearance, and the labels as text (1, 1.0 and "1" are one label)."""
    raw, unique = pd.factorize(column, use_na_sentinel=True)
    labels = [str(int(u)) if isinstance(u, float | np.floating) and u == int(u) else str(u).strip() for u in unique]
    if (raw < 0).any() or "" in labels:
        row = int(np.flatnonzero((raw < 0) | np.isin(raw, [i for i, u in enumerate(labels) if not u]))[0])
        raise DataError(f"{source}: row {row + 1}: {name} is empty")
    merged, names = pd.factorize(np.array(labels, dtype=object))
    return np.asarray(merged[raw], dtype=np.int64), tuple(names)


def clusters_of(
    frame: pd.DataFrame, dataset: Ints, question: Ints, questions: list[tuple[str, ...]], source: str
) -> tuple[Ints, ...]:
    """Return the cluster of each question, per dataset. A question without one is a cluster of its own."""
    if "cluster" not in frame:
        return tuple(np.arange(len(ids)) for ids in questions)
    labels = frame["cluster"].astype(str).str.strip()
    found = []
    for index, ids in enumerate(questions):
        rows = dataset == index
        pairs = pd.DataFrame({"question": question[rows], "cluster": labels[rows]}).drop_duplicates()
        if pairs["question"].duplicated().any():
            which = int(pairs.loc[pairs["question"].duplicated(), "question"].iloc[0])
            raise DataError(f"{source}: question {ids[which]!r} has two clusters")
        names = pairs.sort_values("question")["cluster"]
        own = [f"\0{i}" if str(c).lower() in NOTHING else str(c) for i, c in enumerate(names)]
        codes = np.asarray(pd.factorize(np.array(own, dtype=object))[0], dtype=np.int64)
        found.append(codes if codes.max() else np.arange(len(ids)))
    return tuple(found)
