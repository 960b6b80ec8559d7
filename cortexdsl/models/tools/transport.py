"""The way to tools, beside the ways to models: a tool's replies are logged, keyed and replayed as theirs are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.models.tools.calculator import calculate
from cortexdsl.models.tools.requests import requests
from cortexdsl.models.transports.transport import Raw
from cortexdsl.terms import AS_WRITTEN, Call

TOOL = "tool"
CALCULATOR, SEARCH, PYTHON = f"{TOOL}/calculator", f"{TOOL}/search", f"{TOOL}/python"
WORD = "Search"

Searching: TypeAlias = Callable[[str, int], Awaitable[str]]
"""From a query and how many passages are wanted to what was found, as text."""
Calling: TypeAlias = Callable[[str], Awaitable[str]]


class ToolTransport:
    """Answers calls to `tool/...`.

    Parameters
    ----------
    searches : mapping of source to Searching
    functions : mapping of `package.module:function` to Calling
        Those that are trusted.
    close : callable
        Ends what they have started.
    """

    def __init__(
        self, searches: Mapping[str, Searching], functions: Mapping[str, Calling], close: Callable[[], Awaitable[None]]
    ) -> None:
        self._searches, self._functions, self._close = searches, functions, close

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once: the tool is given the last message. No token is counted, since no model has read any."""
        text, options = call.messages[-1]["content"], call.model.options
        if call.model == AS_WRITTEN:
            said = text
        elif call.model.model == CALCULATOR:
            said = calculate(text)
        elif call.model.model == SEARCH:
            said = await self._search(text, str(options["source"]), int(options["top"]))
        elif call.model.model == PYTHON:
            said = await self._functions[str(options["function"])](text)
        else:
            raise Failure(Kind.NOT_FOUND, f"there is no tool {call.model.model!r}")
        return Raw(said, "stop", 0, 0)

    async def _search(self, text: str, source: str, top: int) -> str:
        found = [f"{WORD}: {query}\n{await self._searches[source](query, top)}" for query in requests(text, WORD)]
        return "\n\n".join(found) or "(nothing to search for)"

    async def close(self) -> None:
        """End what was started."""
        await self._close()
