"""The `knowledge:` entries of a spec, checked and opened as sources; web search APIs of Serper's shape."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cortexdsl.core import Floats, KnowledgeSource
from cortexdsl.errors import InputError, KnowledgeError
from cortexdsl.tasks.retrieval.corpus import Passage, Source, read_corpus
from cortexdsl.tasks.retrieval.local import Bm25, Faiss, open_dense

if TYPE_CHECKING:
    import aiohttp

SERPER: Final = "https://google.serper.dev/search"
PAGE: Final = 10
"""Results of one page, asked for even where fewer are kept: it costs the same, and MADKE asks for ten."""
ATTEMPTS: Final = 5
LONGEST_WAIT: Final = 60.0
_EXCERPT: Final = 200

_REMEDIES: Final = {
    400: "see the message: the query was refused, or the credit is spent",
    401: "the key is wrong: correct the value of {variable}",
    402: "the credit is spent: add some, then run again (what was found is kept)",
    403: "the key may not search: correct the value of {variable}, or see what the account allows",
    404: "correct `api_base`: it is the whole address of the search, such as " + SERPER,
    429: "too many searches, or the credit is spent: run again later (what was found is kept)",
}
_UNAVAILABLE: Final = "see that the service runs and answers at this address, then run again (what was found is kept)"


@dataclass(frozen=True)
class Search:
    """Titles and descriptions of a search engine's organic results; nothing else of a results page is read.

    Attributes
    ----------
    session : aiohttp.ClientSession
        Shared by all searches, closed by `open_sources`.
    key, variable : str
        The key, and the environment variable it came from (which errors name; the key they never show).
    address : str
        Where `{"q": question, "num": n}` is posted.
    shown : str
        The address as the spec writes it: it is part of the identity, so that no log depends on a port.
    sleep : async function of seconds
        Waits between attempts; injected by tests.
    """

    name: str
    session: aiohttp.ClientSession = field(repr=False)
    key: str = field(repr=False)
    variable: str
    address: str = SERPER
    shown: str = SERPER
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)

    def __post_init__(self) -> None:
        if not self.key or not all("!" <= sign <= "~" for sign in self.key):
            raise InputError(
                f"knowledge {self.name}: {self.variable} holds no usable key (empty, or with spaces or other signs)\n"
                f"    set it to the key alone: export {self.variable}=..."
            )
        if not self.address.startswith(("http://", "https://")):
            raise InputError(f"knowledge {self.name}: {self.shown} is not an address\n    {_REMEDIES[404]}")

    @property
    def identity(self) -> str:
        """Retriever and address."""
        return f"search {self.shown}"

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return the first `top` organic results that have a description.

        Too many requests (429), failures of the server (5xx) and of the connection are tried again, five times
        in all, after waits that double from one second or are what the server asks for, a minute at most.

        Raises
        ------
        KnowledgeError
            If the server refuses, keeps failing, or answers with something else.
        """
        wait = 1.0
        for attempt in range(1, ATTEMPTS + 1):
            status, body, asked = await self._post({"q": question, "num": max(top, PAGE)})
            if status == 200:
                return self._passages(body, top)
            if attempt == ATTEMPTS or not (status in (0, 408, 429) or status >= 500):
                break
            await self.sleep(min(LONGEST_WAIT, max(wait, asked)))
            wait *= 2
        times = f" ({attempt} times)" if attempt > 1 else ""
        what = f"HTTP {status}{times}: {body}" if status else f"no connection{times}: {body}"
        raise self._error(what, _REMEDIES.get(404 if status // 100 == 3 else status, _UNAVAILABLE))

    async def _post(self, query: dict[str, Any]) -> tuple[int, str, float]:
        """Return status (0: none came), body or what went wrong, and the seconds the server asks to wait."""
        import aiohttp

        try:
            # A redirect would carry the key to another address.
            sent = self.session.post(self.address, json=query, headers={"X-API-KEY": self.key}, allow_redirects=False)
            async with sent as reply:
                body = (await reply.read()).decode("utf-8", errors="replace")
                return reply.status, body, _seconds(reply.headers.get("Retry-After", ""))
        except TimeoutError:
            return 0, "timeout", 0.0
        except aiohttp.ClientError as error:
            return 0, str(error) or type(error).__name__, 0.0

    def _passages(self, body: str, top: int) -> tuple[Passage, ...]:
        try:
            results = json.loads(body)["organic"]
            found = [(str(r.get("link", "")), r.get("title") or "", r.get("snippet") or "") for r in results]
        except (ValueError, KeyError, TypeError, AttributeError):
            found = None
        if found is None or not all(isinstance(said, str) for result in found for said in result):
            raise self._error(f"no search results: {body or 'an empty body'}", "name a service of Serper's shape")
        return tuple(Passage(link, title, text, self.name) for link, title, text in found if text.strip())[:top]

    def _error(self, what: str, remedy: str) -> KnowledgeError:
        short = " ".join(what.replace(self.key, "[key]").split())[:_EXCERPT]
        return KnowledgeError(
            f"knowledge {self.name} ({self.shown}): {short}\n    {remedy.format(variable=self.variable)}"
        )


def _seconds(asked: str) -> float:
    return float(asked) if asked.isdecimal() else 0.0


EmbedBy: TypeAlias = Callable[[str, Sequence[str]], Awaitable[Floats]]
"""Embeds n texts under a named embedding as an (n, d) array."""

_SECONDS: Final = 30


@asynccontextmanager
async def open_sources(
    knowledge: Mapping[str, KnowledgeSource],
    base: Path,
    embed: EmbedBy,
    environment: Mapping[str, str] = os.environ,
) -> AsyncIterator[tuple[tuple[Source, int], ...]]:
    """Open sources of a spec: yields (source, top) in their order.

    Parameters
    ----------
    knowledge : mapping of name to KnowledgeSource
    base : Path
        The folder that relative paths begin in.
    embed : EmbedBy
        Called for dense sources alone.
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
        opened = [
            (await _open(name, source, base, session, embed, environment), source.top)
            for name, source in knowledge.items()
        ]
        yield tuple(opened)


async def _open(
    name: str,
    source: KnowledgeSource,
    base: Path,
    session: aiohttp.ClientSession,
    embed: EmbedBy,
    environment: Mapping[str, str],
) -> Source:
    if source.retriever == "search":
        variable, shown = source.api_key_env or "SERPER_API_KEY", source.api_base or SERPER
        key, address = _variable(name, variable, "key", environment), shown
        if address.startswith("env:"):
            address = _variable(name, address.removeprefix("env:").strip(), "address", environment)
        return Search(name, session, key, variable, address, shown)
    corpus, index = (base / Path(path).expanduser() if path else None for path in (source.corpus, source.index))
    embedding = source.embedding or "ngram"
    if index is not None:
        return Faiss(name, index, corpus or index, embedding, partial(embed, embedding))
    assert corpus is not None  # the grammar: a corpus or an index
    passages = await asyncio.to_thread(read_corpus, corpus)
    if source.retriever == "bm25":
        return Bm25(name, passages)
    return await open_dense(name, passages, embedding, partial(embed, embedding))


def _variable(name: str, variable: str, what: str, environment: Mapping[str, str]) -> str:
    value = environment.get(variable, "").strip()
    if not value:
        raise InputError(
            f"knowledge.{name}: its {what} is in the environment variable {variable}, which is not set\n"
            f"    set it: export {variable}=..."
        )
    return value
