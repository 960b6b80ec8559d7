"""A task: the chosen questions of one dataset, their golds, and how replies to them are read and graded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from typing import Any, Literal

from cortexdsl.core import EMPTY, Question, Reading
from cortexdsl.errors import DataError
from cortexdsl.tasks.grading.metrics import equality_of, grade_all
from cortexdsl.tasks.programs.runs import ProgramRuns
from cortexdsl.tasks.reading.beliefs import belief_format
from cortexdsl.tasks.reading.code import CodeKind, ProgramFrame
from cortexdsl.tasks.reading.kinds import KINDS, MIXED_WANT, AnswerKind, kind_named
from cortexdsl.tasks.reading.number import Mark
from cortexdsl.tasks.reading.reader import AnswerReader, answer_format

# Raised whenever a reader or grader may read or grade an old reply differently: digests of such results then differ.
READING_VERSION = 4


@dataclass(frozen=True, slots=True)
class Item:
    """One question, and the golds and groups that only scoring may see.

    Attributes
    ----------
    question : Question
    gold : tuple of str
        Acceptable answers in canonical form; more than one if the dataset accepts several. An empty
        string is SQuAD's "no answer".
    kind : str
        Answer kind: number, choice, yesno, expression, text, labels, free.
    metric : str
        How an answer is graded against the golds.
    labels : tuple of str
        The label set of kind `labels`; empty otherwise.
    fields : mapping
        The strata and groups that the dataset knows (subject, task, level ...).
    decimal : str
        The decimal mark of numbers.
    frame : ProgramFrame or None
        Of a question that asks for a program.
    solution, place : str
        The program of the dataset's own solution, if its row has one, and where it is: file, row and column.
    """

    question: Question
    gold: tuple[str, ...]
    kind: str
    metric: str
    labels: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    decimal: Mark = "."
    frame: ProgramFrame | None = None
    solution: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of a task's questions, and what a reader of a spec should know about it.

    Attributes
    ----------
    source : str
        The path of a file or folder, `hub: ID`, `generated`, or `memory`.
    rows : int
        How many rows were read, before a sample was taken.
    columns : mapping of word to column
        The columns of `question` and `answer`.
    repeated : tuple of (int, int)
        Rows, counted from 1, that ask the question of an earlier row, which is given first.
    delimiter, decimal : str or None
        The delimiter of your own CSV file, and the decimal separator of its numbers.
    revision : str or None
        The commit of a dataset of the hub, if it is known.
    is_pinned : bool
        Whether the same questions are loaded whenever the spec is run: always, except for a dataset of the hub
        without a commit.
    """

    source: str
    rows: int
    columns: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    repeated: tuple[tuple[int, int], ...] = ()
    delimiter: str | None = None
    decimal: str | None = None
    revision: str | None = None
    is_pinned: bool = True


IN_MEMORY = Origin("memory", 0)


