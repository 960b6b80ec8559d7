"""Convert a row of a dataset to a question and its golds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from cortexdsl.core import Image, Question, canonical_value
from cortexdsl.errors import DataError
from cortexdsl.tasks.grading.instructions import written_instructions
from cortexdsl.tasks.grading.tolerance import WITHIN
from cortexdsl.tasks.pairs import content_of, has_equal_replies, texts_of_pair, with_clusters, with_labels, with_ties
from cortexdsl.tasks.reading.code import (
    ProgramFrame,
    checked_tests,
    examples_in,
    function_under_test,
    is_expression,
    signature_of,
    solution_program,
)
from cortexdsl.tasks.reading.kinds import OPEN, kind_named
from cortexdsl.tasks.reading.number import Mark
from cortexdsl.tasks.reading.pair import ASK, SIDES
from cortexdsl.tasks.registry import DatasetEntry
from cortexdsl.tasks.sources.images import images_of
from cortexdsl.tasks.sources.values import (
    CONVERTERS,
    field,
    has_column,
    is_latex,
    lines_of,
    options_of,
    passage_of,
    split_options,
)
from cortexdsl.tasks.task import Item


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a dataset, and what is odd about its rows; rows count from 1.

    Attributes
    ----------
    items : tuple of Item
    rows : int
        How many rows were read.
    unanswered : tuple of int
        Rows whose answer is empty or lacking; they make no item.
    repeated : tuple of (int, int)
        Rows that ask the question of an earlier row, which stands first.
    contradictory : tuple of (int, int, str, str)
        Those of them whose answer is another one, and both answers.
    equal : tuple of int
        Rows with two equal replies; they make no item.
    """

    items: tuple[Item, ...]
    rows: int
    unanswered: tuple[int, ...] = ()
    repeated: tuple[tuple[int, int], ...] = ()
    contradictory: tuple[tuple[int, int, str, str], ...] = ()
    equal: tuple[int, ...] = ()


def _numbered(number: int) -> str:
    return f"row {number}"


def read_items(
    entry: DatasetEntry,
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    where: Callable[[int], str] = _numbered,
    folder: Callable[[], Path] = Path,
) -> Items:
    """Make one item of each row, with ids that are unique within the dataset.

    Parameters
    ----------
    entry : DatasetEntry
    rows : iterable of (int, mapping)
        Each with its number.
    where : function
        From a row's number to what a message calls its place.
    folder : function
        Gives the folder that paths in the row being read start from.

    Raises
    ------
    DataError
        If a row lacks the question, has an answer that cannot be read, or no row has an answer; names the row and
        the columns that it has.
    """
    items: list[Item] = []
    seen: Counter[str] = Counter()
    first: dict[bytes, tuple[int, tuple[str, ...]]] = {}
    unanswered: list[int] = []
    repeated, contradictory, equal = [], [], []
    pairs: dict[tuple[str, frozenset[str]], int] = {}
    count, lacks = 0, None
    for number, row in rows:
        count += 1
        subset = _text(field(row, entry.subset_field)) or _text(row.get("subset"))
        part = entry.of_subset(subset)
        if _is_unanswered(part, row):
            if part.kind != "pair":
                _required(part, row, where(number), "question")
            lacks = lacks or _lacks(part, row, where(number), "answer")
            unanswered.append(number)
            continue
        item = _item(part, row, where(number), folder())
        if item.kind == "pair":
            place = pairs.setdefault(content_of(item), len(items))
            if has_equal_replies(item):
                equal.append(number)
            if place < len(items):
                items[place] = with_labels(items[place], item)
            if has_equal_replies(item) or place < len(items):
                continue
        identity = item.question.id
        seen[identity] += 1
        if seen[identity] > 1:
            if entry.once:  # one row an evidence on the hub
                continue
            if field(row, entry.id) is not None:
                raise DataError(
                    f"dataset {entry.name}, {where(number)}: a second question with the id {identity!r}\n"
                    "    ids must be unique"
                )
            item = replace(item, question=replace(item.question, id=f"{identity}-{seen[identity]}"))
        earlier, gold = first.setdefault(_content(item.question), (number, item.gold))
        if earlier != number:
            repeated.append((earlier, number))
            if set(gold) != set(item.gold):
                contradictory.append((earlier, number, " or ".join(gold), " or ".join(item.gold)))
        items.append(item)
    if lacks is not None and not items:
        raise lacks
    return Items(
        tuple(with_clusters(with_ties(items)) if entry.kind == "pair" else items),
        count,
        tuple(unanswered),
        tuple(repeated),
        tuple(contradictory),
        tuple(equal),
    )


