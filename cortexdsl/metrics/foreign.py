"""Records and tables of debates that other programs recorded: the same files as those of our own runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.checksums import write_lines
from cortexdsl.core import by_key
from cortexdsl.errors import DataError
from cortexdsl.logs.transcripts import Transcript, debate_of
from cortexdsl.metrics.estimates import metrics_table, round_table
from cortexdsl.metrics.scores import Row, answer_rows, round_rows, score_rows, write_scores
from cortexdsl.metrics.tables import debate_tables
from cortexdsl.metrics.view import grade_together
from cortexdsl.records import Header, Record, write_debates
from cortexdsl.stats.tables.answers import ANSWER_COLUMNS
from cortexdsl.stats.tables.score_table import read_table
from cortexdsl.tasks.items import read_items
from cortexdsl.tasks.reading.kinds import KINDS, kind_named
from cortexdsl.tasks.reading.number import canonical_number
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.registry import DatasetEntry
from cortexdsl.tasks.sources.values import options_of, passage_of
from cortexdsl.tasks.task import Task

NOT_RECORDED = "(not recorded)"


@dataclass(frozen=True, slots=True)
class ForeignDataset:
    """The debates of one dataset.

    Attributes
    ----------
    dataset : str
    kind : str
        Answer kind.
    records : tuple of Record
    task : Task or None
        Questions and golds; None without golds: such debates cannot be scored.
    groups : mapping of question id to group
    questions : sequence of mapping
        What the transcripts say of each question: `dataset, question_id, question, options, context, gold` (a list,
        empty where they have none).
    """

    dataset: str
    kind: str
    records: tuple[Record, ...]
    task: Task | None
    groups: Mapping[str, str]
    questions: Sequence[Mapping[str, Any]]


def foreign_debates(
    transcripts: Iterable[Transcript], experiment: str, kind: str | None = None
) -> list[ForeignDataset]:
    """Make records of transcripts, dataset by dataset.

    Parameters
    ----------
    transcripts : iterable of Transcript
    experiment : str
        Its name, for the records.
    kind : str or None
        How answers to questions without choices are read and graded; None: as numbers if all golds of the dataset
        are, else as text. Questions with choices are always of kind choice.

    Raises
    ------
    DataError
        A debate is there twice, only some questions of a dataset have choices, or a gold cannot be read.
    """
    by_dataset = by_key((transcript.label, transcript) for transcript in transcripts)
    return [_foreign(dataset, found, experiment, kind) for dataset, found in by_dataset.items()]


def write_foreign(root: Path, found: Sequence[ForeignDataset]) -> None:
    """Write records and tables into a results folder, laid out as the workflow lays out its own.

    `debates/<dataset>/<cell>/r<replicate>-s01.jsonl`, `questions.jsonl` (which the explorer shows); of
    datasets with golds also `scores.csv`, `rounds.csv`,
    `metrics.csv`, `answers.csv`, `agents.csv`, `calibration.csv` and `reliability.csv`.
    """
    scores: list[Row] = []
    rounds: list[Row] = []
    tables: dict[str, list[pd.DataFrame]] = defaultdict(list)
    for each in found:
        heads = by_key(((record.header.cell, record.header.replicate), record) for record in each.records)
        for (cell, replicate), records in heads.items():
            write_debates(root / "debates" / each.dataset / cell / f"r{replicate}-s01.jsonl", records)
        if each.task is not None:
            grade = grade_together(each.records, each.task.grade_all)
            clusters = each.task.clusters
            scores += score_rows(each.records, grade, labels={"cluster": clusters, "group": each.groups})
            rounds += round_rows(each.records, grade, clusters)
            answers = pd.DataFrame(answer_rows(each.records, grade), columns=list(ANSWER_COLUMNS))
            for name, table in ({"answers": answers} | debate_tables(each.records, grade)).items():
                tables[name].append(table)
    write_lines(root / "questions.jsonl", (json.dumps(question) for each in found for question in each.questions))
    if scores:
        write_scores(root / "scores.csv", scores)
        tables["rounds"] = [round_table(rounds)]
        tables["metrics"] = [metrics_table(read_table(root / "scores.csv"))]
    for name, parts in tables.items():
        text = pd.concat(parts, ignore_index=True).to_csv(index=False, lineterminator="\n")
        write_lines(root / f"{name}.csv", text.rstrip("\n").split("\n"))


def _foreign(dataset: str, found: Sequence[Transcript], experiment: str, kind: str | None) -> ForeignDataset:
    seen: dict[tuple[str, int, str], str] = {}
    for transcript in found:
        key = (transcript.cell, transcript.replicate, transcript.question_id)
        if key in seen:
            raise DataError(
                f"{transcript.where}: question {transcript.question_id!r} stands twice in cell {transcript.cell!r},"
                f" replicate {transcript.replicate} (first in {seen[key]})\n"
                "    give different debates of one question different cells or replicates"
            )
        seen[key] = transcript.where
    questions = {transcript.question_id: transcript for transcript in found}
    kind = _kind(dataset, list(questions.values()), kind)
    records = []
    for transcript in found:
        reader = AnswerReader(kind_named(kind, options_of(transcript.task, "choices")))
        header = Header(experiment, dataset, transcript.cell, transcript.replicate)
        records.append(Record(header, debate_of(transcript, reader)))
    groups = {transcript.question_id: transcript.group for transcript in found if transcript.group}
    task = _task(dataset, kind, questions)
    golds = {item.question.id: list(item.gold) for item in task.items} if task else {}
    asked = [_asked(dataset, transcript, golds.get(identity, [])) for identity, transcript in questions.items()]
    return ForeignDataset(dataset, kind, tuple(records), task, groups, asked)


def _asked(dataset: str, transcript: Transcript, gold: Sequence[str]) -> dict[str, Any]:
    known = transcript.task
    return {
        "dataset": dataset,
        "question_id": transcript.question_id,
        "question": str(known.get("question", NOT_RECORDED)),
        "options": [list(option) for option in options_of(known, "choices")],
        "context": passage_of(known.get("context")),
        "gold": list(gold),
    }


def _kind(dataset: str, questions: Sequence[Transcript], asked: str | None) -> str:
    with_choices = [bool(options_of(question.task, "choices")) for question in questions]
    if any(with_choices):
        if not all(with_choices):
            other = questions[with_choices.index(False)]
            raise DataError(
                f"{other.where}: no choices, though other questions of dataset {dataset!r} have some\n"
                "    give each kind of question a dataset of its own"
            )
        return "choice"
    golds = [str(question.task["answer"]) for question in questions if "answer" in question.task]
    numbers = bool(golds) and all(canonical_number(gold) is not None for gold in golds)
    return asked or ("number" if numbers else "text")


def _task(dataset: str, kind: str, questions: Mapping[str, Transcript]) -> Task | None:
    lacking = [question for question in questions.values() if "answer" not in question.task]
    if lacking:
        if len(lacking) < len(questions):
            raise DataError(
                f"{lacking[0].where}: no answer, though other questions of dataset {dataset!r} have one\n"
                "    a score needs the gold answer of every question: add it, or leave such debates out"
            )
        return None
    entry = DatasetEntry(
        name=dataset,
        kind=kind,
        options="choices" if kind == "choice" else None,
        gold=KINDS[kind].gold,
        context="context",
        cluster="cluster",
    )
    rows = [{"question": NOT_RECORDED, **q.task, "id": identity} for identity, q in questions.items()]
    return Task(dataset, "own", read_items(entry, enumerate(rows, 1)).items)
