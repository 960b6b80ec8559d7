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
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.wire import mask_url

REFUSALS_FILE = ".refused"


class Refusals:
    """The parameters that each model is known to refuse.

    Parameters
    ----------
    folder : Path or None
        `spent/` of the experiment; None keeps the knowledge within this process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / REFUSALS_FILE if folder is not None else None
        self._known: dict[str, frozenset[str]] = {}

    def applied(self, call: Call, address: str | None) -> Call:
        """Return a call whose model names the parameters that it is known to refuse."""
        where = _place(call.model, address)
        if where not in self._known:
            self._known[where] = self._read().get(where, frozenset())
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
        if self._path is None:
            return
        # Two simultaneous writers may lose one line, which costs the other job one more refused request.
        known = self._read()
        known[where] = known.get(where, frozenset()) | self._known[where]
        text = json.dumps({place: sorted(names) for place, names in known.items()})
        with suppress(OSError):
            write_file(self._path, (text.encode("utf-8"),), durable=False)

    def without_seed(self) -> list[str]:
        """Return the models, each with its address, that refuse a seed."""
        return sorted(place for place, names in self._read().items() if "seed" in names)

    def _read(self) -> dict[str, frozenset[str]]:
        if self._path is None:
            return {}
        try:
            content: Any = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        pairs = content.items() if isinstance(content, dict) else ()
        return {
            place: frozenset(name for name in names if isinstance(name, str))
            for place, names in pairs
            if isinstance(names, list)
        }


def _place(model: Model, address: str | None) -> str:
    return f"{model.model} at {mask_url(address)}"
