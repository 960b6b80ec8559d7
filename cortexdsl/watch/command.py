"""How to go on: the command that started the run, and the folder of the workflow that it runs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path

_VARIABLE = "CORTEXDSL_COMMAND"


def workflow_folder() -> Path:
    """Return the folder of the Snakefile: around the package in a checkout, inside it when installed."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "workflow"
    return inside if inside.is_dir() else package.parent


def remember(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> None:
    """Keep what the user typed, for the Snakemake that this process becomes."""
    environment[_VARIABLE] = shlex.join(["cortexdsl", *arguments])


def to_go_on(environment: MutableMapping[str, str] = os.environ) -> str:
    """Return the command that goes on with this run: what the user typed."""
    return environment.get(_VARIABLE) or shlex.join(["snakemake", *sys.argv[1:]])
