"""The batch protocols of OpenAI (`/files` and `/batches`, which others speak too) and Anthropic (`/messages/batches`).

A batch has results for single requests: each becomes the response that the ordinary way would have received, or a
failure. Limits and states are those of the providers' references:
https://platform.openai.com/docs/api-reference/batch and https://docs.anthropic.com/en/api/creating-message-batches.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from cortexdsl.models.batches.http import LONGEST_LINE, BatchHttp, custom_id_in
from cortexdsl.models.batches.requests import BatchRequest, BatchResponse
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import TOO_LARGE, Failure, from_status
from cortexdsl.models.transports.interface import MOST_TOKENS

WAVE = "cortexdsl_wave"
"""The name in a batch's metadata for the id of the wave that it was made from."""
Outcome: TypeAlias = BatchResponse | Failure
_PAGES = 50
_SKEW = 3600.0
"""Seconds that the clocks of this machine and of a provider may differ."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The state of a batch.

    Attributes
    ----------
    word : str
        As the provider calls it.
    is_over : bool
    done, total : int
        Requests.
    refusal : Failure or None
        Why the provider took none of its requests.
    files : tuple of str
        What holds the results.
    """

    word: str
    is_over: bool
    done: int
    total: int
    refusal: Failure | None = None
    files: tuple[str, ...] = ()


