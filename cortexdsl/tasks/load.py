"""Load the task of a dataset entry: a dataset of the registry, a generated one, or your own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.numbers import counted
from cortexdsl.tasks.generated import GENERATORS
from cortexdsl.tasks.grading.metrics import check_metric
from cortexdsl.tasks.grading.tolerance import WITHIN
from cortexdsl.tasks.items import Items, columns, name_rows, names_of, path_to_rows, read_items
from cortexdsl.tasks.pairs import in_both_orders
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.reading.number import Mark
from cortexdsl.tasks.registry import DatasetEntry, entry_named, nearest
from cortexdsl.tasks.sampling import check_field, choose_items, with_shuffled_options
from cortexdsl.tasks.sources.files import delimiter_of, files_of, rows_of
from cortexdsl.tasks.sources.hub import HubTable, hub_table
from cortexdsl.tasks.sources.values import CONVERTERS, decimal_mark, field, has_column, is_latex, is_number
from cortexdsl.tasks.task import Item, Origin, Task

COLUMNS = ("question", "answer", "id", "context", "choices", "cluster", "group", "images", "entry", "examples")
"""Words of a field map that name columns."""
FIELDS = (*COLUMNS, "labels", "gold")


def own_entry(dataset: Dataset, rows: Sequence[Mapping[str, Any]], numbers: Sequence[int]) -> DatasetEntry:
    """Make an entry of a spec's field map and of the rows that it is about, which have these numbers.

    The kind, if none is given, is `choice` with choices, `labels` with labels, `number` if all answers are numbers,
    and `text` if none is.

    Raises
    ------
    DataError
        If a field, kind or gold is unknown, if some answers are numbers and others are not, or if their decimal mark
        is not certain.
    """
    words: Mapping[str, Any] = dataset.fields
    for word in words:
        if word not in FIELDS:
            raise DataError(f"dataset {dataset.label}: unknown field {word!r}{nearest(word, FIELDS)}")
    choices = words.get("choices")
    labels = tuple(map(str, words.get("labels", ())))
    answer = words.get("answer", "answer")
    shape = "choice" if choices is not None else "labels" if labels else None
    gold = str(words.get("gold", ""))
    _known(dataset, "gold", gold or "plain", CONVERTERS)
    values = [(f"row {number}", field(row, answer)) for number, row in zip(numbers, rows, strict=True)]
    answers = _answers(values, gold or "plain") if (dataset.kind or shape or "number") == "number" else []
    kind = dataset.kind or shape or _kind(dataset.label, answers)
    _known(dataset, "kind", kind, KINDS)
    return DatasetEntry(
        name=dataset.label,
        kind=kind,
        labels=labels,
        question=words.get("question", "question"),
        answer=answer,
        id=words.get("id", "id"),
        context=words.get("context"),
        cluster=words.get("cluster"),
        options=_options(choices),
        group=str(words.get("group", "")),
        gold=gold or KINDS[kind].gold,
        decimal=_decimal(dataset, values) if kind in ("number", "quantity") else ".",
        images=tuple(words.get("images", ())),
        entry=words.get("entry"),
        examples=words.get("examples"),
    )


def _options(choices: Any) -> Any:
    """Return the words of an entry for `choices`: a column with a list, or one column for each option."""
    return {"columns": choices} if isinstance(choices, list | tuple) else choices


def _check_columns(dataset: Dataset, rows: Sequence[Mapping[str, Any]], source: str) -> None:
    """Reject a column that the spec names and that no row has."""
    for word in COLUMNS:
        for column in names_of(dataset.fields.get(word) or ()):
            if rows and not any(has_column(row, column) for row in rows):
                known = nearest(column, dict.fromkeys(str(name) for row in rows for name in row), say="columns")
                raise DataError(f"{source}: {word}: there is no column {column!r}{known}", word=word)


def _known(dataset: Dataset, word: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise DataError(f"dataset {dataset.label}: unknown {word} {value!r}{nearest(value, known)}", word=word)


def _answers(values: Sequence[tuple[str, Any]], gold: str) -> list[tuple[str, str]]:
    """Return every acceptable answer that is not empty, with its place."""
    texts = ((place, text) for place, value in values for text in CONVERTERS[gold](value, ()) if value is not None)
    return [(place, text) for place, text in texts if text.strip()]


def _kind(label: str, answers: Sequence[tuple[str, str]]) -> str:
    others = [(place, value) for place, value in answers if not is_number(value)]
    if latex := next((each for each in others if is_latex(each[1])), None):
        raise DataError(
            f"dataset {label}: {latex[0]}: {latex[1][:40]!r} looks like LaTeX\n"
            "    write kind: expression for mathematics, or kind: text",
            word="file",
        )
    if not answers or len(others) == len(answers):
        return "text"
    if not others:
        return "number"
    numbers = len(answers) - len(others)
    odd = others if len(others) <= numbers else [each for each in answers if each not in others]
    shown = ", ".join(f"{place}: {value[:40]!r}" for place, value in odd[:3]) + (", ..." if len(odd) > 3 else "")
    are, are_not = ("is a number" if numbers == 1 else "are numbers"), ("is" if len(others) == 1 else "are")
    raise DataError(
        f"dataset {label}: {counted(numbers, 'answer')} {are} and {len(others)} {are_not} not ({shown})\n"
        "    mend them, or say what is asked for: kind: number, or kind: text",
        word="file",
    )


def _decimal(dataset: Dataset, values: Sequence[tuple[str, Any]]) -> Mark:
    """Return the decimal mark of answers that are texts; numbers of JSON and Parquet need none."""
    if dataset.decimal is not None:
        return dataset.decimal
    texts = [(place, value) for place, value in values if isinstance(value, str) and is_number(value)]
    return decimal_mark(texts, has_semicolons=dataset.delimiter == ";")


# The size of a generated dataset if the spec names none.
GENERATED_SIZE = 100
MOST_GENERATED = 1_000_000  # each takes about a kilobyte of memory in every job that reads them


def load(dataset: Dataset) -> Task:
    """Load the questions that a spec chooses.

    Parameters
    ----------
    dataset : Dataset
        A dataset of the registry (generated, from official files or from the hub), any other dataset of the hub,
        or your own file with a field map.

    Returns
    -------
    Task

    Raises
    ------
    DataError
        If the dataset, its files, subsets, ids, kind or metric are unknown or broken, or can be read in two ways;
        says what to do.
    """
    if dataset.name and (entry := _changed(entry_named(dataset.name), dataset)).generated:
        items = _generated(entry, dataset)
        origin = Origin("generated", len(items))
    else:
        entry, read, origin = _read_named(entry, dataset) if dataset.name else _read_own(dataset)
        items = choose_items(read.items, dataset.size, dataset.seed, dataset.stratify, dataset.ids)
    if dataset.fields.get("group"):
        check_field(items, "group", entry.group)
    if entry.kind == "pair":
        if dataset.shuffle_options:
            what = f"dataset {dataset.label}: pairs are shown in both orders, so their replies are not shuffled"
            raise DataError(f"{what}\n    remove shuffle_options", word="shuffle_options")
        items = list(in_both_orders(items))
    shuffle = entry.shuffle if dataset.shuffle_options is None else dataset.shuffle_options or entry.shuffle
    if shuffle:
        items = [with_shuffled_options(item, dataset.seed) for item in items]
    name = dataset.name or dataset.hub or "own"
    return Task(dataset.label, name, tuple(items), dataset.reading, entry.group or None, origin)


def asks_for_programs(dataset: Dataset) -> bool:
    """Return whether a dataset asks for programs, without loading it."""
    kind = dataset.kind or (entry_named(dataset.name).kind if dataset.name else "")
    return kind == "code"


# ---------------------------------------------------------------- datasets of the registry
def _changed(entry: DatasetEntry, dataset: Dataset) -> DatasetEntry:
    """Return an entry of the registry with what the spec says otherwise."""
    changes: dict[str, Any] = {}
    if dataset.kind is not None:
        if dataset.kind not in KINDS:
            raise DataError(
                f"dataset {dataset.label}: unknown kind {dataset.kind!r}{nearest(dataset.kind, KINDS)}", word="kind"
            )
        changes |= {"kind": dataset.kind, "metric": ""}
    changes |= _metric(dataset)
    if changes:
        kept = {name: {k: v for k, v in words.items() if k not in changes} for name, words in entry.subsets.items()}
        entry = _with_tolerance(replace(entry, **changes, subsets=kept), dataset)
    gold = dataset.fields.get("gold", entry.gold)
    if gold not in CONVERTERS:
        raise DataError(f"dataset {dataset.label}: unknown gold {gold!r}{nearest(gold, CONVERTERS)}", word="gold")
    fields = {"options" if k == "choices" else k: v for k, v in dataset.fields.items()}
    return replace(entry, **fields | ({"options": _options(fields["options"])} if "options" in fields else {}))


def _metric(dataset: Dataset) -> dict[str, Any]:
    """Return the metric that a spec names, or that its tolerance means."""
    name = dataset.metric if dataset.tolerance is None else f"{WITHIN}{dataset.tolerance}"
    return {} if name is None else {"metric": check_metric(name)}


def _with_tolerance(entry: DatasetEntry, dataset: Dataset) -> DatasetEntry:
    """Refuse a tolerance for answers that are not numbers."""
    kinds = {entry.kind, *(entry.of_subset(subset).kind for subset in entry.subsets)}
    if dataset.tolerance is not None and not kinds <= {"number", "quantity"}:
        raise DataError(
            f"dataset {dataset.label}: a tolerance is for numbers, and its answers are of kind {' and '.join(kinds)}\n"
            "    remove tolerance, or write kind: number",
            word="tolerance",
        )
    return entry


def _read_named(entry: DatasetEntry, dataset: Dataset) -> tuple[DatasetEntry, Items, Origin]:
    """Read a dataset of the registry from its official files, or else from the hub."""
    subsets = _subsets(entry, dataset)
    place, table = _Place(), None
    if dataset.path is not None:
        source = dataset.path
        rows: Callable[[], Iterator[Mapping[str, Any]]] = partial(
            _file_rows, entry, dataset, dataset.path, subsets, place
        )
    else:
        table = _table(entry, dataset, subsets)
        source, rows = f"hub: {table.id}", table.rows
    if dataset.fields:
        _check_columns(dataset, list(rows()), source)
    selected = (
        row
        for row in _selected(rows(), entry.subset_field, subsets)
        if all(str(field(row, name)) == value for name, value in entry.only.items())
    )
    read = read_items(entry, enumerate(selected, 1), place.of, place.folder)
    if not read.rows:
        raise DataError(f"dataset {entry.name}: no question in {source}\n    is the subset there?", word="file")
    _refuse_unanswered(entry, read, f"dataset {entry.name}, {source}")
    return entry, read, _origin(entry, read, source, table)


def _table(entry: DatasetEntry, dataset: Dataset, subsets: tuple[str, ...]) -> HubTable:
    if not entry.hub:
        raise DataError(f"dataset {entry.name}: it is on no hub\n    give the path of its files", word="name")
    configs = tuple(s for s in subsets if s in entry.hub_subsets) or entry.hub_subsets
    names = configs or subsets or tuple(entry.subsets)
    candidates = [{**each, "split": dataset.split or each.get("split", entry.split)} for each in entry.hub]
    return hub_table(candidates, names, dataset.revision)


@dataclass(slots=True)
class _Place:
    """The position of the row that is being read, for error messages: a bad row is the last that was read."""

    file: Path | None = None
    row: int = 0

    def of(self, number: int) -> str:
        """Say where a row is; its number in the whole dataset if it comes from no file."""
        return f"row {number}" if self.file is None else f"{self.file}, row {self.row}"

    def folder(self) -> Path:
        """Return the folder of the file being read."""
        return Path() if self.file is None else self.file.parent


def _file_rows(
    entry: DatasetEntry, dataset: Dataset, where: str, subsets: tuple[str, ...], place: _Place
) -> Iterator[Mapping[str, Any]]:
    split = dataset.split or entry.split
    if entry.files and split not in entry.files:
        raise DataError(f"dataset {entry.name}: no split {split!r}{nearest(split, entry.files)}", word="split")
    patterns = entry.files.get(split, ["*.jsonl", "*.json", "*.csv", "*.parquet"])
    for path, named in files_of(Path(where), patterns):
        if subsets and entry.subset_field in named and named[entry.subset_field] not in subsets:
            continue
        place.file = path
        for place.row, row in enumerate(rows_of(path, entry.records, entry.columns), 1):
            yield {**named, **row}


def _subsets(entry: DatasetEntry, dataset: Dataset) -> tuple[str, ...]:
    """The asked subsets, collections opened."""
    names: list[str] = []
    for name in dataset.subset:
        names += entry.collections.get(name, [name])
    if entry.subsets:
        for name in names:
            if name not in entry.subsets:
                raise DataError(
                    f"dataset {entry.name}: no subset {name!r}{nearest(name, entry.subsets)}", word="subset"
                )
    return tuple(dict.fromkeys(names))


def _selected(rows: Iterable[Mapping[str, Any]], name: str, subsets: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of some subsets; all rows if none is asked for."""
    met: set[str] = set()
    for row in rows:
        met.add(str(field(row, name, "")))
        if _is_of(row, name, subsets):
            yield row
    missing = [subset for subset in subsets if _slug(subset) not in {_slug(value) for value in met}]
    if missing:
        raise DataError(f"no subset {missing[0]!r}{nearest(missing[0], sorted(met))}", word="subset")


