"""The transport `tool`: a calculator, a search, a Python function, or a program that a model wrote.

Replies of tools are logged, keyed and replayed as those of models. Each Python function runs in a process of its own,
so that a call ends in bounded time.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TypeAlias

from cortexdsl.core import AS_WRITTEN, Call
from cortexdsl.errors import InputError
from cortexdsl.import_path import python_command
from cortexdsl.models.transports.calculator import NoNumberError, value_of, written
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import LARGEST_REPLY, Raw, TokenCounts, TransportType

TOOL = "tool"
CALCULATOR, SEARCH, PYTHON = f"{TOOL}/calculator", f"{TOOL}/search", f"{TOOL}/python"
PROGRAM = f"{TOOL}/program"
CALCULATE_WORD, SEARCH_WORD = "Calculate", "Search"

Searching: TypeAlias = Callable[[str, int], Awaitable[str]]
"""A search: takes a query and the number of passages, and returns the passages as text."""
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
    run_program : Calling
        Runs a program in the sandbox, and returns what it prints.
    """

    def __init__(
        self,
        searches: Mapping[str, Searching],
        functions: Mapping[str, Calling],
        close: Callable[[], Awaitable[None]],
        run_program: Calling,
    ) -> None:
        self._searches, self._functions, self._close, self._run_program = searches, functions, close, run_program

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once: the tool is given the last message. No token is counted, since no model has read any."""
        text, options = call.messages[-1]["content"], call.model.options
        if call.model == AS_WRITTEN:
            reply = text
        elif call.model.model == CALCULATOR:
            reply = calculate(text)
        elif call.model.model == SEARCH:
            reply = await self._search(text, str(options["source"]), int(options["top"]))
        elif call.model.model == PYTHON:
            reply = await self._functions[str(options["function"])](text)
        elif call.model.model == PROGRAM:
            reply = await self._run_program(program_in(text))
        else:
            raise Failure(FailureKind.NOT_FOUND, f"there is no tool {call.model.model!r}")
        return Raw(reply, "stop", TokenCounts(0, 0))

    async def _search(self, text: str, source: str, top: int) -> str:
        found = [
            f"{SEARCH_WORD}: {query}\n{await self._searches[source](query, top)}"
            for query in requests(text, SEARCH_WORD)
        ]
        return "\n\n".join(found) or "(nothing to search for)"

    async def close(self) -> None:
        """End the processes of its functions."""
        await self._close()


_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```[^\S\n]*$", re.MULTILINE | re.DOTALL)


def program_in(text: str) -> str:
    """Return the program in a text: its last fenced block, or all of it if there is none."""
    return next(reversed(_FENCED.findall(text)), text)


TRANSPORT = TransportType(prefix=TOOL, is_tool=True)


def calculate(text: str) -> str:
    """Answer the lines `Calculate: EXPRESSION` of a text, or the whole text if there are none, one line each.

    If a result cannot be calculated, the reason replaces it: text without arithmetic is not a failure.
    """
    return "\n".join(_line(request) for request in requests(text, CALCULATE_WORD)) or "(nothing to calculate)"


def _line(request: str) -> str:
    try:
        return f"{request} = {written(value_of(request))}"
    except NoNumberError as error:
        return f"{request}: {error}"


MOST_REQUESTS = 20
"""Requests that are taken from one text."""
LONGEST_REQUEST = 2_000
"""Characters of a request."""


def requests(text: str, word: str) -> list[str]:
    """Return the requests of a text.

    Parameters
    ----------
    text : str
    word : str
        What a line begins with that asks for something (`Search: who wrote Emma?`), in any case, perhaps in bold or
        in a list.

    Returns
    -------
    list of str
        The text after the word, line by line, without repetitions; the whole text in one line if no line has the word.
        At most `MOST`, each of at most `LONGEST` characters.
    """
    line = re.compile(rf"^[ \t>*_\-\d.)]*{re.escape(word)}[*_]*[ \t]*:[*_]*[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
    found = [match[1].strip(" \t*_`") for match in line.finditer(text)] or [" ".join(text.split())]
    return [request[:LONGEST_REQUEST] for request in dict.fromkeys(found) if request][:MOST_REQUESTS]


CALL_SECONDS = 10.0
"""Seconds that a call may take if the spec does not say."""
START_SECONDS = 60.0
"""Seconds that the process may take to import the function's module."""


