"""How far the trainings of an experiment are, from the files that they keep."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.plan import Layout

SILENT_AFTER = 600.0  # seconds: a look at the validation examples of a large model takes minutes


@dataclass(frozen=True, slots=True)
class Trained:
    """One phase of a training that has begun.

    Attributes
    ----------
    name : str
        Training and phase: `acc 1-critic`.
    state : str
        training, merging (weights are written), done, or silent: it has said nothing for ten minutes.
    step, steps : int
    loss : float or None
        Of the last step.
    """

    name: str
    state: str
    step: int
    steps: int
    loss: float | None

    def line(self) -> str:
        """Say it."""
        loss = "" if self.loss is None else f", loss {self.loss:.4g}"
        return f"{self.name}: {self.state}, step {self.step} of {self.steps}{loss}"


def trainings(layout: Layout, now: float | None = None) -> Sequence[Trained]:
    """Return the phases that have begun, in the order of their files' names.

    Parameters
    ----------
    layout : Layout
    now : float or None
        Seconds since the epoch.
    """
    now = time.time() if now is None else now
    found = []
    for path in sorted(Path(layout.root, "train").glob("*/*/progress.json")):
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # it is being replaced, or was cut short: the next look finds it
            continue
        is_silent = said["state"] != "done" and now - said["updated"] > SILENT_AFTER
        name = f"{path.parent.parent.name} {path.parent.name}"
        found.append(Trained(name, "silent" if is_silent else said["state"], said["step"], said["steps"], said["loss"]))
    return found
