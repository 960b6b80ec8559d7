"""One debate, and one question, as plain values for the pages.

Records hold no texts of questions, images or gold answers. They come from the spec, if it still selects the same
questions; those of imported transcripts are stored next to the records.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from cortexdsl.core import Debate, Graph, Image, Model, Question, Turn
from cortexdsl.errors import RecordError
from cortexdsl.explorer.store import IndexStore, well_formed
from cortexdsl.metrics.view import DebateView, view_debate
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.request_parts import data_uri
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.history import recorded_tasks
from cortexdsl.plan.record import PlanRecord
from cortexdsl.records import Record, record_from_json
from cortexdsl.tasks.task import Item, Task


def read_debate(store: IndexStore, number: int) -> dict[str, Any] | None:
    """Return a debate by its number in the index, read from its record; None if there is no such number.

    Raises
    ------
    RecordError
        The record is gone, or was changed.
    """
    with store.reading() as db:
        row = db.execute(
            "SELECT files.path, line, offset, length, dataset, question, cell, replicate, score, worths"
            " FROM debates JOIN files ON files.id = debates.file WHERE debates.id = ?",
            (number,),
        ).fetchone()
        labels = db.execute(
            "SELECT turn, label, labels.value FROM labels JOIN debates USING (dataset, question, cell, replicate)"
            " WHERE debates.id = ?",
            (number,),
        ).fetchall()
    if row is None:
        return None
    path, line, offset, length, dataset, question, cell, replicate, score, worths = row
    where = f"{path}:{line}"
    try:
        with Path(path).open("rb") as stream:
            stream.seek(offset)
            record = record_from_json(stream.read(length), where)
    except OSError as error:
        raise RecordError(f"{where}: cannot be read ({error.strerror or error})") from error
    header, debate = record.header, record.debate
    key = (*map(well_formed, (header.dataset, debate.question_id, header.cell)), header.replicate)
    if key != (dataset, question, cell, replicate):
        raise RecordError(f"{where}: another debate stands there by now; look again in a moment")
    scores = json.loads(worths) if worths else []
    given: dict[int, dict[str, str | None]] = defaultdict(dict)
    for turn, label, value in labels:
        given[turn][label] = value
    return {"id": number, "where": where, "score": score, "labels": given, **debate_as_shown(record, scores, score)}


def turns_as_shown(debate: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the turns of a debate as it is shown, then those of the debate that its question was handed on to."""
    yield from debate["turns"]
    if debate["deferred"]:
        yield from turns_as_shown(debate["deferred"]["debate"])


def debate_as_shown(record: Record, worths: Sequence[float | None] = (), score: float | None = None) -> dict[str, Any]:
    """Return a debate as plain values.

    Parameters
    ----------
    record : Record
    worths : sequence of float or None
        The scores of the debaters' answers, in the order of the debate; empty if the debate is not scored.
    score : float or None
        The score of its answer, which another debate may have given.
    """
    header, debate = record.header, record.debate
    return {
        "dataset": header.dataset,
        "cell": header.cell,
        "replicate": header.replicate,
        "question": debate.question_id,
        "guided": header.guided,
        "wording": debate.wording,
        "answer": debate.answer,
        **_stage(debate, _worth_of(debate, worths, score)),
    }


def _stage(debate: Debate, worth: Mapping[str | None, float]) -> dict[str, Any]:
    """Return one debate about a question, and within it (`deferred`) the one that the question was handed on to.

    `own` is its own answer, whichever debate answered in the end. `sure` is how sure it was as a whole. A turn has a
    `model`, by its name in the spec, if its step has its own.
    """
    view = view_debate(debate, lambda question, answer: worth.get(answer) or 0.0)
    models = debate.models_of_steps()
    is_graded = bool(worth) and all(turn.answer in worth for turn in view.given())
    rule = debate.deferred
    return {
        "own": debate.own_answer,
        "own_worth": worth.get(debate.own_answer),
        "sure": None if debate.confidence is None else debate.confidence.confidence,
        "votes": [[answer, weight] for answer, weight in debate.votes.items()],
        "tied": debate.was_tied,
        "rounds": debate.rounds,
        "stop": debate.stop,
        "agents": [_agent(agent) for agent in debate.agents],
        "debaters": list(view.debaters),
        "turns": [_turn(turn, models.get(turn.turn), worth) for turn in debate.turns],
        "graphs": [_graph(graph) for graph in debate.graphs],
        "choices": [asdict(choice) for choice in debate.choices],
        "changes": changes(view, is_graded=is_graded),
        "deferred": rule and {"to": rule.to, "below": rule.below, "debate": _stage(rule.debate, worth)},
    }


def _turn(turn: Turn, model: Model | None, worth: Mapping[str | None, float]) -> dict[str, Any]:
    return asdict(turn) | {
        "worth": worth.get(turn.answer) if _is_answer(turn) else None,
        "model": None if model is None else model.name,
    }


