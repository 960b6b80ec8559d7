"""The import path of the processes that a run starts: never the folder that it runs in.

`python -m` puts the current folder first on the import path. In a folder from somebody else, a `yaml.py` there would be
imported in the place of the library. So every process of ours starts with `-P`, and the variable does the same for what
Snakemake starts.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of typing takes some milliseconds of the start of each job
if TYPE_CHECKING:
    from collections.abc import MutableMapping

SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that has Python leave the current folder, or that of a script, off its import path."""

CHECKOUT = "CORTEXDSL_CHECKOUT"
"""The variable with the folder that environments of conda install this package from, if it is a checkout."""


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this Python, without the current folder on its import path."""
    return [sys.executable, "-P", "-m", module, *arguments]


def isolated_python() -> list[str]:
    """Return the command that runs a script with this Python, without the current folder and installed packages."""
    return [os.path.realpath(sys.executable), "-P", "-s", "-S"]


def protect_children(environment: MutableMapping[str, str] = os.environ) -> None:
    """Have every Python that this process starts leave the current folder off its import path.

    Also name the folder that this package is in, because `environment.post-deploy.sh` runs in the folder of the run and
    must not install a package from there.
    """
    environment[SAFE_PATH] = "1"
    environment[CHECKOUT] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib takes 10 ms to import)
