"""Parameters of requests that models refuse, learned from the first refusal and shared by all jobs of an experiment.

Only what the program itself chooses is left out or renamed: a seed, and the name of the limit of a reply. An option
that a spec gives and a provider refuses is an error.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cortexdsl.core import Call, Model
from cortexdsl.files import write_file
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.failures import Failure
from cortexdsl.typed_json import parse_json

REFUSALS_FILE = ".refused"


class Refusals:
    """The parameters that each model is known to refuse.

    Jobs share them through one small file that every job may replace. Of two simultaneous writers one may lose a
    parameter; the next job then finds it out itself.

    Parameters
    ----------
    folder : Path or None
        `spent/` of the experiment; None keeps the knowledge within this process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / REFUSALS_FILE
        self._known: dict[str, frozenset[str]] = {}

    def applied(self, call: Call, address: str | None) -> Call:
        """Return a call whose model names the parameters that it is known to refuse."""
        where = _place(call.model, address)
        if where not in self._known:
            self._known[where] = _names(self._read(), where)
        refused = self._known[where] | {*call.model.refused}
        if refused == {*call.model.refused}:
            return call
        return replace(call, model=replace(call.model, refused=tuple(sorted(refused))))

    def learn(self, model: Model, address: str | None, failure: Failure) -> None:
        """Remember the parameter that a request was refused for, if there is one."""
        where = _place(model, address)
        if not failure.refused or failure.refused in self._known.get(where, ()):
            return
        self._known[where] = self._known.get(where, frozenset()) | {failure.refused}
        if self._file is not None:
            stored = self._read()
            record = {**stored, where: sorted(self._known[where] | _names(stored, where))}
            with suppress(OSError):  # on a full disk each job finds them out itself
                write_file(self._file, (json.dumps(record).encode("ascii"),), durable=False)

    def without_seed(self) -> list[str]:
        """Return the models, each with its address, that refuse a seed."""
        stored = self._read()
        return sorted(place for place in stored if "seed" in _names(stored, place))

    def _read(self) -> dict[str, Any]:
        try:
            content = parse_json(self._file.read_bytes()) if self._file is not None else None
        except OSError:
            content = None
        return content if isinstance(content, dict) else {}


def _names(stored: dict[str, Any], where: str) -> frozenset[str]:
    names = stored.get(where)
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _place(model: Model, address: str | None) -> str:
    return f"{model.model} at {mask_url(address)}"