def changes(view: DebateView, *, is_graded: bool) -> list[dict[str, Any]]:
    """Return each change of an answer and what its agent had heard, in the order of the debate.

    `before` and `after` are turns. `heard` are the turns of others whose answers its prompt contained, and `followed`
    those with the answer that it adopted. `was_right` and `is_right` are None if the debate is not scored.
    """
    entries = []
    for old, new in view.revisions():
        if old.answer == new.answer:
            continue
        heard = [view.debate.turns[number] for number in new.heard if number not in new.replaced]
        others = [turn for turn in heard if turn.reads == "answer" and turn.speaker != new.speaker]
        entries.append(
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
    return entries


def _worth_of(debate: Debate, worths: Sequence[float | None], score: float | None) -> Mapping[str | None, float]:
    """Return the score of each distinct answer that is known."""
    answers = [turn for turns in view_debate(debate, lambda question, answer: 0.0).answers for turn in turns]
    if len(answers) != len(worths):  # not scored, or the scores belong to other records
        return {}
    known = {turn.answer: worth for turn, worth in zip(answers, worths, strict=True) if worth is not None}
    return known | ({} if score is None else {debate.answer: score}) | {None: 0.0}


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
    """Return a matrix or vector as lists, to six digits; None for NaN."""
    rounded = np.vectorize(lambda value: float(f"{value:.6g}"), otypes=[float])(values) if values.size else values
    return np.asarray(np.where(np.isnan(rounded), None, rounded.astype(object))).tolist()


def index_questions(store: IndexStore, plan: PlanRecord, root: Path) -> str:
    """Store the questions of an experiment's datasets in the index; return why some are unknown, or an empty text.

    A dataset whose digest differs from the plan's has changed since, so its texts are not used.
    """
    if not plan:
        return _index_imported(store, Path(Layout(str(root)).questions))
    digests = json.dumps({label: facts.digest for label, facts in plan.datasets.items()})
    with store.reading() as db:
        known = dict(db.execute("SELECT name, value FROM facts WHERE name IN ('questions', 'unknown')"))
    if known.get("questions") == digests and not known.get("unknown"):
        return ""
    tasks, why = recorded_tasks(plan)
    unknown = well_formed(why)
    if known != {"questions": digests, "unknown": unknown}:
        _store_questions(store, [row for task in tasks.values() for row in _rows(task)], digests, unknown)
    return unknown


def _index_imported(store: IndexStore, path: Path) -> str:
    """Store the questions that an import wrote next to its records."""
    try:
        lines = path.read_bytes().splitlines()
        rows = [_row(str(line["dataset"]), _read(line), line["gold"]) for line in map(json.loads, lines)]
    except FileNotFoundError:
        return "there is no plan.json, so nothing says which questions these were"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{path} cannot be read: {error}"
    _store_questions(store, rows, str(path), "")
    return ""


def _store_questions(store: IndexStore, rows: Sequence[tuple[str, ...]], source: str, unknown: str) -> None:
    with store.writing() as db:
        db.execute("DELETE FROM questions")
        db.executemany("INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        for name, value in (("questions", source), ("unknown", unknown)):
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def read_question(store: IndexStore, dataset: str, question: str) -> dict[str, Any] | None:
    """Return a question's text, options, context, gold answers and images; None if they are unknown.

    An image has its digest, a data URI (None if it is gone, or was changed), and the reason if there is none.
    """
    with store.reading() as db:
        row = db.execute(
            "SELECT text, options, context, gold, images FROM questions WHERE dataset = ? AND question = ?",
            (dataset, question),
        ).fetchone()
    if row is None:
        return None
    text, options, context, gold, images = row
    return {
        "text": text,
        "options": json.loads(options),
        "context": context,
        "gold": json.loads(gold),
        "images": [_shown(Image(*image)) for image in json.loads(images)],
    }


def _shown(image: Image) -> dict[str, str | None]:
    try:
        return {"digest": image.digest, "uri": data_uri(image), "why": None}
    except Failure as failure:
        return {"digest": image.digest, "uri": None, "why": str(failure)}


def _rows(task: Task) -> Iterator[tuple[str, ...]]:
    items: Sequence[Item] = task.items
    return (_row(task.label, item.question, item.gold) for item in items)


def _read(line: Mapping[str, Any]) -> Question:
    options = tuple((str(label), str(text)) for label, text in line["options"])
    return Question(str(line["question_id"]), str(line["question"]), options, str(line["context"]))


def _row(label: str, question: Question, gold: Sequence[str]) -> tuple[str, ...]:
    images = [[image.digest, image.kind, image.source] for image in question.images]
    return (
        well_formed(label), well_formed(question.id), well_formed(question.text), json.dumps(question.options),
        well_formed(question.context), json.dumps(gold), json.dumps(images),
    )  # fmt: skip