class Function:
    """A function from text to text, ready to be called.

    Parameters
    ----------
    name : str
        `package.module:function`.
    seconds : float
        That a call may take; then the process is ended, and the next call has another.
    """

    def __init__(self, name: str, seconds: float = CALL_SECONDS) -> None:
        self.name, self.seconds = name, seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def __call__(self, text: str) -> str:
        """Call it.

        Raises
        ------
        Failure
            Of kind TOOL: it raised, took too long, died, or returned something else than a text with words in it.
        InputError
            It cannot be imported.
        """
        async with self._turn:
            if self._process is None or self._process.returncode is not None:
                self._process = await self._started()
            try:
                response = await asyncio.wait_for(self._exchange(self._process, {"text": text}), self.seconds)
            except TimeoutError:
                await self.close()
                raise Failure(FailureKind.TOOL, f"{self.name} took longer than {self.seconds:g} s") from None
            except BaseException:  # cancelled within an answer: what comes next is not the next one
                await self.close()
                raise
        if "text" not in response:
            raise Failure(FailureKind.TOOL, f"{self.name}: {response.get('error', 'no answer')}")
        if not response["text"].strip():
            raise Failure(FailureKind.TOOL, f"{self.name} returned an empty text")
        return response["text"]

    async def _started(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *python_command("cortexdsl.models.transports.function_worker", self.name),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=8 * LARGEST_REPLY,
        )  # fmt: skip
        self._process = process
        try:
            response = await asyncio.wait_for(self._exchange(process), START_SECONDS)
        except BaseException as error:
            await self.close()
            if not isinstance(error, TimeoutError | Failure):
                raise
            raise InputError(f"{self.name}: its module was not imported in {START_SECONDS:g} s") from None
        if "error" in response:
            await self.close()
            raise InputError(
                f"{self.name} cannot be called: {response['error']}\n    correct `function`, or the module"
            )
        return process

    async def _exchange(
        self, process: asyncio.subprocess.Process, sent: dict[str, str] | None = None
    ) -> dict[str, str]:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if sent is not None:
                process.stdin.write(json.dumps(sent).encode() + b"\n")
                await process.stdin.drain()
            line = await process.stdout.readline()
        except (ConnectionError, ValueError):  # it has died, or writes without an end
            line = b""
        if not line.endswith(b"\n"):
            await self.close()
            raise Failure(FailureKind.TOOL, f"{self.name}: its process ended, or wrote too much")
        return dict(json.loads(line))

    async def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._process = None


def source_of(name: str) -> Path:
    """Return the file of a function's module, without running any of it.

    Raises
    ------
    InputError
        There is no such module in the folder of the run or among the installed packages, or it is not a Python file.
    """
    module, places = name.partition(":")[0], [str(Path.cwd()), *sys.path]
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        found = PathFinder.find_spec(".".join(parts[:depth]), places)
        if found is None:
            break
        if depth == len(parts) and found.origin and Path(found.origin).is_file():
            return Path(found.origin)
        places = list(found.submodule_search_locations or ())
    raise InputError(
        f"function {name}: there is no module {module} in {Path.cwd()} or among the installed packages\n"
        "    run from the folder that it lies in, or install its package"
    )


def identity_of(name: str) -> str:
    """Return what identifies a function's replies: its name and its module's text. Imports are not followed."""
    return f"{name} {hashlib.sha256(source_of(name).read_bytes()).hexdigest()[:16]}"
