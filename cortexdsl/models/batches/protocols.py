"""The batch protocols of OpenAI (`/files` and `/batches`, which others speak too) and Anthropic (`/messages/batches`).

A batch has results for single requests: each becomes a chat completion, the response with an error, or a failure.
Limits and states are those of the providers' references:
https://platform.openai.com/docs/api-reference/batch and https://docs.anthropic.com/en/api/creating-message-batches.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cortexdsl.models.batches.http import LONGEST_LINE, BatchHttp
from cortexdsl.models.rounds.lines import BatchResponse, Outcome, compact, custom_id_in, request_line
from cortexdsl.models.transports.anthropic_messages import completion_of, message_body, message_headers, message_url
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import TOO_LARGE, Failure, from_status
from cortexdsl.models.transports.interface import MOST_TOKENS
from cortexdsl.models.transports.request_parts import MOST, MOST_RENAMED
from cortexdsl.typed_json import json_at, parse_json

MARK = "cortexdsl"
"""The name in a batch's metadata for its mark, which is made here."""
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
    done : int
        Requests that ended.
    refusal : Failure or None
        Why the provider took none of its requests.
    files : tuple of str
        Addresses of the results.
    """

    word: str
    is_over: bool
    done: int
    refusal: Failure | None = None
    files: tuple[str, ...] = ()


class BatchProtocol(ABC):
    """Speaks with the batches of one address. Each method tries once and raises Failure.

    Parameters
    ----------
    http : BatchHttp
    address : str or None
        As `api_base`; None for the provider's own.
    headers : mapping
        With the key.

    Attributes
    ----------
    own_address : str
        Of the provider.
    most_requests, most_bytes : int
        Of one batch.
    has_files : bool
        The requests are uploaded as a file, and the provider's list of batches has the mark. Otherwise they are sent
        with the batch.
    """

    own_address: str
    most_requests: int
    most_bytes: int
    has_files = False
    path: str
    after: str
    """The parameter that asks for the next page of the list of batches."""

    def __init__(self, http: BatchHttp, address: str | None, headers: Mapping[str, str]) -> None:
        self._http, self._headers, self._is_own = http, headers, address is None
        self._root = (address or self.own_address).rstrip("/")
        self._batches = self._root + self.path

    @abstractmethod
    def line(self, custom_id: str, body: Mapping[str, Any]) -> bytes:
        """Return a request of the OpenAI protocol as a part of a batch."""

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def upload(self, mark: str, lines: Sequence[bytes]) -> str:
        """Upload requests and return the id of the file."""
        raise NotImplementedError

    @abstractmethod
    async def create(self, mark: str, lines: Sequence[bytes], file: str | None) -> str:
        """Make a batch and return its id."""

    async def candidates(self, mark: str, file: str | None, size: int, since: float) -> list[str]:
        """Return the batches that may have a mark, made since a time (seconds since the epoch)."""
        found: list[str] = []
        after: dict[str, str] = {}
        oldest = since - _SKEW
        for _ in range(_PAGES):
            page = await self._http.json("GET", self._batches, self._headers, params={"limit": "100", **after})
            batches = [batch for batch in page.get("data") or () if isinstance(batch, dict)]
            made = [_epoch(batch.get("created_at")) for batch in batches]
            found += [
                _id_of(batch)
                for batch, at in zip(batches, made, strict=True)
                if self._is_candidate(batch, mark, file, size) and (self.has_files or at >= oldest)
            ]
            if not page.get("has_more") or not batches or min(made) < oldest or (found and self.has_files):
                break
            after = {self.after: _id_of(batches[-1])}
        return found

    @abstractmethod
    def _is_candidate(self, batch: Mapping[str, Any], mark: str, file: str | None, size: int) -> bool: ...

    async def status(self, batch: str) -> BatchStatus:
        """Return the state of a batch."""
        return self._status(batch, await self._http.json("GET", f"{self._batches}/{batch}", self._headers))

    @abstractmethod
    def _status(self, batch: str, answer: Mapping[str, Any]) -> BatchStatus: ...

    async def results(self, status: BatchStatus) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the custom id and the outcome of each request of a batch that is over."""
        for url in status.files:
            async for line in self._http.lines(url, self._headers):
                outcome = _outcome(line, self._read)
                if outcome is not None:
                    yield outcome

    @staticmethod
    @abstractmethod
    def _read(result: Mapping[str, Any]) -> Outcome: ...


