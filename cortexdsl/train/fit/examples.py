"""What is learned from: files of pairs or of single replies, read and checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError

PARTS = ("train", "validation")
PAIR = ("chosen", "rejected")
SINGLE = ("completion",)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Examples:
    """A file of examples.

    Attributes
    ----------
    train, validation : tuple of mapping
        `prompt`, a list of messages, and the replies, each a list of one message of the assistant. Validation is looked
        at and never learned from.
    digest : str
        SHA-256 of the file.
    """

    train: tuple[Row, ...]
    validation: tuple[Row, ...]
    digest: str


def read_examples(path: Path, replies: Sequence[str]) -> Examples:
    """Read a file of pairs or of single replies.

    Parameters
    ----------
    path : Path
        JSON Lines.
    replies : sequence of str
        `PAIR` or `SINGLE`.

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
        found[part].append({name: row[name] for name in ("prompt", *replies)})
    return Examples(tuple(found["train"]), tuple(found["validation"]), hashlib.sha256(content).hexdigest())


def _row(line: str, replies: Sequence[str], where: str) -> Row:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise RecordError(f"{where}: this is no JSON ({error})") from None
    missing = [name for name in ("prompt", *replies, "part") if not isinstance(row, dict) or name not in row]
    if missing:
        raise RecordError(f"{where}: {', '.join(missing)} is missing; a line has prompt, {', '.join(replies)} and part")
    if row["part"] not in PARTS:
        raise RecordError(f"{where}: part is {row['part']!r}; allowed are {' and '.join(PARTS)}")
    if not (_are_messages(row["prompt"]) and row["prompt"]):
        raise RecordError(f"{where}: prompt is no list of messages with role and content")
    for name in replies:
        said = row[name]
        if not (_are_messages(said) and len(said) == 1 and said[0]["role"] == "assistant"):
            raise RecordError(f"{where}: {name} is no list of one message of the assistant")
    found: Row = row
    return found


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("role"), str) and isinstance(each.get("content"), str)
        for each in value
    )
