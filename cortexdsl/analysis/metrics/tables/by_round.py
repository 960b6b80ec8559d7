"""What a debate would have scored after each of its rounds, and how its debaters listened: a row a round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cortexdsl.analysis.metrics.measures.listening import talk_density, talk_reciprocity
from cortexdsl.analysis.metrics.measures.outcome import agent_score_after, consensus_after, score_after
from cortexdsl.analysis.metrics.view import Grade, Graded, graded
from cortexdsl.analysis.units.scores import Row
from cortexdsl.records import Record
from cortexdsl.terms import EMPTY


def round_rows(records: Iterable[Record], grade: Grade, clusters: Mapping[str, str | None] = EMPTY) -> list[Row]:
    """Return one row for each round that a debate had, the opening included.

    Columns `dataset, cell, replicate, question_id, cluster, round, score, consensus, agent_score, density,
    reciprocity`: what the debate would have scored, had it ended there, and how its debaters listened in that
    round. `clusters` names what a question belongs to, where questions are not independent.
    """
    return [
        {
            "dataset": record.header.dataset,
            "cell": record.header.cell,
            "replicate": record.header.replicate,
            "question_id": record.debate.question_id,
            "cluster": clusters.get(record.debate.question_id),
            "round": round_,
            "score": score_after(view, round_),
            "consensus": consensus_after(view, round_),
            "agent_score": agent_score_after(view, round_),
            **_listening(view, round_),
        }
        for record in records
        for view in [graded(record.debate, grade)]
        for round_ in range(record.debate.rounds + 1)
    ]


def _listening(view: Graded, round_: int) -> dict[str, float | None]:
    talk = next((talk for talk in view.talks if talk.round == round_), None)
    return {
        "density": None if talk is None else talk_density(talk),
        "reciprocity": None if talk is None else talk_reciprocity(talk),
    }
