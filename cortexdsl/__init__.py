"""cortexdsl: multi-agent debate experiments written as YAML, run by Snakemake, judged by significance tests.

>>> import cortexdsl as cx
>>> run = cx.open("results/quickstart")  # doctest: +SKIP
>>> run.scores, run.debates, run.compare("sparse", to="full")  # doctest: +SKIP

Use `open` and what it returns (`help(cortexdsl.results)`). The other modules are internal: they change without notice.
Everything else is done by the command `cortexdsl` (`cortexdsl --help`).
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for that of typing, whose import is a third of the start of a job
if TYPE_CHECKING:
    from pathlib import Path

    from cortexdsl.results import Results

__version__ = "0.2.0"
__all__ = ["open"]


def open(folder: str | Path) -> Results:
    """Open the results of an experiment (`results/<experiment>`) as data frames: see `cortexdsl.results.Results`.

    Nothing heavy is imported before this is called.
    """
    opened: Results = import_module("cortexdsl.results").Results(folder)
    return opened
