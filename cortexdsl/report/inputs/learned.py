"""What trainings came to: pairs that were kept, learning curves, and how long learning took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.rows import read_rows


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the validation examples: how far the training was (in epochs), the loss, and the share of pairs
    whose chosen reply has gained more than the rejected one; None where single replies are learned."""

    epoch: float
    loss: float
    preferred: float | None


@dataclass(frozen=True, slots=True)
class Learned:
    """One phase of a training.

    Attributes
    ----------
    name : str
        `acc 1-critic`.
    counts : mapping of str to int
        The columns of the table of what was kept, summed over the rounds of what is learned from.
    examples : int or None
        How many were learned; None where nothing was trained.
    seconds : float or None
        Of a processor.
    looks : tuple of Look
    """

    name: str
    counts: Mapping[str, int]
    examples: int | None
    seconds: float | None
    looks: tuple[Look, ...]


def read_learned(folder: Path, plan: Mapping[str, Any]) -> Sequence[Learned]:
    """Return the phases of all trainings of a plan, in their order; none where nothing learns."""
    layout = Layout(str(folder))
    return [
        _phase(layout, str(training["training"]), str(phase["phase"]))
        for training in plan.get("trainings") or ()
        for phase in training["phases"]
    ]


def _phase(layout: Layout, training: str, phase: str) -> Learned:
    counts: dict[str, int] = {}
    for row in read_rows(Path(layout.kept(training, phase))):
        for name in ("moments", "right", "wrong", "below", "same", "cut", "no_reply", "examples"):
            counts[name] = counts.get(name, 0) + (row.whole(name) or 0 if row["part"] == "train" else 0)
    place = Path(layout.phase(training, phase))
    try:
        card = json.loads((place / "model" / "zoo.json").read_text(encoding="utf-8"))
    except OSError:
        card = {}
    looks = [
        Look(epoch, loss, row.number("accuracy"))
        for row in read_rows(place / "curve.csv")
        if row["part"] == "validation"
        and (epoch := row.number("epoch")) is not None
        and (loss := row.number("loss")) is not None
    ]
    learned = card.get("examples", {}).get("train")
    return Learned(f"{training} {phase}", counts, learned, card.get("seconds_of_processor"), tuple(looks))
