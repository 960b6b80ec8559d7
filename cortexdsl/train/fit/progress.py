"""How far a training is and how it went, as files: what a display shows, and the learning curve."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.records.files import write_lines

PROGRESS, CURVE = "progress.json", "curve.csv"
COLUMNS = ("step", "epoch", "part", "loss", "margin", "accuracy", "token_accuracy")
_LOGGED = {
    "loss": "loss",
    "margin": "rewards/margins",
    "accuracy": "rewards/accuracies",
    "token_accuracy": "mean_token_accuracy",
}


def write_progress(folder: Path, **said: Any) -> None:
    """Write how far a training is: `state` (training, merging, done), `step`, `steps`, `loss`; and when that was."""
    write_lines(folder / PROGRESS, [json.dumps({**said, "updated": round(time.time(), 1)})])


def write_curve(path: Path, history: Iterable[Mapping[str, Any]]) -> None:
    """Write the learning curve as a table.

    Parameters
    ----------
    path : Path
    history : iterable of mapping
        What the trainer has logged, in its words.
    """
    write_lines(path, [",".join(COLUMNS), *map(",".join, curve(history))])


def curve(history: Iterable[Mapping[str, Any]]) -> Sequence[Sequence[str]]:
    """Return the rows of a learning curve: one a step that was learned from, one a look at the validation examples.

    `margin` is how much more beta * log(trained / before) the chosen replies have than the rejected, `accuracy` the
    share of pairs in which it is above 0, `token_accuracy` that of tokens which were the likeliest ones. A training
    that goes on looks at the validation examples where it begins once more; the first look counts.
    """
    rows: dict[tuple[str, int], Sequence[str]] = {}
    for logged in history:
        for part, mark in (("train", ""), ("validation", "eval_")):
            if f"{mark}loss" in logged:
                values = (_written(logged.get(f"{mark}{name}")) for name in _LOGGED.values())
                row = (str(logged["step"]), _written(logged["epoch"]), part, *values)
                rows.setdefault((part, logged["step"]), row)
    return list(rows.values())


def _written(value: Any) -> str:
    return "" if value is None else f"{float(value):.6g}"