class BatchProtocol(Protocol):
    """Speaks with the batches of one address. Each method tries once and raises Failure.

    Attributes
    ----------
    most_requests, most_bytes : int
        Of one batch.
    """

    most_requests: int
    most_bytes: int

    @property
    def upload(self) -> Callable[[str, Sequence[bytes]], Awaitable[str]] | None:
        """The function that uploads the requests of a wave and returns the id of the file; None if they need no file.

        Then requests are sent with the batch, and the provider's list of batches does not name waves.
        """
        ...

    def line(self, custom_id: str, request: BatchRequest) -> bytes:
        """Return a request as a part of a batch."""
        ...

    async def create(self, wave: str, lines: Sequence[bytes], file: str | None) -> str:
        """Make the batch of a wave and return its id."""
        ...

    async def candidates(self, wave: str, file: str | None, size: int, since: float) -> list[str]:
        """Return the batches that may have been made from a wave, made since a time (seconds since the epoch)."""
        ...

    async def status(self, batch: str) -> BatchStatus:
        """Return the state of a batch."""
        ...

    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the custom id and the outcome of each request of a batch that is over."""
        ...


def protocol_of(request: BatchRequest, http: BatchHttp) -> BatchProtocol:
    """Return the protocol for the batches of an address, from a request to a model there.

    Raises
    ------
    Failure
        Bad request if there is none.
    """
    for suffix, protocol in (("/chat/completions", OpenAIBatches), ("/messages", AnthropicBatches)):
        if request.url.endswith(suffix):
            return protocol(request.url.removesuffix(suffix), request.headers, http)
    raise Failure(FailureKind.BAD_REQUEST, f"there are no batches for requests to {request.url}")


class OpenAIBatches:
    """Batches of `/chat/completions` by an uploaded file; their metadata has the id of the wave."""

    most_requests = 50_000
    most_bytes = 200 * 10**6

    def __init__(self, root: str, headers: Mapping[str, str], http: BatchHttp) -> None:
        self._root, self._headers, self._http = root, headers, http

    def line(self, custom_id: str, request: BatchRequest) -> bytes:
        """Return a line of the file."""
        content = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": request.body}
        return _compact(content)

    async def upload(self, wave: str, lines: Sequence[bytes]) -> str:
        """Upload the file and return its id."""
        file = (f"{wave}.jsonl", b"\n".join(lines) + b"\n", "application/jsonl")
        made = await self._http.json(
            "POST", f"{self._root}/files", self._headers, files={"file": file}, data={"purpose": "batch"}
        )
        return _id_of(made)

    async def create(self, wave: str, lines: Sequence[bytes], file: str | None) -> str:
        """Make the batch and return its id."""
        content = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {WAVE: wave},
        }
        return _id_of(await self._http.json("POST", f"{self._root}/batches", self._headers, json=content))

    async def candidates(self, wave: str, file: str | None, size: int, since: float) -> list[str]:
        """Return the batches with the wave's id in their metadata, or with its file."""
        after: dict[str, str] = {}
        for _ in range(_PAGES):
            page = await self._http.json(
                "GET", f"{self._root}/batches", self._headers, params={"limit": "100", **after}
            )
            batches = [batch for batch in page.get("data") or () if isinstance(batch, dict)]
            for batch in batches:
                is_named = (batch.get("metadata") or {}).get(WAVE) == wave
                if is_named or (file is not None and batch.get("input_file_id") == file):
                    return [_id_of(batch)]
            oldest = min((_number(batch.get("created_at")) for batch in batches), default=0.0)
            if not page.get("has_more") or not batches or oldest < since - _SKEW:
                break
            after = {"after": _id_of(batches[-1])}
        return []

    async def status(self, batch: str) -> BatchStatus:
        """Return the state of a batch."""
        said = await self._http.json("GET", f"{self._root}/batches/{batch}", self._headers)
        word, counts = str(said.get("status")), said.get("request_counts") or {}
        files = tuple(said[name] for name in ("output_file_id", "error_file_id") if isinstance(said.get(name), str))
        done = _count(counts.get("completed")) + _count(counts.get("failed"))
        is_over = word in ("completed", "expired", "cancelled", "failed")
        refusal = _refusal(said.get("errors")) if word == "failed" else None
        return BatchStatus(word, is_over, done, _count(counts.get("total")), refusal, files)

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the lines of the files of results and of errors."""
        for file in status.files:
            async for line in self._http.lines(f"{self._root}/files/{file}/content", self._headers):
                outcome = _outcome(line, self._read)
                if outcome is not None:
                    yield outcome

    @staticmethod
    def _read(result: Mapping[str, Any]) -> Outcome:
        response, error = result.get("response"), result.get("error")
        if isinstance(response, Mapping) and "body" in response:
            status = response.get("status_code")
            return BatchResponse(status if isinstance(status, int) else 200, _compact(response["body"]))
        error = error if isinstance(error, Mapping) else {}
        return _without_response(str(error.get("code") or ""), str(error.get("message") or "the batch has no reply"))


class AnthropicBatches:
    """Message batches: requests go with the batch, which has no metadata; the wave's id is part of the custom ids."""

    most_requests = 100_000
    most_bytes = 256 * 10**6
    upload = None

    def __init__(self, root: str, headers: Mapping[str, str], http: BatchHttp) -> None:
        self._url, self._headers, self._http = f"{root}/messages/batches", headers, http

    def line(self, custom_id: str, request: BatchRequest) -> bytes:
        """Return a request of the batch; a batch takes no `stream`."""
        params = {name: value for name, value in request.body.items() if name != "stream"}
        return _compact({"custom_id": custom_id, "params": params})

    async def create(self, wave: str, lines: Sequence[bytes], file: str | None) -> str:
        """Make the batch and return its id."""
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        headers = {**self._headers, "content-type": "application/json"}
        return _id_of(await self._http.json("POST", self._url, headers, content=content))

    async def candidates(self, wave: str, file: str | None, size: int, since: float) -> list[str]:
        """Return the batches with as many requests, made since then; custom ids show which one is the wave's."""
        ids: list[str] = []
        after: dict[str, str] = {}
        for _ in range(_PAGES):
            page = await self._http.json("GET", self._url, self._headers, params={"limit": "100", **after})
            batches = [batch for batch in page.get("data") or () if isinstance(batch, dict)]
            made = {_id_of(batch): _epoch(batch.get("created_at")) for batch in batches}
            ids += [
                _id_of(batch)
                for batch in batches
                if made[_id_of(batch)] >= since - _SKEW and _sum(batch.get("request_counts")) == size
            ]
            if not page.get("has_more") or not batches or min(made.values()) < since - _SKEW:
                break
            after = {"after_id": _id_of(batches[-1])}
        return ids

    async def status(self, batch: str) -> BatchStatus:
        """Return the state of a batch."""
        said = await self._http.json("GET", f"{self._url}/{batch}", self._headers)
        word, counts = str(said.get("processing_status")), said.get("request_counts") or {}
        total = _sum(counts)
        files = (batch,) if word == "ended" else ()
        return BatchStatus(word, word == "ended", total - _count(counts.get("processing")), total, None, files)

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the lines of the results."""
        async for line in self._http.lines(f"{self._url}/{batch}/results", self._headers):
            outcome = _outcome(line, self._read)
            if outcome is not None:
                yield outcome

    @staticmethod
    def _read(result: Mapping[str, Any]) -> Outcome:
        inner = result.get("result")
        inner = inner if isinstance(inner, Mapping) else {}
        kind = str(inner.get("type"))
        if kind == "succeeded":
            return BatchResponse(200, _compact(inner.get("message")))
        if kind == "errored":
            error = inner.get("error")
            error = error.get("error", error) if isinstance(error, Mapping) else {}
            error = error if isinstance(error, Mapping) else {}
            status = _STATUSES.get(str(error.get("type")), 500)
            return BatchResponse(status, _compact({"type": "error", "error": dict(error)}))
        return _without_response(kind, "the batch has no reply")


_STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP statuses of Anthropic's types of errors, by https://docs.anthropic.com/en/api/errors."""


