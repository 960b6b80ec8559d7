"""One debate as the explorer shows it: what was said, who heard whom, who changed to what after hearing whom."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from cortexdsl.analysis.metrics.view import Graded, graded
from cortexdsl.errors import RecordError
from cortexdsl.records import Record, record_from_json
from cortexdsl.terms import Debate, Graph, Turn
from cortexdsl.view.index.gather import well_formed
from cortexdsl.view.index.store import Store


def read_debate(store: Store, number: int) -> dict[str, Any] | None:
    """Return a debate by its number in the index, from its own line; None where the index has no such number.

    Raises
    ------
    RecordError
        The line is not there any more, or not what was written.
    """
    with store.reading() as db:
        found = db.execute(
            "SELECT files.path, line, offset, length, dataset, question, cell, replicate, score, worths"
            " FROM debates JOIN files ON files.id = debates.file WHERE debates.id = ?",
            (number,),
        ).fetchone()
    if found is None:
        return None
    path, line, offset, length, dataset, question, cell, replicate, score, worths = found
    where = f"{path}:{line}"
    try:
        with Path(path).open("rb") as stream:
            stream.seek(offset)
            record = record_from_json(stream.read(length), where)
    except OSError as error:
        raise RecordError(f"{where}: cannot be read ({error.strerror or error})") from error
    header, debate = record.header, record.debate
    stands = (*map(well_formed, (header.dataset, debate.question_id, header.cell)), header.replicate)
    if stands != (dataset, question, cell, replicate):
        raise RecordError(f"{where}: another debate stands there by now; look again in a moment")
    known = json.loads(worths) if worths else []
    return {"id": number, "where": where, "score": score, **debate_as_shown(record, known)}


def debate_as_shown(record: Record, worths: Sequence[float | None] = ()) -> dict[str, Any]:
    """Return a debate as plain values.

    Parameters
    ----------
    record : Record
    worths : sequence of float or None
        What each of the debaters' answers was worth, in the order of the debate, as scoring found; empty where it was
        not scored.
    """
    header, debate = record.header, record.debate
    worth = _worth_of(debate, worths)
    view = graded(debate, lambda question, answer: worth.get(answer) or 0.0)
    return {
        "dataset": header.dataset,
        "cell": header.cell,
        "replicate": header.replicate,
        "question": debate.question_id,
        "guided": header.guided,
        "answer": debate.answer,
        "votes": [[answer, weight] for answer, weight in debate.votes.items()],
        "tied": debate.was_tied,
        "rounds": debate.rounds,
        "stop": debate.stop,
        "agents": [_agent(agent) for agent in debate.agents],
        "debaters": list(view.debaters),
        "turns": [
            asdict(turn) | {"worth": worth.get(turn.answer) if _is_answer(turn) else None} for turn in debate.turns
        ],
        "graphs": [_graph(graph) for graph in debate.graphs],
        "choices": [asdict(choice) for choice in debate.choices],
        "changes": changes(view, is_graded=bool(worth)),
    }


def changes(view: Graded, *, is_graded: bool) -> list[dict[str, Any]]:
    """Return who changed to what after hearing whom, in the order of the debate.

    `before` and `after` are turns; `heard` are the turns of others whose answers its prompt contained; `followed`
    those of them that gave the answer it then took over. `was_right` and `is_right` are None where nobody graded.
    """
    found = []
    for old, new in view.revisions():
        if old.answer == new.answer:
            continue
        heard = [view.debate.turns[number] for number in new.heard]
        others = [turn for turn in heard if turn.reads == "answer" and turn.speaker != new.speaker]
        found.append(
            {
                "agent": new.speaker,
                "round": new.round,
                "before": old.turn,
                "after": new.turn,
                "was_right": view.is_right(old.answer) if is_graded else None,
                "is_right": view.is_right(new.answer) if is_graded else None,
                "heard": [turn.turn for turn in others],
                "followed": [turn.turn for turn in others if new.answer is not None and turn.answer == new.answer],
            }
        )
    return found


def _worth_of(debate: Debate, worths: Sequence[float | None]) -> Mapping[str | None, float]:
    """What each different answer was worth: equal answers to one question are worth the same."""
    answers = [turn for turns in graded(debate, lambda question, answer: 0.0).answers for turn in turns]
    if len(answers) != len(worths):  # not scored, or by the scores of other records
        return {}
    return {turn.answer: worth for turn, worth in zip(answers, worths, strict=True) if worth is not None} | {None: 0.0}


def _is_answer(turn: Turn) -> bool:
    return turn.reads == "answer"


def _agent(agent: Any) -> dict[str, Any]:
    model = agent.model
    return {"name": agent.name, "model": model.model, "entry": model.name, "persona": agent.persona}


def _graph(graph: Graph) -> dict[str, Any]:
    return {
        "round": graph.round,
        "step": graph.step,
        "speakers": list(graph.speakers),
        "listeners": list(graph.listeners),
        "weight": None if graph.weight is None else _numbers(graph.weight),
        "heard": np.asarray(graph.heard).astype(int).tolist(),
        "factors": {name: _numbers(values) for name, values in graph.factors.items()},
    }


def _numbers(values: Any) -> Any:
    """A matrix or vector as lists, to six digits; what is not a number is None."""
    rounded = np.vectorize(lambda value: float(f"{value:.6g}"), otypes=[float])(values) if values.size else values
    return np.asarray(np.where(np.isnan(rounded), None, rounded.astype(object))).tolist()
