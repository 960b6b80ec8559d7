"""Passages, the interface of everything that retrieves them, and local corpora (JSON Lines, HotpotQA's contexts)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cortexdsl.core import Floats
from cortexdsl.errors import DataError
from cortexdsl.tasks.sources.files import rows_of
from cortexdsl.tasks.sources.values import pages_of


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


_FORMATS = 'a row is {"id": ..., "title": ..., "text": ...} or {"id": ..., "contents": ...}'


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
        A file of rows `{id, title, text}` or `{id, contents}`; a folder of such files (`*.jsonl`, taken
        by name); or a `.json` file in HotpotQA's or 2WikiMultihopQA's format, whose contexts become passages.
        If the first line of `contents` is in quotation marks, it is the title, as in the Wikipedia
        collections of DPR.

    Raises
    ------
    DataError
        If nothing is there, or a row cannot be read: names file and row.
    """
    if path.suffix == ".json":
        passages = hotpot_passages(rows_of(path), str(path))
    else:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        rows = ((f"{file}, row {number}", row) for file in files for number, row in enumerate(rows_of(file), 1))
        passages = tuple(_passage(row, where) for where, row in rows)
    if not passages:
        raise DataError(f"{path}: the corpus is empty\n    {_FORMATS}; a folder holds such files as *.jsonl")
    twice = next((name for name, count in Counter(passage.id for passage in passages).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{path}: two passages have the id {twice!r}\n    give every passage its own id")
    return corpus_of(passages)


def hotpot_passages(rows: Iterable[Mapping[str, Any]], where: str = "rows") -> tuple[Passage, ...]:
    """Return the contexts of HotpotQA-like rows as passages, each once, in the order they first appear.

    Parameters
    ----------
    rows : iterable of mappings
        With `context`, in one of the forms of `pages_of`.
    where : str
        How errors name the rows.

    Returns
    -------
    tuple of Passage
        The id is the title; a second text under one title is `title (2)`, and so on.
    """
    texts: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        pages = pages_of(row.get("context"))
        if pages is None:
            what = f"{where}: row {number} has no HotpotQA context"
            raise DataError(f"{what}\n    `context` is a list of [title, [sentence, ...]]")
        for title, said in pages:
            known = texts.setdefault(str(title), {})
            if text := "".join(said).strip():
                known.setdefault(text, title if not known else f"{title} ({len(known) + 1})")
    return tuple(Passage(id, title, text) for title, known in texts.items() for text, id in known.items())


def read_passage(line: str, where: str) -> Passage:
    """Read a passage from its JSON.

    Raises
    ------
    DataError
        If it is not a passage; the message begins with `where`.
    """
    try:
        return _passage(json.loads(line), where)
    except ValueError as error:
        raise DataError(f"{where}: not JSON ({error})\n    {_FORMATS}") from None


def _passage(row: Any, where: str) -> Passage:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str | int):
        raise DataError(f"{where}: no passage with an `id`\n    {_FORMATS}")
    title, text = row.get("title") or "", row.get("text", row.get("contents"))
    if not isinstance(text, str) or not text.strip() or not isinstance(title, str):
        raise DataError(f"{where}: no text in `text` or `contents`\n    {_FORMATS}")
    head, _, rest = text.strip().partition("\n")
    if not title and rest.strip() and len(head) > 2 and head[0] == head[-1] == '"':
        title, text = head[1:-1], rest
    return Passage(str(row["id"]), title, text.strip())
