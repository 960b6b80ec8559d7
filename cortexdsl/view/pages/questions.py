"""Texts of questions and their gold answers, which no record holds: from the spec, where it still means the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cortexdsl.plan.known import known_tasks
from cortexdsl.tasks.task import Task
from cortexdsl.view.index.gather import well_formed
from cortexdsl.view.index.store import Store


def learn_questions(store: Store, plan: Mapping[str, Any]) -> str:
    """Put the questions of an experiment's datasets into the index; return why some are unknown, or nothing.

    A dataset whose digest is not that of the plan is another one by now, and its texts are not taken.
    """
    if not plan:
        return "there is no plan.json, so nothing says which questions these were"
    digests = json.dumps({label: facts.get("digest") for label, facts in (plan.get("datasets") or {}).items()})
    with store.reading() as db:
        known = dict(db.execute("SELECT name, value FROM facts WHERE name IN ('questions', 'unknown')"))
    if known.get("questions") == digests and not known.get("unknown"):
        return ""
    tasks, unknown = known_tasks(plan)
    if known == {"questions": digests, "unknown": unknown}:
        return unknown
    with store.writing() as db:
        db.execute("DELETE FROM questions")
        db.executemany("INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?, ?)",
                       [row for task in tasks.values() for row in _rows(task)])  # fmt: skip
        for name, value in (("questions", digests), ("unknown", unknown)):
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
    return unknown


def read_question(store: Store, dataset: str, question: str) -> dict[str, Any] | None:
    """Return a question's text, options, context and gold answers; None where they are not known."""
    with store.reading() as db:
        found = db.execute(
            "SELECT text, options, context, gold FROM questions WHERE dataset = ? AND question = ?", (dataset, question)
        ).fetchone()
    if found is None:
        return None
    text, options, context, gold = found
    return {"text": text, "options": json.loads(options), "context": context, "gold": json.loads(gold)}


def _rows(task: Task) -> list[tuple[str, ...]]:
    return [
        (
            well_formed(task.label), well_formed(item.question.id), well_formed(item.question.text),
            json.dumps(item.question.options), well_formed(item.question.context), json.dumps(item.gold),
        )
        for item in task.items
    ]  # fmt: skip