def _outcome(line: bytes, read: Any) -> tuple[str, Outcome] | None:
    """Return what a line of results says; None for a line that names no request."""
    name = custom_id_in(line)
    if len(line) >= LONGEST_LINE:
        return None if name is None else (name, Failure(FailureKind.MALFORMED, TOO_LARGE, is_certain=True))
    try:
        result = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict) or not isinstance(result.get("custom_id"), str):
        return None if name is None else (name, Failure(FailureKind.MALFORMED, "the result in the batch is torn"))
    return result["custom_id"], read(result)


def _without_response(word: str, message: str) -> Failure:
    if "cancel" in word:
        # Somebody did so, maybe to stop what it costs: nothing is sent again before the next command.
        what = "the batch was cancelled at the provider; run again to send its calls again"
        return Failure(FailureKind.TRANSIENT, what, is_certain=True)
    if "expired" in word:
        return Failure(FailureKind.TRANSIENT, "the batch expired before this request had its turn")
    return Failure(FailureKind.TRANSIENT, f"{word}: {message}" if word else message)


def _refusal(errors: Any) -> Failure:
    """Return why a provider refused a batch as a whole; a full queue may pass."""
    listed = errors.get("data") if isinstance(errors, Mapping) else None
    first = next((error for error in listed or () if isinstance(error, Mapping)), {})
    code, message = str(first.get("code") or ""), str(first.get("message") or "no explanation")
    if "limit" in code:
        what = f"{message} (`batch: {{tokens: N}}` of the model entry keeps fewer waiting there)"
        return Failure(FailureKind.RATE_LIMIT, what)
    status = 404 if "not_found" in code else 400
    failure = from_status(status, json.dumps({"error": {"message": message, "code": code}}), {}, 0.0)
    return Failure(failure.kind, f"the batch was refused: {message}")


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _id_of(made: Mapping[str, Any]) -> str:
    name = made.get("id")
    if not isinstance(name, str) or not name or "/" in name:
        raise Failure(FailureKind.FOREIGN, "the server names no id for what it made")
    return name


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else 0


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _sum(counts: Any) -> int:
    return sum(map(_count, counts.values())) if isinstance(counts, Mapping) else 0


def _epoch(value: Any) -> float:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def belongs_to(custom_ids: Collection[str], wave: str) -> bool:
    """Say whether requests with these custom ids are those of a wave."""
    return bool(custom_ids) and all(name.endswith(f"-{wave}") for name in custom_ids)


def custom_id_of(key: str, wave: str) -> str:
    """Return the custom id of a call in a wave: both names, at most 64 letters, digits and hyphens."""
    return f"{key}-{wave}"


def key_of(custom_id: str) -> str:
    """Return the key of the call with a custom id."""
    return custom_id.partition("-")[0]
