"""The table of the results of trainings: replies that made pairs, losses, and how long learning took."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.display.wording import duration
from cortexdsl.numbers import NOTHING, estimate, number
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.record import PlanRecord
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.report.tables.table import Field, Table, TableEntry, Value, column, count, tabulate, text, value

LEARNING = "learning"
_KINDS = ("right", "wrong", "natural")


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
class LearnedPhase:
    """One phase of a training: its guided replies on training questions, its validations, what it read and how long.

    `examples` is None if nothing was trained; `seconds` are of a processor.
    """

    name: str
    pairs: tuple[PairRow, ...]
    validations: tuple[CurveRow, ...]
    examples: int | None
    seconds: float | None

    def counted(self, *columns: str) -> int:
        """Return the sum of some counts over all rounds."""
        return sum(getattr(row, column) for row in self.pairs for column in columns)


def _phase(layout: Layout, training: str, phase: str) -> LearnedPhase:
    place = Path(layout.phase(training, phase))
    try:
        card = json.loads((place / "model" / "zoo.json").read_text(encoding="utf-8"))
    except OSError:
        card = {}
    return LearnedPhase(
        f"{training} {phase}",
        tuple(row for row in read_frame(Path(layout.kept(training, phase)), PairRow) if row.part == "train"),
        tuple(row for row in read_frame(place / "curve.csv", CurveRow) if row.part == "validation"),
        card.get("examples", {}).get("train"),
        card.get("seconds_of_processor"),
    )


def learning_table(folder: Path, plan: PlanRecord) -> Table | None:
    """Return what each phase of all trainings kept and came to; None if nothing learns."""
    layout = Layout(str(folder))
    phases = [_phase(layout, training.name, phase.label) for training in plan.trainings for phase in training.phases]
    if not phases:
        return None

    def guided(title: str, kind: str) -> Field[LearnedPhase]:
        def entry(phase: LearnedPhase) -> TableEntry:
            times, pairs = phase.counted(kind), phase.counted(*_KINDS)
            part = times / pairs if pairs else None
            return TableEntry(f"{times}", (times, part), more="" if part is None else f"({estimate(part, 'share')})")

        return column(title, (kind, f"share_{kind}"), entry)

    def last(name: str, place: int = -1) -> Callable[[LearnedPhase], Value]:
        return lambda phase: getattr(phase.validations[place], name) if phase.validations else None

    fields = [
        text("Phase", "phase", lambda phase: phase.name),
        count("Replies", "replies", lambda phase: phase.counted("moments")),
        count("Pairs", "pairs", lambda phase: phase.counted(*_KINDS)),
        guided("Guided right", "right"),
        guided("Guided wrong", "wrong"),
        count("Learned", "learned", lambda phase: phase.examples),
        value("Loss before", "loss_before", number, of=last("loss", 0)),
        value("Loss after", "loss_after", number, of=last("loss")),
        value("Preferred", "preferred", lambda share: estimate(share, "share"), of=last("accuracy")),
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
