"""The files of replies: what an engine wrote, and one line for each request after its job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from cortexdsl.models.rounds.lines import BatchResponse, Outcome, compact
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.typed_json import parse_json

MISSING = "missing"
"""The code of the error in the line of a request that the engine has not answered."""
_SERVER_ERROR = 500
_HEAD = re.compile(rb'\{"custom_id":"([0-9a-f]{32})"')
_FILE_BITS = 40  # of the offset in a place, which is the number of a file and an offset in one integer


def reply_in(line: bytes) -> tuple[str, Outcome] | None:
    """Return the custom id and the outcome that a line in OpenAI's batch format holds; None if it is not such a line.

    vLLM reports a request that failed by a `response` with a status and no body, and an `error`.
    """
    content = parse_json(line)
    name = content.get("custom_id") if isinstance(content, dict) else None
    if not isinstance(name, str) or not ("response" in content or "error" in content):
        return None
    response = content.get("response")
    status = response.get("status_code") if isinstance(response, dict) else None
    if isinstance(response, dict) and isinstance(response.get("body"), dict):
        return name, BatchResponse(status if isinstance(status, int) else 200, compact(response["body"]))
    error = content.get("error")
    inner = error.get("error", error) if isinstance(error, dict) else error
    if isinstance(inner, dict) and inner.get("code") == MISSING:
        return name, Failure(FailureKind.MALFORMED, str(inner.get("message")))
    if inner:
        codes = [status, inner.get("code") if isinstance(inner, dict) else None]
        known = next((code for code in codes if isinstance(code, int) and 400 <= code < 600), _SERVER_ERROR)
        return name, BatchResponse(known, compact({"error": inner}))
    return name, Failure(FailureKind.MALFORMED, "the line of the reply has neither a response nor an error")


def missing_line(name: str, why: str) -> bytes:
    """Return the line of a request that the engine has not answered."""
    return compact({"custom_id": name, "response": None, "error": {"code": MISSING, "message": why}})


def read_replies(path: Path, known: Mapping[str, object]) -> dict[str, BatchResponse]:
    """Return the replies in what an engine wrote: the first line of each request; a line that is cut is left out.

    Parameters
    ----------
    path : Path
        May be absent.
    known : mapping of custom id
        The requests; lines of others are left out.
    """
    replies: dict[str, BatchResponse] = {}
    if not path.exists():
        return replies
    with path.open("rb") as file:
        for name, outcome in filter(None, map(reply_in, file)):
            if name in known and isinstance(outcome, BatchResponse):
                replies.setdefault(name, outcome)
    return replies


class ReplyFiles:
    """The replies of all earlier rounds by the keys of their calls; the texts stay on disk.

    Parameters
    ----------
    paths : sequence of Path
        In the order of the rounds.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._open: dict[int, BinaryIO] = {}
        self._first: dict[bytes, int] = {}
        self._more: dict[bytes, list[int]] = {}
        for number, path in enumerate(self._paths):
            for name, offset in _places(path):
                place = number << _FILE_BITS | offset
                if self._first.setdefault(name, place) != place:
                    self._more.setdefault(name, []).append(place)

    def outcomes(self, key: str) -> Iterator[Outcome]:
        """Yield the outcomes of a call, those of earlier rounds first."""
        name = bytes.fromhex(key)
        places = [self._first[name], *self._more.get(name, ())] if name in self._first else []
        for place in places:
            found = reply_in(self._line(place))
            if found is not None:
                yield found[1]

    def _line(self, place: int) -> bytes:
        number, offset = place >> _FILE_BITS, place & ((1 << _FILE_BITS) - 1)
        if number not in self._open:
            self._open[number] = self._paths[number].open("rb")
        self._open[number].seek(offset)
        return self._open[number].readline()

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            file.close()


def _places(path: Path) -> Iterator[tuple[bytes, int]]:
    with path.open("rb") as file:
        offset = 0
        for line in file:
            head = _HEAD.match(line)
            if head is not None:
                yield bytes.fromhex(head[1].decode("ascii")), offset
            offset += len(line)


def are_empty(paths: Iterable[Path]) -> bool:
    """Return whether no file has a line."""
    return all(path.stat().st_size == 0 for path in paths)
