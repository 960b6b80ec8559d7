"""What programs do, each found out once: the runs of an experiment, from its log or from the sandbox."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

from cortexdsl.tasks.programs import sandbox
from cortexdsl.tasks.reading.code import ProgramFrame

RUN_VERSION = 1
"""Increase this if the same program and tests may give another outcome."""
Outcome: TypeAlias = Mapping[str, Any]
_MACHINE = f"Python {platform.python_version()}, {platform.machine()}"
"""A run elsewhere on another machine is another run, so that the outcomes of machines are compared, too."""


def key_of(job: Mapping[str, Any]) -> str:
    """Return what identifies a run: the program, its tests or examples, and the version of the sandbox."""
    content = json.dumps([RUN_VERSION, job], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


class ProgramRuns:
    """Runs programs, each once.

    Parameters
    ----------
    logged : iterable of (str, Outcome)
        Runs of earlier jobs, by their keys.
    log : callable or None
        Stores a run: its key, what was run, the outcome.
    permit : callable
        Called before a program is run; it raises an error if the user has not permitted this.
    threads : int
        How many programs run at once; 0: two, if there are two processors.
    """

    def __init__(
        self,
        logged: Iterable[tuple[str, Outcome]] = (),
        log: Callable[[str, Mapping[str, Any], Outcome], None] | None = None,
        permit: Callable[[], None] = lambda: None,
        threads: int = 0,
    ) -> None:
        self._outcomes = dict(logged)
        self._log, self._permit = log, permit
        self._threads = threads or min(2, len(os.sched_getaffinity(0)))
        self._at_once = threading.BoundedSemaphore(self._threads)
        self._writing = threading.Lock()

    def failure(self, program: str, frame: ProgramFrame) -> str:
        """Return why a program fails on an example input; empty if it does not."""
        return str(self._behaviour(program, frame).get("failed", ""))

    def is_same(self, program: str, other: str, frame: ProgramFrame) -> bool:
        """Return whether two programs give the same for all example inputs."""
        first, second = (self._behaviour(each, frame).get("outputs") for each in (program, other))
        return first is not None and first == second

    def passes(self, cases: Sequence[tuple[str, str]]) -> list[bool]:
        """Return whether each program passes its tests, of pairs (program, tests)."""
        jobs = [{"program": program, "tests": tests} for program, tests in cases]
        if len(jobs) == 1:
            return [self._run(jobs[0]).get("passed", False)]
        distinct = {key_of(job): job for job in jobs}
        with ThreadPoolExecutor(self._threads) as threads:
            found = dict(zip(distinct, threads.map(self._run, distinct.values()), strict=True))
        return [found[key_of(job)].get("passed", False) for job in jobs]

    def faults(self, solutions: Sequence[tuple[str, str, ProgramFrame]]) -> list[str]:
        """Return why each solution does not hold on this machine; empty if it does.

        Parameters
        ----------
        solutions : sequence of (program, tests, frame)
            A solution holds if it passes its tests, fails on no example input, and does the same elsewhere: in another
            folder, time zone and locale, and with other hashes.
        """
        with ThreadPoolExecutor(self._threads) as threads:
            return list(threads.map(self._fault, solutions))

    def _fault(self, solution: tuple[str, str, ProgramFrame]) -> str:
        program, tests, frame = solution
        job = {"program": program, "tests": tests}
        for each in (job, {"program": program, "examples": list(frame.examples)}) if frame.examples else (job,):
            here = self._run(each)
            if "failed" in here:
                return f"the solution {'fails its tests: ' if each is job else ''}{here['failed']}"
            if here != self._run({**each, sandbox.ELSEWHERE: _MACHINE}):
                what = "its tests" if each is job else "the example inputs"
                return f"the outcome of {what} depends on hashes, time zone, locale, folder, time or chance"
        return ""

    def _behaviour(self, program: str, frame: ProgramFrame) -> Outcome:
        if not frame.examples:
            return {}
        return self._run({"program": program, "examples": list(frame.examples)})

    def _run(self, job: Mapping[str, Any]) -> Outcome:
        key = key_of(job)
        if key not in self._outcomes:
            with self._at_once:
                if key in self._outcomes:  # another thread has run it meanwhile
                    return self._outcomes[key]
                self._permit()
                sandbox.check()
                outcome = sandbox.run(job)
            with self._writing:
                if self._log is not None:
                    self._log(key, job, outcome)
                self._outcomes[key] = outcome
        return self._outcomes[key]