class OpenAIBatches(BatchProtocol):
    """Batches of `/chat/completions` by an uploaded file; their metadata has the mark."""

    own_address = "https://api.openai.com/v1"
    most_requests = 50_000
    most_bytes = 200 * 10**6
    has_files = True
    path = "/batches"
    after = "after"

    def line(self, custom_id: str, body: Mapping[str, Any]) -> bytes:
        """Return a line of the file; OpenAI's newer models refuse `max_tokens`, and all know its newer name."""
        names = {MOST: MOST_RENAMED} if self._is_own else {}
        return request_line(custom_id, {names.get(name, name): value for name, value in body.items()})

    async def upload(self, mark: str, lines: Sequence[bytes]) -> str:
        """Upload the file and return its id."""
        file = (f"{mark}.jsonl", b"\n".join(lines) + b"\n", "application/jsonl")
        made = await self._http.json(
            "POST", f"{self._root}/files", self._headers, files={"file": file}, data={"purpose": "batch"}
        )
        return _id_of(made)

    async def create(self, mark: str, lines: Sequence[bytes], file: str | None) -> str:
        """Make the batch and return its id."""
        content = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {MARK: mark},
        }
        return _id_of(await self._http.json("POST", self._batches, self._headers, json=content))

    def _is_candidate(self, batch: Mapping[str, Any], mark: str, file: str | None, size: int) -> bool:
        is_named = (batch.get("metadata") or {}).get(MARK) == mark
        return is_named or (file is not None and batch.get("input_file_id") == file)

    def _status(self, batch: str, answer: Mapping[str, Any]) -> BatchStatus:
        word, counts = str(answer.get("status")), answer.get("request_counts") or {}
        ids = [answer[name] for name in ("output_file_id", "error_file_id") if isinstance(answer.get(name), str)]
        done = _count(counts.get("completed")) + _count(counts.get("failed"))
        is_over = word in ("completed", "expired", "cancelled", "failed")
        refusal = _refusal(answer.get("errors")) if word == "failed" else None
        return BatchStatus(word, is_over, done, refusal, tuple(f"{self._root}/files/{name}/content" for name in ids))

    @staticmethod
    def _read(result: Mapping[str, Any]) -> Outcome:
        response = result.get("response")
        if isinstance(response, Mapping) and "body" in response:
            status = response.get("status_code")
            return BatchResponse(status if isinstance(status, int) else 200, compact(response["body"]))
        code, message = (json_at(result, "error", name) for name in ("code", "message"))
        return _without_response(str(code or ""), str(message or "the batch has no reply"))


