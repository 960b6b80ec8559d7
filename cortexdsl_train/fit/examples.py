"""The settings, the examples and the progress of a training; nothing here imports PyTorch."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.checksums import write_lines
from cortexdsl.errors import RecordError

PAIR = ("chosen", "rejected")
SINGLE = ("completion",)
DRAWN = ()
"""The replies of an example: none if training draws them."""
REPLIES: Mapping[str, tuple[str, ...]] = MappingProxyType({"dpo": PAIR, "sft": SINGLE, "grpo": DRAWN})
"""The replies that each loss learns from: pairs, single replies that are learned by heart, or its own."""


@dataclass(frozen=True, slots=True)
class GroupSampling:
    """How GRPO draws a group of replies to a prompt, and what they are worth.

    Attributes
    ----------
    size : int
        Replies in a group, at least 2.
    temperature : float
    max_tokens : int
        The most tokens of a reply.
    reward : callable
        From the id of a question, the `label` of the example and a reply to a number in [0, 1].
    """

    size: int
    temperature: float
    max_tokens: int
    reward: Callable[[str, str, str], float]


@dataclass(frozen=True, slots=True)
class Settings:
    """The objective of a training, and the settings of the optimiser.

    Attributes
    ----------
    loss : str
        One of `REPLIES`.
    nll : float
        Weight of the negative log-likelihood of chosen replies, added to a pair loss (1 in ACC-Debate, appendix A).
    beta : float
        The penalty for moving away from the model that training begins with.
    rank : int
        The rank of the adapter: a matrix (n, m) learns the product of two, (n, rank) and (rank, m).
    rate : float
        Learning rate of AdamW at the first step; it falls linearly to nothing.
    epochs : float
        How often each example is read.
    batch : int
        Examples a step.
    at_once : int or None
        How many examples of a step the model processes together, which bounds memory; None: all.
    seed : int
        The seed of the adapter's first weights and of the examples' order.
    """

    loss: str = "dpo"
    nll: float = 1.0
    beta: float = 0.1
    rank: int = 256
    rate: float = 5e-6
    epochs: float = 1.0
    batch: int = 8
    at_once: int | None = None
    seed: int = 0

    def losses(self) -> tuple[list[str], list[float]]:
        """Return the terms of the loss over pairs by TRL's names, and their weights.

        TRL's `sft` is the negative log-likelihood of the chosen replies, the mean over a batch's tokens.
        """
        return (["sigmoid", "sft"], [1.0, self.nll]) if self.nll else (["sigmoid"], [1.0])


PARTS = ("train", "validation")

Row = Mapping[str, Any]
REWARDED = ("question", "label")
"""What the reward of a drawn reply depends on."""


@dataclass(frozen=True, slots=True)
class Examples:
    """A file of examples.

    Attributes
    ----------
    train, validation : tuple of mapping
        `prompt`, a list of messages, and the replies, each a list of one message of the assistant. Validation is looked
        at and never learned from. Without replies: also `question` and `label`, for the reward.
    digest : str
        SHA-256 of the file.
    """

    train: tuple[Row, ...]
    validation: tuple[Row, ...]
    digest: str


def read_examples(path: Path, replies: Sequence[str]) -> Examples:
    """Read a file of pairs, of single replies, or of prompts.

    Parameters
    ----------
    path : Path
        JSON Lines.
    replies : sequence of str
        `PAIR`, `SINGLE` or `DRAWN`.

    Raises
    ------
    RecordError
        A line is malformed, or a question is in both parts.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: the examples cannot be read ({error.strerror})") from None
    found: dict[str, list[Row]] = {part: [] for part in PARTS}
    questions: dict[str, str] = {}
    for number, line in enumerate(content.decode("utf-8", "backslashreplace").rstrip("\n").split("\n"), 1):
        if not line:  # an empty file
            break
        where = f"{path}:{number}"
        row = _row(line, replies, where)
        part, question = row["part"], str(row.get("question"))
        if questions.setdefault(question, part) != part:
            raise RecordError(
                f"{where}: question {question} is learned from and validated on\n    a question belongs to one part"
            )
        found[part].append({name: row[name] for name in ("prompt", *(replies or REWARDED))})
    return Examples(tuple(found["train"]), tuple(found["validation"]), hashlib.sha256(content).hexdigest())


def _row(line: str, replies: Sequence[str], where: str) -> Row:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise RecordError(f"{where}: this is not JSON ({error})") from None
    needed = replies or REWARDED
    missing = [name for name in ("prompt", *needed, "part") if not isinstance(row, dict) or name not in row]
    if missing:
        raise RecordError(f"{where}: {', '.join(missing)} is missing; a line has prompt, {', '.join(needed)} and part")
    if row["part"] not in PARTS:
        raise RecordError(f"{where}: part is {row['part']!r}; allowed are {' and '.join(PARTS)}")
    if not (_are_messages(row["prompt"]) and row["prompt"]):
        raise RecordError(f"{where}: prompt is not a list of messages with role and content")
    for name in replies:
        said = row[name]
        if not (_are_messages(said) and len(said) == 1 and said[0]["role"] == "assistant"):
            raise RecordError(f"{where}: {name} is not a list of one message of the assistant")
    found: Row = row
    return found


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("role"), str) and isinstance(each.get("content"), str)
        for each in value
    )


PROGRESS, CURVE = "progress.json", "curve.csv"
COLUMNS = ("step", "epoch", "part", "loss", "margin", "accuracy", "token_accuracy")
_LOGGED = {
    "loss": ("loss",),
    "margin": ("rewards/margins",),
    "accuracy": ("rewards/accuracies", "reward"),
    "token_accuracy": ("mean_token_accuracy",),
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
        The trainer's log, with the trainer's names.
    """
    write_lines(path, [",".join(COLUMNS), *map(",".join, curve(history))])


def curve(history: Iterable[Mapping[str, Any]]) -> Sequence[Sequence[str]]:
    """Return the rows of a learning curve: one a step that was learned from, one a look at the validation examples.

    `margin` is how much more beta * log(trained / before) the chosen replies have than the rejected, `accuracy` the
    share of pairs in which it is above 0, or the mean reward of drawn replies, `token_accuracy` the share of tokens
    which were the likeliest ones. A training that resumes evaluates the validation examples at its start again; the
    first evaluation counts.
    """
    rows: dict[tuple[str, int], Sequence[str]] = {}
    for logged in history:
        for part, mark in (("train", ""), ("validation", "eval_")):
            if f"{mark}loss" in logged:
                values = (
                    _written(next((logged[f"{mark}{name}"] for name in names if f"{mark}{name}" in logged), None))
                    for names in _LOGGED.values()
                )
                row = (str(logged["step"]), _written(logged["epoch"]), part, *values)
                rows.setdefault((part, logged["step"]), row)
    return list(rows.values())


def _written(value: Any) -> str:
    return "" if value is None else f"{float(value):.6g}"
