"""Which test calls which function: a mutant is run against the tests that call its function, quickest first."""

from __future__ import annotations

import ast
import json
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

Function = tuple[str, int]
"""A file, and the line on which a function begins; line 0 is the module itself."""


class Watcher:
    """A plugin of pytest that notes for each test how long it takes and which functions of `folder` it calls."""

    def __init__(self, folder: Path, notes: Path) -> None:
        self.folder, self.notes = str(folder / "cortexdsl") + "/", notes
        self.found: dict[str, tuple[float, list[Function]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch one test, with what it sets up and takes down."""
        called: set[Function] = set()

        def note(frame: FrameType, event: str, argument: object) -> None:
            if event == "call" and (code := frame.f_code).co_filename.startswith(self.folder):
                called.add((code.co_filename.removeprefix(self.folder), code.co_firstlineno))

        started = time.process_time()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            self.found[item.nodeid] = (time.process_time() - started, sorted(called))

    def pytest_sessionfinish(self) -> None:
        """Write the notes: this is another process than the one that reads them."""
        self.notes.write_text(json.dumps(self.found), "utf-8")


@dataclass(frozen=True)
class Reach:
    """The tests of a folder: their seconds, and the functions that each calls."""

    seconds: dict[str, float]
    calls: dict[str, frozenset[Function]]

    @classmethod
    def read(cls, notes: Path) -> Reach:
        """Read what a watcher wrote."""
        found: dict[str, Any] = json.loads(notes.read_text("utf-8"))
        return cls(
            {test: seconds for test, (seconds, _) in found.items()},
            {test: frozenset((str(file), int(line)) for file, line in calls) for test, (_, calls) in found.items()},
        )

    def tests(self, function: Function) -> list[str]:
        """The tests that could notice a change in a function, the quickest first; of a module itself, all of them."""
        file, line = function
        near = [test for test, calls in self.calls.items() if function in calls]
        if not line:
            near = [test for test, calls in self.calls.items() if any(file == other for other, _ in calls)]
            far = sorted(self.seconds.keys() - set(near), key=self.seconds.__getitem__)
            return sorted(near, key=self.seconds.__getitem__) + far
        return sorted(near, key=self.seconds.__getitem__)

    def within(self, function: Function, seconds: float) -> list[str]:
        """As many of those tests, the quickest first, as together take so many seconds; one at least."""
        tests = self.tests(function)
        spent = list(accumulate(self.seconds[test] for test in tests))
        return [test for k, test in enumerate(tests) if not k or spent[k] <= seconds]


def function_at(source: str, file: str, line: int) -> Function:
    """The innermost function whose body holds a line; what decorates it or is its default belongs around it."""
    best = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
            node.body[0].lineno <= line <= (node.end_lineno or node.lineno)
        ):
            best = max(best, min([node.lineno, *(one.lineno for one in node.decorator_list)]))
    return file, best


def annotated(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a file's annotations begin and end: (line, column) each."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0))
        for node in found
        if node is not None
    ]
