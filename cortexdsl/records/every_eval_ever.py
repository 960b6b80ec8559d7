"""Samples of Every Eval Ever with several turns, as lines of the plain import format.

The schema lets messages have further keys. Those that `cortexdsl export` writes are read: `speaker`, `model`, `stage`,
`round`, `turn` and `heard`. Without them there is one agent, and each of its messages is a round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from cortexdsl.errors import DataError

Row = Mapping[str, Any]
_KEYS = {"evaluation_id", "evaluation_name", "model_id", "sample_id", "interaction_type"}


def is_every_eval_ever(row: Any) -> bool:
    """Return whether a parsed line is a sample of Every Eval Ever."""
    return isinstance(row, dict) and set(row) >= _KEYS


def every_eval_ever_line(row: Row) -> dict[str, Any]:
    """Return a sample in the plain format.

    Raises
    ------
    DataError
        The sample lacks a field, or no model said anything in its messages.
    """
    try:
        return _line(row)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"this sample does not have the form of Every Eval Ever: {what}") from None


def _line(row: Row) -> dict[str, Any]:
    replies = [one for one in row.get("messages") or () if one["role"] == "assistant" and one.get("content")]
    if not replies:
        raise ValueError("it has no message of a model; only samples of several turns can be imported")
    places = _places(replies)
    names, rounds = list(dict.fromkeys(map(_speaker, replies))), sorted(set(places))
    texts: dict[tuple[str, tuple[int, int]], list[str]] = {}
    for message, place in zip(replies, places, strict=True):
        texts.setdefault((_speaker(message), place), []).append(message["content"])
    models = {_speaker(message): str(message.get("model") or row["model_id"]) for message in reversed(replies)}
    asked, facts = row["input"], row.get("metadata") or {}
    epoch = str(facts.get("epoch", "1"))
    finals = [one["extracted_value"] for one in row["answer_attribution"] if one["is_terminal"]]
    line = {
        "id": row["sample_id"],
        "dataset": row["evaluation_name"],
        "cell": row["model_id"].rpartition("/")[2],
        "replicate": int(epoch) if epoch.isdecimal() else 1,
        "agents": {name: ["\n\n".join(texts.get((name, place), ())) or None for place in rounds] for name in names},
        "models": [models[name] for name in names],
        "heard": _heard(replies, places, rounds),
        "question": asked["raw"],
        "choices": _choices(asked.get("choices")),
        "answer": next(iter(asked["reference"]), None),
        "final": finals[-1] if finals else None,
    }
    return {word: value for word, value in line.items() if value is not None}


def _choices(texts: Sequence[str] | None) -> Sequence[str] | None:
    """Return the choices without letters before them (`A: 4`), if all have theirs."""
    labelled = list(zip(ascii_uppercase, texts or (), strict=False))
    is_labelled = all(text.startswith(f"{letter}: ") for letter, text in labelled)
    return [text[3:] for _, text in labelled] if labelled and is_labelled else texts


def _speaker(message: Row) -> str:
    return str(message.get("speaker") or "agent")


def _places(replies: Sequence[Row]) -> list[tuple[int, int]]:
    """Return (stage, round) of each reply; without a round it is the number of earlier replies of its speaker."""
    earlier: Counter[str] = Counter()
    places = []
    for message in replies:
        name = _speaker(message)
        places.append((int(message.get("stage", 0)), int(message.get("round", earlier[name]))))
        earlier[name] += 1
    return places


def _heard(
    replies: Sequence[Row], places: Sequence[tuple[int, int]], rounds: Sequence[tuple[int, int]]
) -> list[list[list[str]]] | None:
    """Return the pairs [speaker, listener] of each round after the first; None if messages do not say them."""
    if not all("heard" in message and "turn" in message for message in replies):
        return None
    turns = {
        (place[0], message["turn"]): (_speaker(message), place) for message, place in zip(replies, places, strict=True)
    }
    pairs: dict[tuple[int, int], set[tuple[str, str]]] = {place: set() for place in rounds}
    for message, place in zip(replies, places, strict=True):
        for turn in message["heard"]:
            speaker, spoken = turns.get((place[0], turn), ("", place))
            if spoken < place and speaker != _speaker(message):
                pairs[place].add((speaker, _speaker(message)))
    return [[list(pair) for pair in sorted(pairs[place])] for place in rounds[1:]]
