"""Replies of any program: rows of task, question, options, gold and output, read, graded and summarised."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, Literal

from cortexdsl.core import Question, Reading, by_key
from cortexdsl.errors import DataError
from cortexdsl.tasks.grading.instructions import written_instructions
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.number import canonical_number
from cortexdsl.tasks.registry import DatasetEntry, registry
from cortexdsl.tasks.sources.values import CONVERTERS, options_of, split_options
from cortexdsl.tasks.task import Item, Task

_YES_NO = frozenset({"yes", "no", "true", "false"})
_OPTION_LINES = re.compile(r"^\(?([A-Z])[).:]\s+(\S[^\n]*)$", re.MULTILINE)
_OPTIONS_INLINE = re.compile(r"\b([A-J])\)\s?(.*?)(?=\s[A-J]\)|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GradedReply:
    """One reply, read both ways and scored.

    Attributes
    ----------
    task : str
        The row's task name.
    strict, lenient : Reading
    strict_score, lenient_score : float
        Of each reading, in [0, 1].
    reading : str
        Which reading scores.
    """

    task: str
    strict: Reading
    lenient: Reading
    strict_score: float
    lenient_score: float
    reading: Literal["lenient", "strict"]

    @property
    def scored(self) -> Reading:
        """The reading that scores."""
        return self.lenient if self.reading == "lenient" else self.strict

    @property
    def score(self) -> float:
        """Score of the reading that scores."""
        return self.lenient_score if self.reading == "lenient" else self.strict_score

    def row(self) -> dict[str, Any]:
        """The row that `cortexdsl grade` writes."""
        return {
            "task": self.task,
            "answer": self.scored.value,
            "unparsed": self.scored.unparsed,
            "strict": self.strict.value,
            "lenient": self.lenient.value,
            "confidence": self.scored.confidence,
            "score": self.score,
        }


def grade_rows(
    rows: Sequence[Mapping[str, Any]], reading: Literal["lenient", "strict"] = "lenient"
) -> list[GradedReply]:
    """Read and grade rows of any program.

    Parameters
    ----------
    rows : sequence of mapping
        Each with `task` (a dataset of the registry, perhaps `dataset/subset`; any other name is judged by its
        options and gold), `gold` (or a list of them), `output`, perhaps `question`, `options`, `kind`, `metric`.
    reading : str
        Which reading scores.

    Raises
    ------
    DataError
        If a row lacks a field or has no gold that can be read; names the row.
    """
    items = [row_item(row, number) for number, row in enumerate(rows, 1)]
    texts = [str(row["output"] if row["output"] is not None else "") for row in rows]
    task = Task("replies", "replies", tuple(items))
    read = [task.readings(item.question.id, text) for item, text in zip(items, texts, strict=True)]
    strict, lenient = (
        task.grade_all([(item.question.id, each[way].value) for item, each in zip(items, read, strict=True)])
        for way in ("strict", "lenient")
    )
    return [
        GradedReply(str(row.get("task", "")), **each, strict_score=one, lenient_score=other, reading=reading)
        for row, each, one, other in zip(rows, read, strict, lenient, strict=True)
    ]


def row_item(row: Mapping[str, Any], number: int = 1) -> Item:
    """Make an item of one row: its kind and metric from the registry, else judged by its options and gold."""
    for name in ("gold", "output"):
        if name not in row:
            raise DataError(
                f"row {number}: no {name!r}\n    a row has task, question, options (if any), gold and output; "
                f"this one has: {', '.join(row)}"
            )
    text = str(row.get("question") or "")
    options = options_of(row, "options") or options_in(text)
    entry = _entry(str(row.get("task") or ""))
    named = str(row.get("kind") or (entry.kind if entry else ""))
    try:
        golds = [written_instructions(row["gold"])] if named == "instructions" else CONVERTERS["plain"](row["gold"], ())
    except DataError as error:
        raise DataError(f"row {number}: {error}") from None
    if not golds:
        raise DataError(f"row {number}: its gold is empty\n    a gold is a text, a number or a list of them")
    kind = named or _judged(golds, options)
    labels = tuple(row.get("labels") or (entry.labels if entry else ()))
    canonical = _canonical(kind, options, labels, golds)
    if canonical is None:
        kind = _judged(golds, options)
        entry, canonical = None, _canonical(kind, options, labels, golds)
    if canonical is None:
        raise DataError(f"row {number}: no {kind} in its gold {str(row['gold'])[:80]!r}\n    give the row a `kind`")
    metric = row.get("metric") or (
        entry.metric_name if entry and entry.kind == kind else DatasetEntry("", kind=kind).metric_name
    )
    return Item(Question(str(number), text, options), canonical, kind, str(metric), labels)


def options_in(text: str) -> tuple[tuple[str, str], ...]:
    """Options that a question's text ends in: lines `(A) ...` or `A. ...`, or `A)... B)...` after `Options:`."""
    found = split_options(text)[1]
    if found:
        return found
    lines = [(label, option.strip()) for label, option in _OPTION_LINES.findall(text)]
    if _consecutive(lines):
        return tuple(lines)
    tail = text.rpartition("Options:")[2] if "Options:" in text else ""
    inline = [(label, option.strip()) for label, option in _OPTIONS_INLINE.findall(tail)]
    return tuple(inline) if _consecutive(inline) else ()


