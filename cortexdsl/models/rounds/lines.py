"""Lines of files in OpenAI's batch format: requests, and what became of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cortexdsl.models.transports.failures import Failure


@dataclass(frozen=True, slots=True)
class BatchResponse:
    """The response to one request of a file: what a server would have sent."""

    status: int
    body: bytes


Outcome: TypeAlias = BatchResponse | Failure
_CUSTOM_ID = re.compile(rb'"custom_id"\s*:\s*"([A-Za-z0-9_-]{1,64})"')


def custom_id_in(line: bytes) -> str | None:
    """Return the custom id that a line names, also if the line is cut; None if it names none."""
    named = _CUSTOM_ID.search(line)
    return named[1].decode("ascii") if named else None


def request_line(custom_id: str, body: Mapping[str, Any]) -> bytes:
    """Return a request as a line of a file."""
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def reply_line(name: str, outcome: BatchResponse) -> bytes:
    """Return a reply as a line of a file."""
    body = json.loads(outcome.body)
    return compact({"custom_id": name, "response": {"status_code": outcome.status, "body": body}, "error": None})


def compact(value: Any) -> bytes:
    """Return a value as JSON in ASCII, without spaces."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")