def _content(question: Question) -> bytes:
    """Return a digest of what a question shows, whatever its id."""
    shown = question.text, question.options, question.context, [image.digest for image in question.images]
    return hashlib.blake2b(repr(shown).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _is_unanswered(entry: DatasetEntry, row: Mapping[str, Any]) -> bool:
    answer = field(row, entry.answer)
    if entry.kind == OPEN:
        return False
    if isinstance(answer, str) and not answer.strip():
        return entry.gold != "answers_or_none"  # there, an empty answer means "no answer"
    return answer is None


def _item(entry: DatasetEntry, row: Mapping[str, Any], place: str, folder: Path) -> Item:
    try:
        text, options = _asked(entry, row, place)
        context = passage_of(field(row, entry.context))
    except DataError as error:
        raise DataError(f"dataset {entry.name}, {place}: {error}") from None
    if entry.kind == "choice" and entry.options is not None and not options:
        raise DataError(f"dataset {entry.name}, {place}: no options\n    fill in the cell, or remove the row")
    if isinstance(entry.options, Mapping) and "inside" in entry.options and options:
        text = split_options(text)[0]
    answer = None if entry.kind == OPEN else field(row, entry.answer)
    labels = entry.labels or tuple(str(label) for label in field(row, entry.labels_field, ()) or ())
    decimal: Mark = entry.decimal if isinstance(answer, str) else "."
    kind = kind_named(entry.kind, options, labels, decimal)
    also = field(row, entry.aliases)
    values, frame, solution = (answer,) if also is None else (answer, also), None, ("", "")
    said = [text for value in values for text in CONVERTERS[entry.gold](value, options)]
    if entry.kind in ("code", "instructions"):
        try:
            if entry.kind == "code":
                frame, said = _program(entry, row, text, said)
            else:
                said = [written_instructions(answer, field(row, entry.settings))]
        except DataError as error:
            raise DataError(f"dataset {entry.name}, {place}, column {columns(entry.answer)}: {error}") from None
    if frame is not None:
        solution = _solution(entry, row, frame, f"dataset {entry.name}, {place}")
    spelled = [canonical for each in said if (canonical := kind.canonical(each)) is not None]
    gold = tuple(spelled if entry.kind == "pair" else dict.fromkeys(spelled))  # each label of a pair is a vote
    unread = next((each for each in said if kind.canonical(each) is None), None)
    if unread is not None or not (gold or entry.kind == OPEN):
        shown = str(answer if unread is None else unread)[-80:]
        kind_words = "name of the better reply" if entry.kind == "pair" else entry.kind
        at = f"{place}, column {columns(entry.answer)}"
        what = f"dataset {entry.name}, {at}: no {kind_words} in its answer {shown!r}"
        raise DataError(f"{what}\n    {_gold_remedy(entry, str(answer), options)}")
    digits = field(row, entry.digits)
    images = images_of(row, entry.images, folder, f"dataset {entry.name}, {place}")
    question = Question(
        id=_identity(entry, row, text, context, options, images),
        text="\n".join(part for part in (text, entry.ask, *lines_of(field(row, entry.shown))) if part),
        options=options,
        context=context,
        cluster=_cluster(entry, row),
        images=images,
    )
    plain = {key: str(value) for key, value in row.items() if isinstance(value, str | int) and len(str(value)) < 200}
    withheld = {*names_of(entry.answer), *names_of(entry.question), *(names_of(entry.solution) if frame else ())}
    return Item(
        question,
        gold,
        entry.kind,
        entry.metric_name if digits is None else f"{WITHIN}{canonical_value(Fraction(5, 10 ** (int(digits) + 1)))}",
        labels,
        {k: v for k, v in plain.items() if k not in withheld},
        entry.decimal,
        frame,
        *solution,
    )


def _program(
    entry: DatasetEntry, row: Mapping[str, Any], text: str, said: Sequence[str]
) -> tuple[ProgramFrame, list[str]]:
    """Return what a question says about its programs, and its tests as programs."""
    stated = lines_of(field(row, entry.examples))
    tested = ("\n".join(stated), *said)
    name = _text(field(row, entry.entry)) or next(filter(None, map(function_under_test, tested)), "")
    examples = examples_in("\n".join(stated) if stated else text, name) or tuple(filter(None, map(str.strip, stated)))
    if wrong := next((example for example in examples if not is_expression(example)), None):
        what = f"its example {wrong[:60]!r} is not an expression"
        raise DataError(f"{what}\n    write calls, such as {name or 'add'}(1, 2)")
    frame = ProgramFrame(name, signature_of(text, name), examples)
    setup = [line for column in entry.setup for line in lines_of(field(row, column))]
    return frame, [checked_tests("\n".join([*setup, tests]), frame) for tests in said]


def _solution(entry: DatasetEntry, row: Mapping[str, Any], frame: ProgramFrame, place: str) -> tuple[str, str]:
    """Return the program of a row's own solution, and where it is; empty texts if the row has none."""
    column = next((name for name in names_of(entry.solution) if _text(row.get(name))), "")
    if not column:
        return "", ""
    place, program = f"{place}, column {column!r}", solution_program(str(row[column]), frame)
    if not program:
        what = f"{place}: there is no program{f' that defines {frame.entry}' if frame.entry else ''}"
        raise DataError(f"{what}\n    correct it, or leave the cell empty")
    return program, place


def _gold_remedy(entry: DatasetEntry, answer: str, options: Sequence[tuple[str, str]]) -> str:
    """Return what to do about an answer that is not of its dataset's kind."""
    if entry.kind == "choice" and options:
        labels = ", ".join(label for label, _ in options)
        counting = " (numbers of JSON count the options from 0)" if answer.strip().isdecimal() else ""
        return f"write the label of the right option, one of {labels}{counting}"
    if entry.kind == "pair":
        return "write which reply is better: A, B or tie"
    if entry.kind == "number" and is_latex(answer):
        return "for mathematics in LaTeX write kind: expression"
    return "is this the right kind, and the right field?"


def _asked(entry: DatasetEntry, row: Mapping[str, Any], place: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the text and the options of a question."""
    if entry.kind != "pair":
        return _required(entry, row, place, "question"), options_of(row, entry.options)
    if entry.options is None:
        raise DataError("no replies\n    name their columns: choices: [COLUMN, COLUMN]")
    request, replies = texts_of_pair(row, entry.question, entry.options, entry.turn)
    if not request:
        raise _lacks(entry, row, place, "question")
    return f"{ASK}\nRequest: {request}", tuple(zip(SIDES, replies, strict=True))


def _identity(
    entry: DatasetEntry,
    row: Mapping[str, Any],
    text: str,
    context: str,
    options: Sequence[tuple[str, str]],
    images: Sequence[Image],
) -> str:
    """The dataset's own id, else a digest of the question: it does not move when rows are added."""
    stated = _text(field(row, entry.id))
    place = "-".join(str(row[name]) for name in ("folder", "subset", "subject") if name in row and name != entry.id)
    if stated:
        return f"{place}-{stated}" if entry.id == "id" and "folder" in row else stated
    joined = "\n".join(option for _, option in options)
    shown = (image.digest for image in images)
    content = "\n".join((text, context, joined, *shown))
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{place}-{digest}" if place else digest


def _cluster(entry: DatasetEntry, row: Mapping[str, Any]) -> str | None:
    value = _text(field(row, entry.cluster))
    if value is None or len(value) <= 60:
        return value
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _required(entry: DatasetEntry, row: Mapping[str, Any], place: str, what: str) -> str:
    value = _text(field(row, getattr(entry, what)))
    if value is None or not (value.strip() or entry.ask):
        raise _lacks(entry, row, place, what)
    return value.strip()


def name_rows(rows: Sequence[int]) -> str:
    """Name rows in a message: `row 4`, `rows 4, 9 and 17`; of more than ten the first ones."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > 10:
        return f"rows {', '.join(map(str, rows[:10]))} and {len(rows) - 10} more"
    return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"


def columns(names: Any) -> str:
    """Name a column in a message, or several alternatives."""
    return " or ".join(map(repr, names_of(names)))


def _lacks(entry: DatasetEntry, row: Mapping[str, Any], place: str, what: str) -> DataError:
    names = names_of(getattr(entry, what))
    if present := [name for name in names if name in row]:
        remedy = f"the cell of column {columns(present)} is empty: fill it in, or remove the row"
    else:
        remedy = f"the row has: {', '.join(map(str, row))}; name the column: {what}: COLUMN"
    return DataError(f"dataset {entry.name}, {place}: no {what} (column {columns(getattr(entry, what))})\n    {remedy}")


def path_to_rows(row: Mapping[str, Any], questions: Sequence[str]) -> list[str]:
    """Return the names that lead to rows with one of the columns; empty if the row itself has one, or no row does."""
    if any(has_column(row, question) for question in questions):
        return []
    for name, value in row.items():
        inner = value[0] if isinstance(value, list) and value else value
        if not isinstance(inner, Mapping):
            continue
        path = path_to_rows(inner, questions)
        if path or (isinstance(value, list) and any(has_column(inner, question) for question in questions)):
            return [str(name), *path]
    return []


def names_of(names: Any) -> list[str]:
    """Return a name of a column as a list of one, and several as they are."""
    return [names] if isinstance(names, str) else list(names)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
