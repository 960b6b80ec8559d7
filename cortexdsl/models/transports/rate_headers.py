"""What servers say in their headers about the calls that they still allow.

OpenAI, and the many servers that follow it, send `x-ratelimit-limit-requests`, `-remaining-requests` and
`-reset-requests` (`6m0s`, `20ms`, or seconds), and the same for tokens; Anthropic sends
`anthropic-ratelimit-requests-limit` and so on, with a time in RFC 3339; OpenRouter `x-ratelimit-remaining` and
`x-ratelimit-reset` in milliseconds since the epoch; Mistral `ratelimitbysize-remaining` (tokens) and
`x-ratelimit-remaining-tokens-minute`. Azure and Mistral send what remains without the time of the reset. Sources: the
providers' pages on rate limits. `Retry-After` and OpenAI's `retry-after-ms` say how long a refused call must wait.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Literal, NamedTuple

_HEADER = re.compile(
    r"(?:anthropic|x)-ratelimit-(?:(?P<word>limit|remaining|reset)(?:-(?P<kind>requests|req|tokens))?(?:-minute)?"
    r"|(?P<kind_first>requests|tokens)-(?P<word_last>limit|remaining|reset))"
    r"|(?:x-)?ratelimitbysize-(?P<word_of_size>limit|remaining|reset)(?:-minute)?"
)
UNTOLD_RESET = 1.0
"""Seconds until a server allows more if it does not say: Azure counts in windows of 1 to 10 seconds."""
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_LONGEST = 40
_EPOCH, _EPOCH_MS = 1e9, 1e12

Kind = Literal["requests", "tokens"]


class Allowance(NamedTuple):
    """What a server still allows of one kind.

    Attributes
    ----------
    kind : str
        `requests` or `tokens`.
    remaining : float
        0 or more.
    reset : float
        Seconds until it allows more.
    """

    kind: Kind
    remaining: float
    reset: float


SERVER_HEADERS: ContextVar[list[Mapping[str, str]]] = ContextVar("SERVER_HEADERS")
"""The headers of the responses within the attempt under way; a transport adds them with `note_headers`."""


def note_headers(headers: Mapping[str, str]) -> None:
    """Keep the headers of a response for the sender of the request."""
    SERVER_HEADERS.get([]).append(headers)  # the default is for calls that are not a client's


def allowances(headers: Mapping[str, str], now: float) -> tuple[Allowance, ...]:
    """Return what a server still allows, by its headers; nothing for what it does not say or cannot be read.

    Parameters
    ----------
    headers : mapping
    now : float
        Seconds since the epoch, for times of day.
    """
    values: dict[tuple[Kind, str], str] = {}
    for name, value in headers.items():
        limit = _limit_of(name) if len(name) <= _LONGEST else None
        if limit is not None:
            values[limit] = value
    if not values:
        return ()
    kinds: tuple[Kind, ...] = ("requests", "tokens")
    return tuple(
        Allowance(kind, remaining, reset)
        for kind in kinds
        if (remaining := _number(values.get((kind, "remaining"), ""))) is not None
        and (reset := _reset(values[kind, "reset"], now) if (kind, "reset") in values else UNTOLD_RESET) is not None
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a response asks to wait, or None (also if that is unreadable)."""
    by_name = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(by_name.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    header = by_name.get("retry-after")
    if header is None:
        return None
    seconds = _number(header)
    if seconds is None:
        with suppress(ValueError, TypeError, OverflowError):
            seconds = max(0.0, parsedate_to_datetime(header).timestamp() - now)
    return seconds


@lru_cache(maxsize=256)  # each response has the same headers
def _limit_of(header: str) -> tuple[Kind, str] | None:
    """Return which limit a header speaks of (requests or tokens), and what of it (limit, remaining or reset)."""
    matched = _HEADER.fullmatch(header.lower())
    if matched is None:
        return None
    is_of_tokens = matched["word_of_size"] or "tokens" in (matched["kind"], matched["kind_first"])
    return "tokens" if is_of_tokens else "requests", matched["word"] or matched["word_last"] or matched["word_of_size"]


def _number(text: str) -> float | None:
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _reset(text: str, now: float) -> float | None:
    """Return seconds from now: from a number of seconds, a duration, a time since the epoch, or a time of day."""
    text = text.strip()[:_LONGEST]
    number = _number(text)
    if number is not None:
        if number >= _EPOCH:
            return max(0.0, (number / 1000 if number >= _EPOCH_MS else number) - now)
        return number
    duration = seconds_of(text)
    if duration is not None:
        return duration
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - now) if moment.tzinfo is not None else None


def seconds_of(text: str) -> float | None:
    """Return the seconds of a duration such as `6m0s` or `20ms`; None if it is not one."""
    duration = _DURATION.fullmatch(text)
    if not text or duration is None:
        return None
    days, hours, minutes, seconds, milliseconds = (float(part or 0) for part in duration.groups())
    return days * 86_400 + hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
