"""Texts, images and gold answers of questions, which no record holds: from the spec, where it still means the same.

Of imported transcripts they lie beside the records, as the transcripts had them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.models.reach.failures import Failure
from cortexdsl.models.transports.images import data_uri
from cortexdsl.plan.known import known_tasks
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.tasks.task import Item, Task
from cortexdsl.terms import Image, Question
from cortexdsl.view.index.gather import well_formed
from cortexdsl.view.index.store import Store


def learn_questions(store: Store, plan: Mapping[str, Any], root: Path) -> str:
    """Put the questions of an experiment's datasets into the index; return why some are unknown, or nothing.

    A dataset whose digest is not that of the plan is another one by now, and its texts are not taken.
    """
    if not plan:
        return _learn_imported(store, Path(Layout(str(root)).questions))
    digests = json.dumps({label: facts.get("digest") for label, facts in (plan.get("datasets") or {}).items()})
    with store.reading() as db:
        known = dict(db.execute("SELECT name, value FROM facts WHERE name IN ('questions', 'unknown')"))
    if known.get("questions") == digests and not known.get("unknown"):
        return ""
    tasks, why = known_tasks(plan)
    unknown = well_formed(why)
    if known != {"questions": digests, "unknown": unknown}:
        _keep(store, [row for task in tasks.values() for row in _rows(task)], digests, unknown)
    return unknown


def _learn_imported(store: Store, path: Path) -> str:
    """Take the questions that an import wrote beside its records."""
    try:
        lines = path.read_bytes().splitlines()
        rows = [_row(str(line["dataset"]), _read(line), line["gold"]) for line in map(json.loads, lines)]
    except FileNotFoundError:
        return "there is no plan.json, so nothing says which questions these were"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{path} cannot be read: {error}"
    _keep(store, rows, str(path), "")
    return ""


def _keep(store: Store, rows: Sequence[tuple[str, ...]], source: str, unknown: str) -> None:
    with store.writing() as db:
        db.execute("DELETE FROM questions")
        db.executemany("INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        for name, value in (("questions", source), ("unknown", unknown)):
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def read_question(store: Store, dataset: str, question: str) -> dict[str, Any] | None:
    """Return a question's text, options, context, gold answers and images; None where they are not known.

    Of an image: its digest, a data URI (None where it is not there any more, or is another one), and why.
    """
    with store.reading() as db:
        found = db.execute(
            "SELECT text, options, context, gold, images FROM questions WHERE dataset = ? AND question = ?",
            (dataset, question),
        ).fetchone()
    if found is None:
        return None
    text, options, context, gold, images = found
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
