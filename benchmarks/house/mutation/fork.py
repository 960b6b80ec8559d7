"""pytest in a fork of a process that has imported the libraries already: most of a small run is imports."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

LIBRARIES = ("numpy", "pandas", "scipy.stats", "scipy.optimize", "statsmodels.stats.proportion",
             "statsmodels.stats.meta_analysis", "statsmodels.stats.multitest", "jsonschema", "yaml", "networkx",
             "jinja2", "asyncio", "hypothesis.strategies", "importlib.metadata")  # fmt: skip
OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")
WALL = 900.0
"""Seconds by the clock after which a run is given up, on however busy a machine."""


def warm(folder: Path) -> None:
    """Import what tests need and mutants do not change. The program itself is imported anew in each fork."""
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    for name in LIBRARIES:
        importlib.import_module(name)
    if any(name.partition(".")[0] == "cortexdsl" for name in sys.modules):
        raise RuntimeError("the program is imported already, so that no fork would see its mutant")


def run(folder: Path, tests: Sequence[str], seconds: float, *plugins: object, keep: bool = False) -> int | None:
    """Run tests in a fork: pytest's exit status, or None where they took more seconds of the processor than these.

    `keep` lets compiled files be written, which is for the program as it is and never for a mutant.
    """
    task = multiprocessing.get_context("fork").Process(target=_pytest, args=(folder, tests, seconds, plugins, keep))
    task.start()
    task.join(max(WALL, 2 * seconds))
    if task.is_alive():
        task.kill()
        task.join()
    status = task.exitcode
    return status if status is not None and status >= 0 else None


def _pytest(folder: Path, tests: Sequence[str], seconds: float, plugins: Sequence[object], keep: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
    sys.dont_write_bytecode = not keep
    os.chdir(folder)
    with (folder / "pytest.log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        os._exit(int(pytest.main([*OPTIONS, *([] if keep else ["-x"]), *tests], list(plugins))))
