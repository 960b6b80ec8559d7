"""Parameters of requests that models refuse, learned from the first refusal and shared by all jobs of an experiment.

Only what the program itself chooses is left out or renamed: a seed, and the name of the limit of a reply. An option
that a spec gives and a provider refuses is an error.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cortexdsl.core import Call, Model
from cortexdsl.models.endpoints.shared_facts import SharedFacts
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.failures import Failure

REFUSALS_FILE = ".refused"


class Refusals:
    """The parameters that each model is known to refuse.

    Parameters
    ----------
    folder : Path or None
        `spent/` of the experiment; None keeps the knowledge within this process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._facts = SharedFacts(folder, REFUSALS_FILE)
        self._known: dict[str, frozenset[str]] = {}

    def applied(self, call: Call, address: str | None) -> Call:
        """Return a call whose model names the parameters that it is known to refuse."""
        where = _place(call.model, address)
        if where not in self._known:
            self._known[where] = self._read(where)
        refused = self._known[where] | {*call.model.refused}
        if refused == {*call.model.refused}:
            return call
        return replace(call, model=replace(call.model, refused=tuple(sorted(refused))))

    def learn(self, model: Model, address: str | None, failure: Failure) -> None:
        """Remember the parameter that a request was refused for, if there is one."""
        where = _place(model, address)
        if not failure.refused or failure.refused in self._known.get(where, ()):
            return
        known = self._known[where] = self._known.get(where, frozenset()) | {failure.refused}
        self._facts.write({**self._facts.read(), where: sorted(known | self._read(where))})

    def without_seed(self) -> list[str]:
        """Return the models, each with its address, that refuse a seed."""
        return sorted(place for place in self._facts.read() if "seed" in self._read(place))

    def _read(self, where: str) -> frozenset[str]:
        names = self._facts.read().get(where)
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _place(model: Model, address: str | None) -> str:
    return f"{model.model} at {mask_url(address)}"
