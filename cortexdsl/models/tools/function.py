"""A function of one's own package, called in a process of its own: a call ends in bounded time, whatever it does."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.models.transports.transport import LARGEST_REPLY

SECONDS = 10.0
"""That a call may take where the spec does not say."""
START_SECONDS = 60.0
"""That the process may take to import the function's module."""


class Function:
    """A function from text to text, ready to be called.

    Parameters
    ----------
    name : str
        `package.module:function`.
    seconds : float
        That a call may take; then the process is ended, and the next call has another.
    """

    def __init__(self, name: str, seconds: float = SECONDS) -> None:
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
                said = await asyncio.wait_for(self._exchange(self._process, {"text": text}), self.seconds)
            except TimeoutError:
                await self.close()
                raise Failure(Kind.TOOL, f"{self.name} took longer than {self.seconds:g} s") from None
            except BaseException:  # cancelled within an answer: what comes next is not the next one
                await self.close()
                raise
        if "text" not in said:
            raise Failure(Kind.TOOL, f"{self.name}: {said.get('error', 'it said nothing')}")
        if not said["text"].strip():
            raise Failure(Kind.TOOL, f"{self.name} returned an empty text")
        return said["text"]

    async def _started(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "cortexdsl.models.tools.function_worker", self.name,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=8 * LARGEST_REPLY,
        )  # fmt: skip
        self._process = process
        try:
            said = await asyncio.wait_for(self._exchange(process), START_SECONDS)
        except BaseException as error:
            await self.close()
            if not isinstance(error, TimeoutError | Failure):
                raise
            raise InputError(f"{self.name}: its module was not imported in {START_SECONDS:g} s") from None
        if "error" in said:
            await self.close()
            raise InputError(f"{self.name} cannot be called: {said['error']}\n    correct `function`, or the module")
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
            raise Failure(Kind.TOOL, f"{self.name}: its process ended, or said too much")
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
        There is no such module in the folder of the run or among the installed packages, or it is no Python file.
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
    """Return what the replies of a function depend on, as far as a file can tell: its name and its module's text."""
    return f"{name} {hashlib.sha256(source_of(name).read_bytes()).hexdigest()[:16]}"
