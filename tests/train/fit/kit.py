"""Pairs and folders that trainings are tried on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cortexdsl_train.fit.examples import PAIR, Examples, read_examples


def pair(number: int, part: str = "train", **more: Any) -> dict[str, Any]:
    """A question, its right answer, and a wrong one."""
    return {
        "prompt": [{"role": "user", "content": f"What is the result of {number}+1*2+3-1*1?"}],
        "chosen": [{"role": "assistant", "content": f"Answer: {number + 4}"}],
        "rejected": [{"role": "assistant", "content": f"I think step by step. Answer: {number}"}],
        "part": part, "question": f"q{number}", "round": 0, "guided": "right",
        "value_chosen": 0.8, "value_rejected": 0.2, **more,
    }  # fmt: skip


def written(path: Path, rows: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def pairs(path: Path, train: int = 12, validation: int = 4) -> Examples:
    rows = [pair(k) for k in range(train)] + [pair(100 + k, "validation") for k in range(validation)]
    return read_examples(written(path, rows), PAIR)