def _consecutive(options: Sequence[tuple[str, str]]) -> bool:
    return len(options) > 1 and [label for label, _ in options] == [chr(65 + place) for place in range(len(options))]


def _judged(golds: Sequence[str], options: tuple[tuple[str, str], ...]) -> str:
    """The kind that golds and options look like."""
    bare = [gold.strip().strip("()") for gold in golds]
    known = {part for option in options for part in option}
    if all(len(gold) == 1 and gold.isupper() for gold in bare) or known.issuperset(bare):
        return "choice"
    if all(gold.lower() in _YES_NO for gold in bare):
        return "yesno"
    return "number" if all(canonical_number(gold) is not None for gold in golds) else "text"


def _canonical(
    kind: str, options: tuple[tuple[str, str], ...], labels: tuple[str, ...], golds: Sequence[str]
) -> tuple[str, ...] | None:
    reader = kind_named(kind, options, labels)
    spelled = [reader.canonical(gold) for gold in golds]
    return tuple(gold for gold in spelled if gold is not None) if None not in spelled else None


def _entry(task: str) -> DatasetEntry | None:
    """The registry's entry for a task name of any spelling: `mmlu_pro/history`, `GSM8k`, `bbh/navigate`."""
    name, _, subset = task.partition("/")
    found = _by_plain_name().get(_plain(name))
    return found.of_subset(subset) if found else None


@lru_cache(maxsize=1)
def _by_plain_name() -> Mapping[str, DatasetEntry]:
    names = {_plain(name): entry for name, entry in registry().items()}
    return names | {"arcc": names["arcchallenge"], "squadv2": names["squad2"], "squadv1": names["squad"]}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def summary(graded: Sequence[GradedReply]) -> str:
    """Return the mean scores of graded replies by task and in all, as a table for a terminal.

    Raises
    ------
    ValueError
        If there are no replies.
    """
    if not graded:
        raise ValueError("no graded reply to summarise")
    by_task = by_key((each.task, each) for each in graded)
    groups = {**by_task, "all": [*graded]} if len(by_task) > 1 else by_task
    width = max(4, *map(len, groups))
    micro = fmean(each.score for each in graded)
    by_tasks = fmean(fmean(each.score for each in replies) for replies in by_task.values())
    lines = [
        f"{'task':<{width}}  replies  score strict/lenient  unread strict/lenient",
        *(f"{task:<{width}}  {_summary_line(replies)}" for task, replies in groups.items()),
        f"\nmicro average {micro:.1%} (over replies), macro average {by_tasks:.1%} (over tasks)",
    ]
    stated = sum(each.scored.confidence is not None and not 0 <= each.scored.confidence <= 1 for each in graded)
    return "\n".join([*lines, *([f"{stated} stated confidences lie outside 0 to 1"] if stated else [])])


def _summary_line(replies: Sequence[GradedReply]) -> str:
    strict, lenient = (fmean(getattr(each, way) for each in replies) for way in ("strict_score", "lenient_score"))
    unread = [fmean(float(getattr(each, way).value is None) for each in replies) for way in ("strict", "lenient")]
    return f"{len(replies):>7}  {strict:>12.1%}{lenient:>8.1%}  {unread[0]:>13.1%}{unread[1]:>8.1%}"
