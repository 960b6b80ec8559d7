"""The tools of a cell, opened for a job."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from cortexdsl.core import AS_WRITTEN, Cell, Model
from cortexdsl.errors import KnowledgeError
from cortexdsl.models.client import Client
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.tool import (
    CALCULATOR,
    PROGRAM,
    PYTHON,
    SEARCH,
    TOOL,
    Function,
    ToolTransport,
    identity_of,
)
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.models import tool_sources, tools_of
from cortexdsl.tasks.programs import sandbox
from cortexdsl.tasks.programs.runs import RUN_VERSION
from cortexdsl.tasks.retrieval.corpus import Source

CALCULATED_AS = "calculator 1"
"""Increase this if the same text gives another result."""


@asynccontextmanager
async def open_tools(
    plan: Plan, cell: Cell, client: Client, embedder: Embedder, *, offline: bool = False
) -> AsyncIterator[Mapping[str, str]]:
    """Open the tools of a cell for a job, and yield by name what the replies of each depend on.

    Parameters
    ----------
    plan : Plan
    cell : Cell
        Its functions must be permitted (`plan.jobs.consent`).
    client : Client
        Of the job; it then answers calls to tools.
    embedder : Embedder
        For sources with embeddings.
    offline : bool
        Whether no call will be sent.

    Raises
    ------
    InputError
        A source or a module is missing.
    """
    tools, folder = tools_of(cell.debate), Path(plan.spec_path).parent
    if not tools:
        yield {}
        return
    from cortexdsl.tasks.retrieval.sources import open_sources  # imports aiohttp

    knowledge = {name: plan.knowledge[name] for name in tool_sources(cell.debate)}
    functions = {} if offline else {
        str(tool.options["function"]): Function(str(tool.options["function"]), float(tool.options["seconds"]))
        for tool in tools.values() if tool.model == PYTHON
    }  # fmt: skip

    async def close() -> None:
        for function in functions.values():
            await function.close()

    async with open_sources(knowledge, folder, embedder.embed) as opened:
        sources = {source.name: source for source, _ in opened}
        searches = {name: partial(_search, source) for name, source in sources.items()}
        transport = ToolTransport(searches, functions, close, run_program)
        client.use_transport(TOOL, transport)
        try:
            yield {name: _identity(tool, sources) for name, tool in tools.items()}
        finally:
            await transport.close()


def _identity(tool: Model, sources: Mapping[str, Source]) -> str:
    if tool.model == CALCULATOR:
        return CALCULATED_AS
    if tool == AS_WRITTEN:
        return ""  # a reply is its prompt
    if tool.model == PROGRAM:
        return f"program {RUN_VERSION}"
    return (
        sources[str(tool.options["source"])].identity
        if tool.model == SEARCH
        else identity_of(str(tool.options["function"]))
    )


_PROGRAMS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def run_program(program: str) -> str:
    """Run a program in the sandbox; as many at once as there are processors, two at most."""
    at_once = asyncio.Semaphore(min(2, len(os.sched_getaffinity(0))))
    async with _PROGRAMS.setdefault(asyncio.get_running_loop(), at_once):
        return await asyncio.to_thread(sandbox.output_of, program)


async def _search(source: Source, query: str, top: int) -> str:
    """Return passages as numbered text; an error of the source is a failure of the tool."""
    try:
        passages = await source.retrieve(query, top)
    except KnowledgeError as error:
        raise Failure(FailureKind.TOOL, str(error)) from None
    lines = [f"{k}. {passage.title}: {passage.text}" if passage.title else f"{k}. {passage.text}"
             for k, passage in enumerate(passages, 1)]  # fmt: skip
    return "\n".join(lines) or "(nothing found)"
