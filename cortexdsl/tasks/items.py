"""From a row of a dataset to a question and its golds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.registry import Entry
from cortexdsl.tasks.sources.fields import field, options_of, passage_of, split_options
from cortexdsl.tasks.sources.golds import CONVERTERS
from cortexdsl.tasks.sources.images import images_of
from cortexdsl.tasks.task import Item
from cortexdsl.terms import Image, Question


def _numbered(number: int) -> str:
    return f"row {number}"


def items_of(
    entry: Entry,
    rows: Iterable[Mapping[str, Any]],
    where: Callable[[int], str] = _numbered,
    folder: Callable[[], Path] = Path,
) -> Iterator[Item]:
    """Yield one item a row, ids made unique within the dataset.

    Parameters
    ----------
    entry : Entry
    rows : iterable of mapping
    where : function
        From a row's number to what a message calls its place.
    folder : function
        Gives the folder that paths in the row being read start from.

    Raises
    ------
    DataError
        If a row lacks the question or a gold that can be read; names the row and the columns that it has.
    """
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows, 1):
        subset = _text(field(row, entry.subset_field)) or _text(row.get("subset"))
        item = _item(entry.of_subset(subset), row, where(number), folder())
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
        yield item


def _item(entry: Entry, row: Mapping[str, Any], place: str, folder: Path) -> Item:
    text = _required(entry, row, place, "question")
    options = options_of(row, entry.options)
    if isinstance(entry.options, Mapping) and "inside" in entry.options and options:
        text = split_options(text)[0]
    answer = field(row, entry.answer)
    if answer is None:
        raise _lacks(entry, row, place, "answer")
    labels = entry.labels or tuple(str(label) for label in field(row, entry.labels_field, ()) or ())
    kind = kind_named(entry.kind, options, labels)
    said = CONVERTERS[entry.gold](answer, options)
    gold = tuple(dict.fromkeys(canonical for each in said if (canonical := kind.canonical(each)) is not None))
    if not gold:
        raise DataError(
            f"dataset {entry.name}, {place}: no {entry.kind} in its answer {str(answer)[-80:]!r}\n"
            "    is this the right kind, and the right field?"
        )
    context = passage_of(field(row, entry.context))
    images = images_of(row, entry.images, folder, f"dataset {entry.name}, {place}")
    question = Question(
        id=_identity(entry, row, text, context, images),
        text="\n".join(part for part in (text, entry.ask) if part),
        options=options,
        context=context,
        cluster=_cluster(entry, row),
        images=images,
    )
    plain = {key: str(value) for key, value in row.items() if isinstance(value, str | int) and len(str(value)) < 200}
    withheld = {*_names(entry.answer), *_names(entry.question)}
    return Item(
        question, gold, entry.kind, entry.metric_name, labels, {k: v for k, v in plain.items() if k not in withheld}
    )


def _identity(entry: Entry, row: Mapping[str, Any], text: str, context: str, images: Sequence[Image]) -> str:
    """The dataset's own id, else a digest of the question: it does not move when rows are added."""
    stated = _text(field(row, entry.id))
    place = "-".join(str(row[name]) for name in ("folder", "subset", "subject") if name in row and name != entry.id)
    if stated:
        return f"{place}-{stated}" if entry.id == "id" and "folder" in row else stated
    options = "\n".join(option for _, option in options_of(row, entry.options))
    shown = (image.digest for image in images)
    digest = hashlib.sha256("\n".join((text, context, options, *shown)).encode("utf-8", "surrogatepass")).hexdigest()[
        :10
    ]
    return f"{place}-{digest}" if place else digest


def _cluster(entry: Entry, row: Mapping[str, Any]) -> str | None:
    value = _text(field(row, entry.cluster))
    if value is None or len(value) <= 60:
        return value
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _required(entry: Entry, row: Mapping[str, Any], place: str, what: str) -> str:
    value = _text(field(row, getattr(entry, what)))
    if value is None or not (value.strip() or entry.ask):
        raise _lacks(entry, row, place, what)
    return value.strip()


def _lacks(entry: Entry, row: Mapping[str, Any], place: str, what: str) -> DataError:
    wanted = " or ".join(map(repr, _names(getattr(entry, what))))
    return DataError(
        f"dataset {entry.name}, {place}: no {what} (column {wanted})\n"
        f"    the row has: {', '.join(map(str, row))}; name the column: {{file: ..., {what}: COLUMN}}"
    )


def _names(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
