"""The `knowledge:` entries of a spec: checked, and opened as sources."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cortexdsl.errors import InputError
from cortexdsl.knowledge.corpus import read_corpus
from cortexdsl.knowledge.indexes import Faiss, Lucene
from cortexdsl.knowledge.local import Bm25, open_dense
from cortexdsl.knowledge.passages import Source
from cortexdsl.knowledge.search import SERPER, Search
from cortexdsl.terms import Floats

if TYPE_CHECKING:
    import aiohttp

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "bm25": ("retriever", "top", "corpus", "index"),
    "dense": ("retriever", "top", "corpus", "index", "embedding"),
    "search": ("retriever", "top", "api_base", "api_key_env"),
}
"""The retrievers, and what an entry of each may say."""

EmbedBy: TypeAlias = Callable[[str, Sequence[str]], Awaitable[Floats]]
"""Embeds n texts under a named embedding as an (n, d) array."""

_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Entry:
    """A knowledge entry of a spec, checked.

    Attributes
    ----------
    name, retriever : str
    top : int
        How many passages it gives to a pool, at least 1.
    corpus : Path or None
        A local corpus (`read_corpus`); with `index` where the index's texts are.
    index : Path or None
        A folder with an index that pyserini built.
    embedding : str
        Of a dense retriever: `ngram`, a litellm embedding model or `sentence-transformers/NAME`.
    api_base, api_key_env : str
        Of a web search: its whole address (or `env:NAME`), and the variable that holds the key.
    """

    name: str
    retriever: str
    top: int = 5
    corpus: Path | None = None
    index: Path | None = None
    embedding: str = "ngram"
    api_base: str = SERPER
    api_key_env: str = "SERPER_API_KEY"

    @property
    def asks(self) -> str:
        """What its queries go to: an address that all searches there share, or itself."""
        return self.api_base if self.retriever == "search" else self.name


def read_entry(name: str, values: Mapping[str, Any], base: Path) -> Entry:
    """Check a knowledge entry.

    Parameters
    ----------
    name : str
        Its name in the spec.
    values : mapping
        What the spec says, such as `{retriever: bm25, corpus: passages.jsonl, top: 5}`.
    base : Path
        Where relative paths begin.

    Raises
    ------
    InputError
        With the entry, what is wrong and what is allowed.
    """
    where = f"knowledge.{name}"
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: {values!r} is no entry\n    write {{retriever: bm25, corpus: FILE.jsonl, top: 5}}")
    values = {key: value for key, value in values.items() if value is not None}
    retriever = str(values.get("retriever"))
    if retriever not in KEYS:
        raise InputError(f"{where}: retriever {retriever!r} is unknown\n    {_allowed(retriever, tuple(KEYS))}")
    for key, value in values.items():
        if key not in KEYS[retriever]:
            raise InputError(
                f"{where}: {key!r} is unknown with `retriever: {retriever}`\n    {_allowed(str(key), KEYS[retriever])}"
            )
        if key == "top" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise InputError(f"{where}: top is {value!r}\n    write a whole number from 1 on")
        if key != "top" and (not isinstance(value, str) or not value.strip()):
            raise InputError(f"{where}: {key} is {value!r}\n    write a text")
    paths: dict[str, Any] = {key: base / Path(values[key]).expanduser() for key in ("corpus", "index") if key in values}
    if retriever != "search" and not paths:
        raise InputError(f"{where}: names neither corpus nor index\n    say where the passages are")
    if retriever == "bm25" and len(paths) == 2:
        raise InputError(f"{where}: names a corpus and an index\n    keep one: a Lucene index holds its own texts")
    return Entry(name, **(values | paths))


@asynccontextmanager
async def open_sources(
    entries: Sequence[Entry], embed: EmbedBy, environment: Mapping[str, str] = os.environ
) -> AsyncIterator[tuple[tuple[Source, int], ...]]:
    """Open the sources of entries: yields (source, top) in their order.

    Parameters
    ----------
    entries : sequence of Entry
    embed : EmbedBy
        Called for dense entries alone.
    environment : mapping
        Where keys and addresses are.

    Raises
    ------
    InputError
        If a corpus, an index, a library or a key is missing.
    """
    import aiohttp  # a quarter of a second that jobs without a search go without

    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
        opened = [(await _open(entry, session, embed, environment), entry.top) for entry in entries]
        yield tuple(opened)


async def _open(entry: Entry, session: aiohttp.ClientSession, embed: EmbedBy, environment: Mapping[str, str]) -> Source:
    if entry.retriever == "search":
        key = _variable(entry.name, entry.api_key_env, "key", environment)
        address = entry.api_base
        if address.startswith("env:"):
            address = _variable(entry.name, address.removeprefix("env:").strip(), "address", environment)
        return Search(entry.name, session, key, entry.api_key_env, address, entry.api_base)
    if entry.retriever == "dense" and entry.index:
        texts = entry.corpus or entry.index
        return Faiss(entry.name, entry.index, texts, entry.embedding, partial(embed, entry.embedding))
    if entry.index:
        return Lucene(entry.name, entry.index)
    assert entry.corpus is not None  # read_entry: a corpus or an index
    corpus = await asyncio.to_thread(read_corpus, entry.corpus)
    if entry.retriever == "bm25":
        return Bm25(entry.name, corpus)
    return await open_dense(entry.name, corpus, entry.embedding, partial(embed, entry.embedding))


def _variable(name: str, variable: str, what: str, environment: Mapping[str, str]) -> str:
    value = environment.get(variable, "").strip()
    if not value:
        raise InputError(
            f"knowledge.{name}: its {what} is in the environment variable {variable}, which is not set\n"
            f"    set it: export {variable}=..."
        )
    return value


def _allowed(given: str, allowed: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(given, allowed, n=1)
    return (f"did you mean {near[0]}? " if near else "") + "allowed: " + ", ".join(allowed)