@dataclass(frozen=True)
class Task:
    """Questions in their chosen order, and the only access to their golds.

    Attributes
    ----------
    label : str
        The dataset's name in the results.
    name : str
        The registry's name, the id of a dataset of the hub, or `own` for your own file.
    items : tuple of Item
        In an order in which a smaller sample is a prefix of a larger one.
    reading : str
        `lenient` or `strict`: which reading scores.
    group_field : str or None
        The field that macro averages are taken over (subject, task ...).
    origin : Origin
        Where the questions were read from.
    programs : ProgramRuns or None
        Runs programs, with the permission of the user. None: none is run, and none can be graded.
    """

    label: str
    name: str
    items: tuple[Item, ...]
    reading: Literal["lenient", "strict"] = "lenient"
    group_field: str | None = None
    origin: Origin = IN_MEMORY
    programs: ProgramRuns | None = None

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The chosen questions; nothing in them leads to a gold."""
        return tuple(item.question for item in self.items)

    @cached_property
    def _by_id(self) -> dict[str, Item]:
        return {item.question.id: item for item in self.items}

    @cached_property
    def clusters(self) -> Mapping[str, str | None]:
        """The cluster of each question, by its id; None for one that depends on no other."""
        return {question.id: question.cluster for question in self.questions}

    @property
    def kind(self) -> str:
        """The answer kind of all questions, or `mixed`."""
        return _one_or_mixed(item.kind for item in self.items)

    @property
    def metric(self) -> str:
        """The metric of all questions, or `mixed`."""
        return _one_or_mixed(item.metric for item in self.items)

    @cached_property
    def answer_format(self) -> str:
        """Text of `{{ answer_format }}` in templates: the last lines that a reply should have."""
        formats = {self.format_of(item.question.id) for item in self.items}
        return formats.pop() if len(formats) == 1 else answer_format(MIXED_WANT)

    def format_of(self, question_id: str) -> str:
        """`answer_format` for one question, exact even if the task mixes kinds (BBH, LongBench)."""
        item = self.item(question_id)
        return answer_format(_kind(item).want, KINDS[item.kind].form)

    def formats_of(self, question_id: str) -> Mapping[str, str]:
        """Return the variables of templates that say how a reply to a question ends."""
        want = _kind(self.item(question_id)).want
        return {"answer_format": self.format_of(question_id), "belief_format": belief_format(want)}

    def item(self, question_id: str) -> Item:
        """All about one question, its gold included.

        Raises
        ------
        DataError
            If the task did not choose such a question.
        """
        try:
            return self._by_id[question_id]
        except KeyError:
            raise DataError(
                f"dataset {self.label}: no question {question_id!r} among the {len(self.items)} chosen ones\n"
                "    the records belong to another sample: check size, seed, ids and stratify of the dataset"
            ) from None

    def reader(self, question: Question, agents: tuple[str, ...] = ()) -> AnswerReader:
        """The reader of replies to `question` by `agents`; it knows the options and labels, and no gold."""
        item = self.item(question.id)
        kind = _kind(item, self.programs)
        equal = kind.same if isinstance(kind, CodeKind) else equality_of(item.metric)
        return AnswerReader(kind, self.reading, equal, agents, question.context)

    def readings(self, question_id: str, text: str) -> dict[str, Reading]:
        """Both readings of a reply, by name (`strict`, `lenient`), whichever of them scores."""
        strict, lenient = AnswerReader(_kind(self.item(question_id), self.programs), self.reading).both(text)
        return {"strict": strict, "lenient": lenient}

    def grade(self, question_id: str, answer: str | None) -> float:
        """Score of an answer in [0, 1]; an unreadable one (None) is 0."""
        return self.grade_all([(question_id, answer)])[0]

    def grade_all(self, answers: Sequence[tuple[str, str | None]]) -> list[float]:
        """Scores of many (question id, answer) pairs at once; quicker than one by one for mathematics and programs."""
        cases = [
            (item.metric, answer, item.gold, item.labels)
            for item, answer in ((self.item(question_id), answer) for question_id, answer in answers)
        ]
        return grade_all(cases, self.programs.passes if self.programs else None)

    def gold(self, question_id: str) -> tuple[str, ...]:
        """The acceptable answers, canonical."""
        return self.item(question_id).gold

    def group(self, question_id: str) -> str | None:
        """The subject, task or subset that macro averages put the question in; None without groups."""
        return self.item(question_id).fields.get(self.group_field) if self.group_field else None

    @cached_property
    def digest(self) -> str:
        """A digest of all that scores depend on: questions, golds, kinds, metrics and the reading."""
        content = [
            [
                *(item.question.id, item.question.text, item.question.options, item.question.context),
                *(item.question.cluster, item.gold, item.kind, item.metric, item.labels),
                *(image.digest for image in item.question.images),
                *([item.decimal] if item.decimal != "." else ()),
                *([astuple(item.frame)] if item.frame else ()),
            ]
            for item in self.items
        ]
        return _digest([READING_VERSION, self.reading, content], 16)

    @cached_property
    def question_digests(self) -> tuple[str, ...]:
        """A short digest of each question, in order: what it shows, and its golds, whatever its id."""
        return tuple(_digest(_shown(item), 8) for item in self.items)

    @cached_property
    def questions_digest(self) -> str:
        """A digest of the chosen questions and their golds, in order."""
        ids = [item.question.id for item in self.items]
        return _digest([ids, self.question_digests], 16)


def _shown(item: Item) -> list[Any]:
    question = item.question
    images = [image.digest for image in question.images]
    return [question.text, question.options, question.context, images, item.gold]


def _digest(content: Any, digits: int) -> str:
    text = json.dumps(content, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def _kind(item: Item, programs: ProgramRuns | None = None) -> AnswerKind:
    return kind_named(item.kind, item.question.options, item.labels, item.decimal, item.frame, programs)


def _one_or_mixed(names: Iterable[str]) -> str:
    distinct = set(names)
    return distinct.pop() if len(distinct) == 1 else "mixed"