class AnthropicBatches(BatchProtocol):
    """Message batches: requests go with the batch, which has no metadata; the mark is part of the custom ids."""

    own_address = "https://api.anthropic.com"
    most_requests = 100_000
    most_bytes = 256 * 10**6
    path = "/messages/batches"
    after = "after_id"

    def __init__(self, http: BatchHttp, address: str | None, headers: Mapping[str, str]) -> None:
        root = message_url(address or self.own_address).removesuffix("/messages")
        super().__init__(http, root, {**message_headers(None), **headers})

    def line(self, custom_id: str, body: Mapping[str, Any]) -> bytes:
        """Return a request of the batch; a batch takes no `stream`."""
        params = {name: value for name, value in message_body(body).items() if name != "stream"}
        return compact(
            {"custom_id": custom_id, "params": {**params, "model": body["model"].removeprefix("anthropic/")}}
        )

    async def create(self, mark: str, lines: Sequence[bytes], file: str | None) -> str:
        """Make the batch and return its id."""
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        headers = {**self._headers, "content-type": "application/json"}
        return _id_of(await self._http.json("POST", self._batches, headers, content=content))

    def _is_candidate(self, batch: Mapping[str, Any], mark: str, file: str | None, size: int) -> bool:
        return _sum(batch.get("request_counts")) == size

    def _status(self, batch: str, answer: Mapping[str, Any]) -> BatchStatus:
        word, counts = str(answer.get("processing_status")), answer.get("request_counts") or {}
        done = _sum(counts) - _count(counts.get("processing"))
        files = (f"{self._batches}/{batch}/results",) if word == "ended" else ()
        return BatchStatus(word, word == "ended", done, None, files)

    @staticmethod
    def _read(result: Mapping[str, Any]) -> Outcome:
        kind, error = str(json_at(result, "result", "type")), json_at(result, "result", "error")
        if kind == "succeeded":
            return BatchResponse(200, compact(completion_of(compact(json_at(result, "result", "message")))))
        if kind == "errored":
            error = json_at(error, "error") or error or {}
            status = _STATUSES.get(str(json_at(error, "type")), 500)
            return BatchResponse(status, compact({"type": "error", "error": error}))
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
    result = parse_json(line.decode("utf-8", "replace"))
    if not isinstance(result, dict) or not isinstance(result.get("custom_id"), str):
        return None if name is None else (name, Failure(FailureKind.MALFORMED, "the result in the batch is torn"))
    try:
        return result["custom_id"], read(result)
    except Failure as failure:
        return result["custom_id"], failure


PROTOCOLS: Mapping[str, type[BatchProtocol]] = {"openai": OpenAIBatches, "anthropic": AnthropicBatches}
"""The protocols by their providers."""


def _without_response(word: str, message: str) -> Failure:
    if "cancel" in word:
        # Somebody did so, maybe to stop what it costs: nothing is sent again before the next command.
        what = "the batch was cancelled at the provider"
        return Failure(FailureKind.TRANSIENT, what, is_certain=True)
    if "expired" in word:
        return Failure(FailureKind.TRANSIENT, "the batch expired before this request had its turn")
    return Failure(FailureKind.TRANSIENT, f"{word}: {message}" if word else message)


def _refusal(errors: Any) -> Failure:
    """Return why a provider refused a batch as a whole; a full queue may pass."""
    listed = json_at(errors, "data")
    first = next((error for error in listed or () if isinstance(error, Mapping)), {})
    code, message = str(first.get("code") or ""), str(first.get("message") or "no explanation")
    if "limit" in code:
        what = f"{message} (`--tokens N` in the engine's command keeps fewer waiting there)"
        return Failure(FailureKind.RATE_LIMIT, what)
    status = 404 if "not_found" in code else 400
    failure = from_status(status, json.dumps({"error": {"message": message, "code": code}}), {}, 0.0)
    return Failure(failure.kind, f"the batch was refused: {message}")


def _id_of(made: Mapping[str, Any]) -> str:
    name = made.get("id")
    if not isinstance(name, str) or not name or "/" in name:
        raise Failure(FailureKind.FOREIGN, "the server names no id for what it made")
    return name


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else 0


def _sum(counts: Any) -> int:
    return sum(map(_count, counts.values())) if isinstance(counts, Mapping) else 0


def _epoch(moment: Any) -> float:
    """Return a time in seconds since the epoch: OpenAI sends those, Anthropic a date; 0 if it is neither."""
    if isinstance(moment, int | float):
        return float(moment)
    try:
        return datetime.fromisoformat(str(moment).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def belongs_to(custom_ids: Collection[str], mark: str) -> bool:
    """Return whether requests with these custom ids are those of the batch with a mark."""
    return bool(custom_ids) and all(name.endswith(f"-{mark}") for name in custom_ids)


def custom_id_of(name: str, mark: str) -> str:
    """Return the custom id of a request in a batch: of both at most 64 letters, digits and hyphens."""
    return f"{name}-{mark}"


def name_of(custom_id: str, mark: str) -> str:
    """Return the name of a request by its custom id in a batch."""
    return custom_id.removesuffix(f"-{mark}")
