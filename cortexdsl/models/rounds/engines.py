"""The commands of engines."""

from __future__ import annotations

import shlex
import shutil

from cortexdsl.core import Engine
from cortexdsl.errors import InputError


def program_of(name: str, engine: Engine) -> str:
    """Return the program of an engine's command.

    Raises
    ------
    InputError
        It is not on this machine.
    """
    program = shlex.split(engine.command)[0]
    if shutil.which(program) is None:
        inside = ", or add -- --software-deployment-method apptainer" if engine.container is not None else ""
        remedy = f"install it, or correct `command`{inside}"
        raise InputError(f"engine {name}: there is no program {program!r}\n    {remedy}")
    return program
