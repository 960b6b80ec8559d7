"""The table of the results of trainings: replies that made pairs, losses, and how long learning took."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.display.wording import duration
from cortexdsl.numbers import NOTHING, estimate, number
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.record import PlanRecord
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.report.tables.table import Field, Table, TableEntry, Value, column, count, tabulate, text, value

LEARNING = "learning"


@dataclass(frozen=True, slots=True)
class PairRow:
    """The columns of kept.csv that the report uses: what became of the replies that a phase guided in one round."""

    part: str
    moments: int
    right: int
    wrong: int
    natural: int


@dataclass(frozen=True, slots=True)
class CurveRow:
    """A row of curve.csv: the loss at one point of a training, and the share of pairs that are preferred."""

    part: str
    epoch: float | None
    loss: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Validation:
    """A validation: the epoch, the loss, and the share of pairs whose chosen reply has gained more than the other.

    `preferred` is None if single replies are learned.
    """

    epoch: float
    loss: float
    preferred: float | None


@dataclass(frozen=True, slots=True)
class LearnedPhase:
    """One phase of a training: its guided replies, its learning curve and its duration.

    `examples` is None if nothing was trained; `seconds` are of a processor.
    """

    training: str
    phase: str
    pairs: tuple[PairRow, ...]
    examples: int | None
    seconds: float | None
    looks: tuple[Validation, ...]

    @property
    def name(self) -> str:
        """The training and its phase: `acc 1-critic`."""
        return f"{self.training} {self.phase}"

    def counted(self, column: str) -> int:
        """Return a count of the questions that are learned from, over all rounds."""
        return sum(getattr(row, column) for row in self.pairs if row.part == "train")


def read_phases(folder: Path, plan: PlanRecord) -> list[LearnedPhase]:
    """Return the phases of all trainings of a plan, in their order; none if nothing learns."""
    layout = Layout(str(folder))
    return [_phase(layout, training.name, phase.label) for training in plan.trainings for phase in training.phases]


def _phase(layout: Layout, training: str, phase: str) -> LearnedPhase:
    place = Path(layout.phase(training, phase))
    try:
        card = json.loads((place / "model" / "zoo.json").read_text(encoding="utf-8"))
    except OSError:
        card = {}
    looks = tuple(
        Validation(row.epoch, row.loss, row.accuracy)
        for row in read_frame(place / "curve.csv", CurveRow)
        if row.part == "validation" and row.epoch is not None and row.loss is not None
    )
    pairs = read_frame(Path(layout.kept(training, phase)), PairRow)
    examples = card.get("examples", {}).get("train")
    return LearnedPhase(training, phase, pairs, examples, card.get("seconds_of_processor"), looks)


def learning_table(phases: Sequence[LearnedPhase]) -> Table | None:
    """Return what each phase kept and came to; None if nothing learns."""
    if not phases:
        return None

    def pairs(phase: LearnedPhase) -> int:
        return sum(map(phase.counted, ("right", "wrong", "natural")))

    def guided(title: str, kind: str) -> Field[LearnedPhase]:
        def entry(phase: LearnedPhase) -> TableEntry:
            times, part = phase.counted(kind), phase.counted(kind) / pairs(phase) if pairs(phase) else None
            return TableEntry(f"{times}", (times, part), more="" if part is None else f"({estimate(part, 'share')})")

        return column(title, (kind, f"share_{kind}"), entry)

    def last(name: str, place: int = -1) -> Callable[[LearnedPhase], Value]:
        return lambda phase: getattr(phase.looks[place], name) if phase.looks else None

    fields = [
        text("Phase", "phase", lambda phase: phase.name),
        count("Replies", "replies", lambda phase: phase.counted("moments")),
        count("Pairs", "pairs", pairs),
        guided("Guided right", "right"),
        guided("Guided wrong", "wrong"),
        count("Learned", "learned", lambda phase: phase.examples),
        value("Loss before", "loss_before", number, of=last("loss", 0)),
        value("Loss after", "loss_after", number, of=last("loss")),
        value("Preferred", "preferred", lambda share: estimate(share, "share"), of=last("preferred")),
        value("Processor time", "processor_seconds", _duration, of=lambda phase: phase.seconds),
    ]
    note = (
        "A pair has two replies whose values differ by the threshold; the guided one is better in pairs guided right; "
        "without guided replies, both are natural. "
        "Learned: examples that training has read. Loss and preferred: on the questions kept for validation."
    )
    return tabulate(LEARNING, "Learning from debates.", fields, phases, note)


def _duration(seconds: float | None) -> str:
    return NOTHING if seconds is None else duration(seconds)
