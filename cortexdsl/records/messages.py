"""What other programs keep of a debate, a list of messages, as the words of the plain import format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from cortexdsl.core import by_key
from cortexdsl.errors import DataError

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """What one agent said at one time.

    Attributes
    ----------
    speaker, text : str
    id : hashable
        What other messages call it, if they say whom they heard.
    heard : collection of ids, or None
        Messages that the speaker had read, also later ones, which do not count; None: unknown.
    place : tuple of int, or None
        Orders the rounds; None: the number of earlier messages of this speaker.
    model : str
    tokens : (int or None, int or None)
        Of the prompt and of the reply.
    """

    speaker: str
    text: str
    id: Hashable = None
    heard: Sequence[Hashable] | None = None
    place: Place | None = None
    model: str = "unknown"
    tokens: tuple[int | None, int | None] = (None, None)


@contextmanager
def form_of(tool: str, what: str) -> Iterator[None]:
    """Turn the errors of a reader into one that says that `what` does not have the form of `tool`."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{what} does not have the form of {tool}: {why}\n    is the file whole?") from None


def debate_words(messages: Sequence[Message]) -> dict[str, Any]:
    """Return agents, models, who heard whom and tokens: what an agent says several times in a round is one reply.

    Raises
    ------
    ValueError
        There is no message.
    """
    if not messages:
        raise ValueError("it has no message of a model")
    places = _places(messages)
    rounds, names = sorted(set(places)), list(dict.fromkeys(message.speaker for message in messages))
    said = by_key(((message.speaker, place), message) for message, place in zip(messages, places, strict=True))
    first = {message.speaker: message for message in reversed(messages)}
    words: dict[str, Any] = {
        "agents": {
            name: ["\n\n".join(one.text for one in said.get((name, place), ())) or None for place in rounds]
            for name in names
        },
        "models": [first[name].model for name in names],
        "heard": _heard(messages, places, rounds),
    }
    for kind, word in enumerate(("prompt_tokens", "completion_tokens")):
        if any(message.tokens[kind] is not None for message in messages):
            words[word] = {name: [_sum(said.get((name, place), ()), kind) for place in rounds] for name in names}
    return words


def _places(messages: Sequence[Message]) -> list[Place]:
    earlier: Counter[str] = Counter()
    places = []
    for message in messages:
        places.append((earlier[message.speaker],) if message.place is None else message.place)
        earlier[message.speaker] += 1
    return places


def _sum(messages: Sequence[Message], kind: int) -> int | None:
    known = [count for message in messages if (count := message.tokens[kind]) is not None]
    return sum(known) if known else None


def _heard(
    messages: Sequence[Message], places: Sequence[Place], rounds: Sequence[Place]
) -> list[list[list[str]]] | None:
    """Return the pairs [speaker, listener] of each round after the first; None if a message does not say them."""
    if any(message.heard is None for message in messages):
        return None
    known = {message.id: (message.speaker, place) for message, place in zip(messages, places, strict=True)}
    pairs: dict[Place, set[tuple[str, str]]] = {place: set() for place in rounds}
    for message, place in zip(messages, places, strict=True):
        for other in message.heard or ():
            speaker, spoken = known.get(other, (message.speaker, place))
            if spoken < place and speaker != message.speaker:
                pairs[place].add((speaker, message.speaker))
    return [[list(pair) for pair in sorted(pairs[place])] for place in rounds[1:]]


def without_letters(texts: Sequence[str] | None) -> Sequence[str] | None:
    """Return choices without the letters before them (`A: 4`), if all have theirs."""
    labelled = list(zip(ascii_uppercase, texts or (), strict=False))
    is_labelled = all(text.startswith(f"{letter}: ") for letter, text in labelled)
    return [text[3:] for _, text in labelled] if labelled and is_labelled else texts
