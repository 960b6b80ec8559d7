"""A reply in its tokens: what a server says of their probabilities, laid beside the text. No field of it is trusted.

Tokens and text do not quite agree: what the model thought is no part of the text, nor is the token that ended it; space
is stripped; a character may be split over tokens, which servers then spell as U+FFFD or not at all. So tokens are laid
from the end of the text backwards, space aside, and where they do not spell it there are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cortexdsl.terms import Tokens

_ENDS = 4  # tokens after the last word, such as the one that ended the reply
_SPLIT = 4  # characters that a piece which spells none may stand for
_DIGITS = 6
_UNKNOWN = "\ufffd"


class _Piece(NamedTuple):
    """A token: its characters without space (None: it spells none), and the logarithm of its probability."""

    said: str | None
    logprob: float


def tokens_of(logprobs: Any, text: str) -> Tokens:
    """Lay the tokens of a chat completion beside the text of its reply.

    Parameters
    ----------
    logprobs : mapping or object
        The `logprobs` of a choice: its `content` lists `token`, `bytes` and `logprob`.
    text : str
        The reply, without what its model thought.

    Returns
    -------
    tuple of (int, float)
        Characters and logarithm of the probability of each token; together they are the text. Empty where the server
        gave none, one is no number (NaN, above 0), or they do not spell the text.
    """
    pieces = _pieces(_field(logprobs, "content"))
    solid = [place for place, letter in enumerate(text) if not letter.isspace()]
    if pieces is None or not solid:
        return ()
    starts = _laid(pieces, "".join(text[place] for place in solid))
    if starts is None:
        return ()
    places = [0, *(solid[start] for start, _ in starts[1:]), len(text)]
    return tuple((after - at, logprob) for (_, logprob), at, after in zip(starts, places, places[1:], strict=False))


def _laid(pieces: Sequence[_Piece], spelled: str) -> list[tuple[int, float]] | None:
    """Return where each token begins in a text without space, in order; None where they do not spell it."""
    found: list[tuple[int, float]] = []
    at, split, split_logprob, ends = len(spelled), 0, 0.0, 0
    for said, logprob in reversed(pieces):
        if at == 0:
            break
        if said == "":
            continue
        if said is None:
            split, split_logprob = split + _SPLIT, split_logprob + logprob
            continue
        gap = next((gap for gap in range(split + 1) if spelled.endswith(said, 0, max(0, at - gap))), None)
        if gap is None:
            ends += 1
            if found or ends > _ENDS:
                return None
            continue
        if gap:
            found.append((at - gap, split_logprob))
        at -= gap + len(said)
        found.append((at, logprob))
        split, split_logprob = 0, 0.0
    if 0 < at <= split:
        found.append((0, split_logprob))
        at = 0
    return found[::-1] if at == 0 else None


def _pieces(content: Any) -> list[_Piece] | None:
    if not isinstance(content, list):
        return None
    found = []
    for entry in content:
        token, logprob = _field(entry, "token"), _field(entry, "logprob")
        if (
            not isinstance(token, str)
            or isinstance(logprob, bool)
            or not isinstance(logprob, int | float)
            or not -1e300 < logprob < 0.001
        ):
            return None
        said = _said(token, _field(entry, "bytes"))
        found.append(_Piece(said, round(min(0.0, float(logprob)), _DIGITS)))
    return found


def _said(token: str, spelled: Any) -> str | None:
    if isinstance(spelled, list) and spelled and all(isinstance(b, int) and 0 <= b < 256 for b in spelled):
        try:
            token = bytes(spelled).decode()
        except UnicodeDecodeError:  # a part of a character
            return None
    return None if _UNKNOWN in token else "".join(token.split())


def _field(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, Mapping) else getattr(owner, name, None)
