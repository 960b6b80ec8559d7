"""Problems by their places: each place told once, in the order of files and lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from cortexdsl.errors import Problem

_POSITION = re.compile(r"(.*):(\d+):(\d+)")


def add_new(problems: list[Problem], more: Iterable[Problem]) -> None:
    """Add what a later stage finds, but for places at which something was wrong before: that only follows from it."""
    told = {problem.where for problem in problems}
    problems += [problem for problem in dict.fromkeys(more) if problem.where not in told]


def by_place(problems: Iterable[Problem], own: Iterable[Path]) -> tuple[Problem, ...]:
    """Sort problems by file (a spec's own files first) and place."""
    files = [str(path) for path in own]

    def place(problem: Problem) -> tuple[int, str, int, int]:
        file, line, column = problem.where, 0, 0
        if found := _POSITION.fullmatch(problem.where):
            file, line, column = found[1], int(found[2]), int(found[3])
        return files.index(file) if file in files else len(files), file, line, column

    return tuple(sorted(dict.fromkeys(problems), key=place))
