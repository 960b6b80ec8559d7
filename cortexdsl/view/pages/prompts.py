"""What exactly a model was asked, and how the call went: from the call logs, when somebody wants to see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.models.logs.calls import LogFolder
from cortexdsl.view.places import Place

_FOLDERS = 4  # whose maps of calls are kept: about 200 bytes a call
_SHOWN = (
    "key", "model", "api_base", "parameters", "seed", "messages", "images", "finish_reason", "usage", "dollars",
    "seconds", "attempts", "retries", "error", "seed_refused",
)  # fmt: skip
_REPLIED = ("reply",)


class Prompts:
    """The call logs of one experiment, opened as they are wanted. To be used by one thread at a time."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._open: dict[Path, LogFolder] = {}

    def of(self, records: str, keys: list[str], beside: Sequence[str] = ()) -> dict[str, Mapping[str, Any] | None]:
        """Return the calls of some turns by their keys, and those beside them with their replies; None: in no log.

        Parameters
        ----------
        records : str
            The file of debate records that the turns are in: `.../debates/<dataset>/<cell>/<shard>.jsonl`.
        keys : list of str
        beside : sequence of str
            Calls whose replies are in no record: those that measured a confidence.
        """
        path = Path(records)
        folder = Path(self._place.layout.calls(path.parent.parent.name, path.stem))
        logs = self._open.pop(folder, None) or LogFolder(folder)
        self._open[folder] = logs
        while len(self._open) > _FOLDERS:
            self._open.pop(next(iter(self._open))).close()
        logs.refresh()
        found = {key: logs.find(key, None, errors_again=False) for key in [*keys, *beside]}
        shown = {key: (*_SHOWN, *_REPLIED) if key not in keys else _SHOWN for key in found}
        return {key: call and {name: call[name] for name in shown[key] if name in call} for key, call in found.items()}

    def close(self) -> None:
        """Close the logs."""
        for logs in self._open.values():
            logs.close()
        self._open.clear()