def _is_of(row: Mapping[str, Any], name: str, subsets: Sequence[str]) -> bool:
    return not subsets or _slug(str(field(row, name, ""))) in {_slug(subset) for subset in subsets}


def _slug(name: str) -> str:
    return name.lower().replace("&", "and").replace(" ", "_")


# ---------------------------------------------------------------- generated questions
def _generated(entry: DatasetEntry, dataset: Dataset) -> list[Item]:
    for word in ("path", "subset", "split", "stratify", "fields", "revision"):
        if getattr(dataset, word):
            said = {"fields": "its columns cannot be named", "path": "it takes no file"}.get(
                word, f"it takes no {word}"
            )
            raise DataError(
                f"dataset {dataset.label}: {entry.name} is generated, so {said}\n"
                "    for your own questions write file: instead of name:",
                word=word,
            )
    rows = GENERATORS[entry.name](dataset.seed)
    if dataset.ids:
        wanted = max((int(i.rsplit("-", 1)[-1]) for i in dataset.ids if i.rsplit("-", 1)[-1].isdigit()), default=1)
        items = read_items(entry, enumerate(islice(rows, min(wanted, 100_000)), 1)).items
        return choose_items(items, None, 0, None, dataset.ids)
    size = GENERATED_SIZE if dataset.size is None else dataset.size
    if size < 1:
        raise DataError(f"dataset {dataset.label}: size is {size}\n    ask for 1 question or more", word="size")
    if size > MOST_GENERATED:
        raise DataError(
            f"dataset {dataset.label}: size is {size:,}\n    ask for at most {MOST_GENERATED:,} questions", word="size"
        )
    return list(read_items(entry, enumerate(islice(rows, size), 1)).items)


