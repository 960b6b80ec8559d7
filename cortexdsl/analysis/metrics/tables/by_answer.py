"""A row for every answer of every debater: what claims about single agents and about confidences are tested on."""

from __future__ import annotations

from collections.abc import Iterable

from cortexdsl.analysis.metrics.measures.calibration import confidence_of
from cortexdsl.analysis.metrics.view import Grade, graded
from cortexdsl.analysis.units.scores import Row
from cortexdsl.records import Record


def answer_rows(records: Iterable[Record], grade: Grade) -> list[Row]:
    """Return one row for each answer, in the order of the records and of the debate.

    Columns `dataset, cell, replicate, question_id, agent, round, score, right, stated, recalibrated, raw`: what the
    answer is worth, whether it counts as right (1 or 0), the confidence that it states, the one that the debate goes
    by, and that before recalibration.
    """
    return [
        {
            "dataset": record.header.dataset,
            "cell": record.header.cell,
            "replicate": record.header.replicate,
            "question_id": record.debate.question_id,
            "agent": turn.speaker,
            "round": turn.round,
            "score": view.worth(turn.answer),
            "right": int(view.is_right(turn.answer)),
            "stated": turn.confidence_stated,
            "recalibrated": turn.confidence,
            "raw": confidence_of(turn, "raw"),
        }
        for record in records
        for view in [graded(record.debate, grade)]
        for turn in view.given()
    ]
