"""Compiled specs, kept for the jobs of a run: compiled once, and again when a file that they came from has changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cortexdsl.plan import Plan

_opened: list[set[str]] = []


@dataclass(frozen=True, slots=True)
class _Kept:
    plan: Plan
    files: dict[str, tuple[int, ...]]


class Plans:
    """Compiles specs, and remembers them.

    Parameters
    ----------
    compiled : callable of (spec, experiment)
        Compiles one.
    """

    def __init__(self, compiled: Callable[[str, str | None], Plan]) -> None:
        self._compiled = compiled
        self._kept: dict[tuple[str, str, str | None], _Kept] = {}

    def __call__(self, asked: str, experiment: str | None) -> Plan:
        """Return the plan of a spec, as its files are now.

        Raises
        ------
        SpecError, DataError
            As compiling it does; a spec that cannot be compiled is not remembered.
        """
        where = (os.getcwd(), asked, experiment)  # noqa: PTH109 (as clients say it)
        kept = self._kept.get(where)
        if kept is None or any(_state(file) != state for file, state in kept.files.items()):
            opened: set[str] = set()
            _listen()
            _opened.append(opened)
            try:
                plan = self._compiled(asked, experiment)
            finally:
                _opened.remove(opened)
            prompts = {str(part) for folder in plan.templates.folders for part in (folder, *folder.rglob("*"))}
            kept = self._kept[where] = _Kept(plan, {file: _state(file) for file in opened | prompts})
        return kept.plan


def _state(file: str) -> tuple[int, ...]:
    try:
        found = Path(file).stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


@cache
def _listen() -> None:
    """Have Python say which files it opens: no list of what a spec is read from could be as complete."""
    sys.addaudithook(_heard)


def _heard(event: str, what: tuple[Any, ...]) -> None:
    if _opened and event == "open" and isinstance(what[0], str):
        for opened in _opened:
            opened.add(what[0])
