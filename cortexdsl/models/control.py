"""Changes made while an experiment runs: whether it is paused, and limits that replace those of its spec.

`spent/.control` is a small file that `cortexdsl pause`, `resume` and `limit` replace, and that each process of the run
looks at about once a second. The ledger says who changed what and when; this file holds what is in force.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cortexdsl.core import EMPTY, Limits
from cortexdsl.errors import RecordError
from cortexdsl.files import write_file
from cortexdsl.typed_json import Codec

CONTROL_FILE = ".control"
SCHEMA_VERSION = 2
LOOK_EVERY = 1.0
SPENDING = ("calls", "tokens", "dollars", "seconds")
"""The limits that can be changed while a run goes on."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when (UTC), by whom, and why an experiment is paused."""

    at: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Controls:
    """The changes that are in force.

    Attributes
    ----------
    paused : Pause or None
    limits : mapping of a word of SPENDING to number
        They replace those of the spec.
    schema_version : int
        Of the file.
    """

    paused: Pause | None = None
    limits: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    schema_version: int = SCHEMA_VERSION

    def applied(self, limits: Limits) -> Limits:
        """Return the limits of a job as they are now."""
        return replace(limits, **self.limits) if self.limits else limits


_CODEC = Codec(always=("Controls.schema_version",))


def read_controls(folder: Path) -> Controls:
    """Return what is in force for the experiment with this `spent/`; nothing without a file.

    Raises
    ------
    RecordError
        The file cannot be read, or is of a later version.
    """
    path = folder / CONTROL_FILE
    try:
        record = json.loads(path.read_bytes())
        if record["schema_version"] == 1:  # with who changed what, and the connections
            record["limits"] = {word: one["value"] for word, one in record["limits"].items() if word in SPENDING}
        controls = _CODEC.read(Controls, record)
    except FileNotFoundError:
        return Controls()
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise RecordError(
            f"{path}: what was paused and limited cannot be read ({error})\n"
            "    delete it, and write the limits again: cortexdsl limit NAME ..."
        ) from None
    if controls.schema_version > SCHEMA_VERSION:
        raise RecordError(f"{path}: written by a later version of cortexdsl\n    update cortexdsl")
    return controls


def write_controls(folder: Path, controls: Controls) -> None:
    """Replace what is in force, atomically; without anything in force the file is removed."""
    path = folder / CONTROL_FILE
    if controls == Controls():
        path.unlink(missing_ok=True)
        return
    write_file(path, (json.dumps(_CODEC.write(controls), indent=1).encode("ascii"), b"\n"), durable=False)


class ControlFile:
    """The changes in force for an experiment, as its running jobs see them: read about once a second.

    Parameters
    ----------
    folder : Path or None
        `spent/` of the experiment; None for a client of its own, which nothing changes.
    clock : callable
        Seconds.
    """

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock = folder, clock
        self._controls = Controls()
        self._state: tuple[int, ...] = ()
        self._looked = -float("inf")

    @property
    def now(self) -> Controls:
        """The changes in force; if the file cannot be read, those that were in force before."""
        if self._folder is None:
            return self._controls
        now = self._clock()
        if 0.0 <= now - self._looked < LOOK_EVERY:  # a clock that was set back looks again
            return self._controls
        self._looked = now
        try:
            found = (self._folder / CONTROL_FILE).stat()
            state: tuple[int, ...] = (found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            state = ()
        if state != self._state:
            try:
                self._controls = read_controls(self._folder)
            except RecordError:  # the verbs and the start of a run say so
                return self._controls
            self._state = state
        return self._controls
