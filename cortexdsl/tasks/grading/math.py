r"""Mathematical answers: the quick rules here, math-verify in worker processes with a time-out."""

from __future__ import annotations

import atexit
import json
import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from cortexdsl.errors import CortexError
from cortexdsl.tasks.grading import hendrycks
from cortexdsl.tasks.reading.expression import canonical_expression
from cortexdsl.tasks.reading.number import canonical_number

WORKERS = min(2, os.cpu_count() or 1)
# One comparison may take so long; the first one of a worker also waits for sympy to be imported.
SECONDS = 12.0
_START_SECONDS = 120.0
_LONGEST = 1_000
COMMAND = [sys.executable, "-m", "cortexdsl.tasks.grading.math_worker"]


def equivalent(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether each answer is mathematically its gold.

    Parameters
    ----------
    pairs : sequence of (gold, answer)
        The gold stands first: the comparison is not symmetric.

    Returns
    -------
    list of bool
        Equal after Hendrycks's clean-up, or equal to math-verify under our guards. Two plain numbers are compared
        exactly. A comparison that takes longer than `SECONDS` is False, and its worker is ended.
    """
    decided: dict[tuple[str, str], bool | None] = {pair: _quickly(*pair) for pair in pairs}
    open_pairs = [pair for pair, known in decided.items() if known is None]
    if open_pairs:
        decided.update(zip(open_pairs, _pool().verify_all(open_pairs), strict=True))
    return [bool(decided[pair]) for pair in pairs]


@lru_cache(maxsize=65_536)
def _quickly(gold: str, answer: str) -> bool | None:
    """Decide without math-verify where that is certain, else None."""
    left, right = canonical_expression(gold), canonical_expression(answer)
    if left == right or hendrycks.equivalent(answer, gold):
        return True
    if len(answer) > _LONGEST or not right:
        return False
    plain = canonical_number(left) == left and canonical_number(right) == right
    return False if plain else None


class _Worker:
    """One process; used by one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def verify(self, gold: str, answer: str) -> bool:
        """Ask the process; end it and say False if it does not answer in time or dies."""
        fresh = self._process is None or self._process.poll() is not None
        if fresh:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([gold, answer]).encode() + b"\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], _START_SECONDS if fresh else SECONDS)
            line = process.stdout.readline() if ready else b""
        except OSError:
            line = b""
        if not line:
            self.end()
            return False
        return bool(json.loads(line))

    def end(self) -> None:
        """End the process and free its pipes."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> None:
        self.end()
        try:
            self._process = subprocess.Popen(
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise CortexError(f"grading mathematics: no process could be started ({error})") from error


class _Pool:
    """Worker processes that are started when needed and kept; they end with this process."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for _ in range(size):
            self._idle.put(_Worker())

    def verify_all(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Answer many pairs, in their order."""
        if len(pairs) == 1:
            return [self._verify(pairs[0])]
        with ThreadPoolExecutor(self._size) as threads:
            return list(threads.map(self._verify, pairs))

    def _verify(self, pair: tuple[str, str]) -> bool:
        worker = self._idle.get()
        try:
            return worker.verify(*pair)
        finally:
            self._idle.put(worker)

    def end(self) -> None:
        """End all workers."""
        for _ in range(self._size):
            worker = self._idle.get()
            worker.end()
            self._idle.put(worker)


_lock = threading.Lock()
_pools: list[_Pool] = []


def _pool() -> _Pool:
    with _lock:
        if not _pools:
            _pools.append(_Pool(WORKERS))
            atexit.register(_pools[0].end)
        return _pools[0]
