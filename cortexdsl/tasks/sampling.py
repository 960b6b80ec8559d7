"""Choosing questions: a seeded order in which a larger sample continues a smaller one."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cortexdsl.core import by_key
from cortexdsl.errors import DataError
from cortexdsl.numbers import counted
from cortexdsl.tasks.task import Item


def choose_items(
    items: Sequence[Item], size: int | None, seed: int, stratify: str | None = None, ids: Sequence[str] = ()
) -> list[Item]:
    """Choose items, in an order that depends on the seed and the ids alone.

    Parameters
    ----------
    items : sequence of Item
    size : int or None
        How many; None for all.
    seed : int
    stratify : str or None
        A field: its values take turns, so that the sample is as even over them as their numbers allow.
    ids : sequence of str
        Explicit ids, in this order, instead of a sample.

    Raises
    ------
    DataError
        If an id or the field is unknown, or `size` is below 1 or above the number of items.
    """
    if ids:
        by_id = {item.question.id: item for item in items}
        missing = [identity for identity in ids if identity not in by_id]
        if missing:
            raise DataError(
                f"no question with the id {missing[0]!r}\n    ids look like {items[0].question.id!r}", word="ids"
            )
        if len(set(ids)) < len(ids):
            raise DataError("`ids` names a question twice\n    name each once", word="ids")
        return [by_id[identity] for identity in ids][:size]
    if size is not None and not 1 <= size <= len(items):
        raise DataError(
            f"{counted(size, 'question is', 'questions are')} asked for and "
            f"{counted(len(items), 'is', 'are')} there\n    ask for 1 to {len(items)}",
            word="size",
        )
    ordered = sorted(items, key=lambda item: _rank(seed, item.question.id))
    if stratify is not None:
        ordered = _in_turns(ordered, stratify)
    return ordered[:size]


def _in_turns(items: Sequence[Item], stratify: str) -> list[Item]:
    check_field(items, "stratify", stratify)
    strata = by_key((item.fields[stratify], item) for item in items)
    turns = [
        (place, order, item) for order, stratum in enumerate(strata.values()) for place, item in enumerate(stratum)
    ]
    return [item for _, _, item in sorted(turns, key=lambda turn: turn[:2])]


def check_field(items: Sequence[Item], word: str, name: str) -> None:
    """Reject a field of questions that not every question has.

    Raises
    ------
    DataError
    """
    if any(name not in item.fields for item in items):
        known = sorted({field for item in items for field in item.fields})
        raise DataError(f"{word}: not every question has a field {name!r}\n    fields: {', '.join(known)}", word=word)


def with_shuffled_options(item: Item, seed: int) -> Item:
    """Return an item whose options' texts have changed places, by a draw of the seed and its id alone.

    Labels stay in their order, and the gold follows its text.
    """
    options = item.question.options
    places = list(range(len(options)))
    random.Random(f"options-{seed}-{item.question.id}").shuffle(places)
    labels = [label for label, _ in options]
    moved: Mapping[str, str] = {labels[old]: labels[new] for new, old in enumerate(places)}
    shuffled = tuple((labels[new], options[old][1]) for new, old in enumerate(places))
    gold = tuple(moved.get(label, label) for label in item.gold)
    return replace(item, question=replace(item.question, options=shuffled), gold=gold)


def _rank(seed: int, identity: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{identity}".encode("utf-8", "surrogatepass")).digest()
