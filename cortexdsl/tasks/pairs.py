"""Questions of kind `pair`: a request with two replies, always asked in both orders.

One row is one pair. It becomes two questions, which differ in which reply is shown first, and which are one cluster. So
a judge that prefers a position contradicts itself, and intervals count a pair once.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.pair import OTHER, SIDES, TIE
from cortexdsl.tasks.sources.values import field, lines_of
from cortexdsl.tasks.task import Item

SWAPPED = "-swapped"
"""What the id of a question ends with if the second reply is shown first."""
EQUAL = "Both are equally good."

Turns: TypeAlias = tuple[tuple[str, str], ...]
"""(speaker, text) of each turn of a conversation."""
_TURN = re.compile(r"(?:\A|\n\n)(Human|Assistant):[^\S\n]*")


def other_order(identity: str) -> str:
    """Return the id of the question with the same pair in the other order."""
    return identity.removesuffix(SWAPPED) if identity.endswith(SWAPPED) else identity + SWAPPED


def texts_of_pair(row: Mapping[str, Any], question: Any, replies: Any, turn: str) -> tuple[str, tuple[str, ...]]:
    """Return the request and the two replies of a row.

    If both replies are whole conversations, as in HH-RLHF and UltraFeedback, the request is what they share.

    Parameters
    ----------
    row : mapping
    question, replies : str, list or mapping
        Words of a dataset's entry.
    turn : str
        The field with the number of the user's turn that was judged, as in MT-Bench: later ones are left out.

    Raises
    ------
    DataError
        There are not two replies.
    """
    if isinstance(replies, Mapping):
        values = [field(row, column) for column in replies["columns"]]
        where = "columns " + " and ".join(map(repr, replies["columns"]))
    else:
        values, where = list(field(row, replies) or ()), f"column {replies!r}"
        if len(values) == 1 or isinstance(field(row, replies), str):
            values = lines_of(field(row, replies))
    if len(values) != 2 or any(value is None or not str(value).strip() for value in values):
        there = sum(value is not None and bool(str(value).strip()) for value in values)
        raise DataError(f"{where}: {there} of two replies\n    name them: choices: [COLUMN, COLUMN], and fill them in")
    talks = [_turns(value) for value in values]
    if not all(talks):
        return str(field(row, question) or "").strip(), tuple(str(value).strip() for value in values)
    most = 2 * int(field(row, turn)) if field(row, turn) is not None else None
    one, other = (talk[:most] for talk in talks)
    shared = 0
    while shared < min(len(one), len(other)) - 1 and one[shared] == other[shared]:
        shared += 1
    return _written(one[:shared]), (_written(one[shared:]), _written(other[shared:]))


def _turns(value: Any) -> Turns:
    """Return the turns of a conversation; none if a value is not one."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return tuple((str(turn["role"]).capitalize(), str(turn["content"]).strip()) for turn in value)
    parts = _TURN.split(str(value).lstrip("\n") if str(value).startswith("\n\nHuman:") else str(value))
    if len(parts) < 5 or parts[0].strip():
        return ()
    return tuple((speaker, text.strip()) for speaker, text in zip(parts[1::2], parts[2::2], strict=True))


def _written(turns: Turns) -> str:
    """Write turns as a text; one turn needs no name of its speaker."""
    return turns[0][1] if len(turns) == 1 else "\n\n".join(f"{speaker}: {text}" for speaker, text in turns)


def content_of(item: Item) -> tuple[str, frozenset[str]]:
    """Return what a pair is about, in whichever order its replies are."""
    return item.question.text, frozenset(text for _, text in item.question.options)


def has_equal_replies(item: Item) -> bool:
    """Return whether the two replies are one text, so that neither can be better."""
    return len(content_of(item)[1]) == 1


def with_labels(item: Item, more: Item) -> Item:
    """Return a pair with its human labels and those of another row about the same pair."""
    is_same = item.question.options == more.question.options
    return replace(item, gold=(*item.gold, *(more.gold if is_same else map(OTHER.__getitem__, more.gold))))


def with_ties(items: Sequence[Item]) -> list[Item]:
    """Offer a tie with every question if any label of the dataset is one."""
    if not any(TIE in item.gold for item in items):
        return list(items)
    return [
        replace(item, question=replace(item.question, options=(*item.question.options, (TIE, EQUAL)))) for item in items
    ]


def with_clusters(items: Sequence[Item]) -> list[Item]:
    """Put pairs with the same request into one cluster, unless the dataset names clusters."""
    requests = Counter(item.question.text for item in items)
    return [
        replace(item, question=replace(item.question, cluster=_digest(item.question.text)))
        if item.question.cluster is None and requests[item.question.text] > 1
        else item
        for item in items
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def in_both_orders(items: Sequence[Item]) -> Iterator[Item]:
    """Yield each pair as it is, and with its replies in the other order."""
    for item in items:
        question = item.question
        first, second, *ties = (text for _, text in question.options)
        cluster = question.cluster or question.id
        yield replace(item, question=replace(question, cluster=cluster))
        options = (*zip(SIDES, (second, first), strict=True), *((TIE, text) for text in ties))
        swapped = replace(question, id=other_order(question.id), options=options, cluster=cluster)
        yield replace(item, question=swapped, gold=tuple(OTHER[label] for label in item.gold))