# ---------------------------------------------------------------- your own questions
def _read_own(dataset: Dataset) -> tuple[DatasetEntry, Items, Origin]:
    """Read your own file, or a dataset of the hub that the registry does not have."""
    table, delimiter, folder = None, None, Path()
    if dataset.path is not None:
        path, source = Path(dataset.path), dataset.path
        folder, delimiter = path.parent, delimiter_of(path, dataset.delimiter, dataset.encoding)
        rows = list(rows_of(path, delimiter=delimiter, encoding=dataset.encoding))
        if rows and (levels := path_to_rows(rows[0], names_of(dataset.fields.get("question", "question")))):
            rows = list(rows_of(path, ".".join(levels), encoding=dataset.encoding))
    elif dataset.hub is not None:
        candidate = {"id": dataset.hub, "split": dataset.split or "test"}
        table = hub_table(
            [candidate | ({"config": dataset.config} if dataset.config else {})], revision=dataset.revision
        )
        source, rows = f"hub: {table.id}", list(table.rows())
    else:
        raise DataError(f"dataset {dataset.label}: neither a name nor a file\n    give `name:`, `file:` or `hub:`")
    numbers = [number for number, row in enumerate(rows, 1) if _is_of(row, "subset", dataset.subset)]
    selected = list(_selected(rows, "subset", dataset.subset))
    _check_columns(dataset, selected, source)
    try:
        entry = own_entry(replace(dataset, delimiter=delimiter), selected, numbers)
    except DataError as error:
        raise DataError(f"{source}: {error}", word=error.word) from None
    entry = _with_tolerance(replace(entry, **_metric(dataset)), dataset)
    numbered = zip(numbers, selected, strict=True)
    read = read_items(entry, numbered, lambda number: f"{source}, row {number}", lambda: folder)
    if not read.rows:
        raise DataError(f"dataset {entry.name}: no question in {source}\n    it has no row", word="file")
    _refuse_unanswered(entry, read, source)
    if read.contradictory:
        one, other, gold, another = read.contradictory[0]
        raise DataError(
            f"{source}: rows {one} and {other} ask the same question and have different answers, {gold} and {another}\n"
            "    keep one of them; for several right answers give one row a list of them",
            word="file",
        )
    return entry, read, replace(_origin(entry, read, source, table), delimiter=delimiter, decimal=entry.decimal)


# ---------------------------------------------------------------- both
def _refuse_unanswered(entry: DatasetEntry, read: Items, source: str) -> None:
    if read.unanswered:
        raise DataError(
            f"{source}, {name_rows(read.unanswered)}: no answer (column {columns(entry.answer)})\n"
            "    fill in the answers, or remove these rows",
            word="answer",
        )
    if read.equal:
        replies = columns(entry.options["columns"] if isinstance(entry.options, Mapping) else entry.options)
        raise DataError(
            f"{source}, {name_rows(read.equal)}: both replies are the same text, so neither is better"
            f" (column {replies})\n"
            "    remove these rows",
            word="choices",
        )


def _origin(entry: DatasetEntry, read: Items, source: str, table: HubTable | None) -> Origin:
    return Origin(
        source,
        read.rows,
        {word: " or ".join(names_of(getattr(entry, word))) for word in ("question", "answer")},
        read.repeated,
        revision=table.revision if table else None,
        is_pinned=table is None or table.is_pinned,
    )
