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
        raise InputError(f"engine {name}: there is no program {program!r}\n    install it, or correct `command`")
    return program
