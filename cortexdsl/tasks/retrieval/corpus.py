"""Passages, the interface of everything that retrieves them, and local corpora (JSON Lines, HotpotQA's contexts)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cortexdsl.core import Floats
from cortexdsl.errors import DataError


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that may help to answer a question.

    Attributes
    ----------
    id : str
        Unique within its corpus; the address of a search result.
    title, text : str
        The title may be empty, the text never is.
    source : str
        The knowledge entry of the spec that it was retrieved from; empty within a corpus.
    score : float or None
        As the source ranked it, higher is better; None if the source gives no score (a web search).
    """

    id: str
    title: str
    text: str
    source: str = ""
    score: float | None = None


class Source(Protocol):
    """Retrieves passages for questions."""

    @property
    def name(self) -> str:
        """The knowledge entry's name in the spec."""
        ...

    @property
    def identity(self) -> str:
        """Everything but question and `top` that can change what is retrieved; never a key."""
        ...

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return at most `top` passages, best first; ties keep the order of the corpus.

        Raises
        ------
        KnowledgeError
            If the source fails permanently.
        """
        ...


def best(scores: Floats, top: int) -> list[int]:
    """Return the positions of the `top` highest of (n,) scores, highest first, equal ones in their order."""
    return [int(position) for position in np.argsort(-scores, kind="stable")[:top]]


_FORMATS = 'a line is {"id": ..., "title": ..., "text": ...} or {"id": ..., "contents": ...}'


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages in the order of their file; `digest` depends on the content alone, not on the path."""

    passages: tuple[Passage, ...]
    digest: str


def corpus_of(passages: Iterable[Passage]) -> Corpus:
    """Return a corpus of passages in their order."""
    kept = tuple(passages)
    digest = hashlib.sha256()
    for passage in kept:
        digest.update(json.dumps([passage.id, passage.title, passage.text]).encode())
    return Corpus(kept, digest.hexdigest())


def read_corpus(path: Path) -> Corpus:
    """Read a corpus.

    Parameters
    ----------
    path : Path
        A JSON Lines file of `{id, title, text}` or `{id, contents}`; a folder of such files (`*.jsonl`, taken
        by name); or a `.json` file in HotpotQA's or 2WikiMultihopQA's format, whose contexts become passages.
        If the first line of `contents` is in quotation marks, it is the title, as in the Wikipedia
        collections of DPR.

    Raises
    ------
    DataError
        If nothing is there, or a line cannot be read: names file and line.
    """
    if path.suffix == ".json":
        passages = hotpot_passages(_rows(path), str(path))
    else:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        passages = tuple(passage for file in files for passage in _lines(file))
    if not passages:
        raise DataError(f"{path}: the corpus is empty\n    {_FORMATS}; a folder holds such files as *.jsonl")
    first: set[str] = set()
    for passage in passages:
        if passage.id in first:
            raise DataError(f"{path}: two passages have the id {passage.id!r}\n    give every passage its own id")
        first.add(passage.id)
    return corpus_of(passages)


def hotpot_passages(rows: Iterable[Mapping[str, Any]], where: str = "rows") -> tuple[Passage, ...]:
    """Return the contexts of HotpotQA-like rows as passages, each once, in the order they first appear.

    Parameters
    ----------
    rows : iterable of mappings
        With `context` as `[[title, [sentence, ...]], ...]` (the official files) or as
        `{title: [...], sentences: [[...], ...]}` (the same data as columns; `content` is read as well).
    where : str
        How errors name the rows.

    Returns
    -------
    tuple of Passage
        The id is the title; a second text under one title is `title (2)`, and so on.
    """
    texts: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        for title, text in _contexts(row, f"{where}: row {number}"):
            known = texts.setdefault(title, {})
            known.setdefault(text, title if not known else f"{title} ({len(known) + 1})")
    return tuple(Passage(id, title, text) for title, known in texts.items() for text, id in known.items())


def _contexts(row: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    try:
        context = row["context"]
        if isinstance(context, Mapping):
            sentences = context["sentences"] if "sentences" in context else context["content"]
            context = list(zip(context["title"], sentences, strict=True))
        for title, said in context:
            text = "".join(said).strip()
            if text:
                yield str(title), text
    except (KeyError, TypeError, ValueError):
        message = f"{where} has no HotpotQA context\n    `context` is a list of [title, [sentence, ...]]"
        raise DataError(message) from None


def _rows(path: Path) -> list[Mapping[str, Any]]:
    try:
        rows = json.loads(_text(path))
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error})\n    {_FORMATS}, in a file *.jsonl") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: no list of questions with contexts\n    {_FORMATS}, in a file *.jsonl")
    return rows


def _lines(path: Path) -> Iterator[Passage]:
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            yield read_passage(line, f"{path}:{number}")


def read_passage(line: str, where: str) -> Passage:
    """Read a passage from its JSON.

    Raises
    ------
    DataError
        If it is not a passage; the message begins with `where`.
    """
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: not JSON ({error})\n    {_FORMATS}") from None
    if not isinstance(row, dict) or not isinstance(row.get("id"), str | int):
        raise DataError(f"{where}: no passage with an `id`\n    {_FORMATS}")
    title, text = row.get("title") or "", row.get("text", row.get("contents"))
    if not isinstance(text, str) or not text.strip() or not isinstance(title, str):
        raise DataError(f"{where}: no text in `text` or `contents`\n    {_FORMATS}")
    head, _, rest = text.strip().partition("\n")
    if not title and rest.strip() and len(head) > 2 and head[0] == head[-1] == '"':
        title, text = head[1:-1], rest
    return Passage(str(row["id"]), title, text.strip())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path}: no such corpus\n    correct the path in `knowledge:`, or put it there") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason})\n    save the corpus as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
