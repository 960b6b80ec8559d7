"""Failures of attempts to call a model, from HTTP responses and from exceptions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from cortexdsl.models.transports.failure_kinds import NO_STATUS, FailureKind, ServerError, kind_by_rules
from cortexdsl.models.transports.interface import TokenCounts
from cortexdsl.models.transports.rate_headers import retry_after
from cortexdsl.typed_json import json_at, parse_json

LONGEST_EXCERPT = 300


def kind_of(error: str) -> str:
    """Return the slug of the kind that the text of a logged failure begins with."""
    return next((kind.slug for kind in FailureKind if error.startswith(kind.value)), "unknown")


class Failure(Exception):  # noqa: N818 (it says what happened; the client decides whether it is an error)
    """One failed attempt.

    Attributes
    ----------
    kind : Kind
    what : str
        What the server or the client said, shortened. May hold a key until the client redacts it.
    retry_after : float or None
        Seconds that the server asks to wait.
    is_certain : bool
        Trying again would give the same (an empty reply that was cut at `max_tokens`).
    refused : str
        The parameter that the request was refused for, if the call can be sent without it: it is sent again at once.
    usage : TokenCounts
        Tokens that the server counted for an attempt that brought no reply.
    may_have_cost : bool
        The model has worked, or may have: the attempt is charged with its prompt if no tokens were counted.
    reasoning : str
        The reasoning, if the reply was cut before it began.
    """

    def __init__(
        self,
        kind: FailureKind,
        what: str,
        *,
        retry_after: float | None = None,
        is_certain: bool = False,
        usage: TokenCounts = TokenCounts(),  # noqa: B008 (frozen)
        may_have_cost: bool | None = None,
        reasoning: str = "",
    ) -> None:
        self.kind = kind
        self.usage, self.reasoning = usage, reasoning
        worked = kind in (FailureKind.MALFORMED, FailureKind.CONTENT_FILTER)
        self.may_have_cost = worked if may_have_cost is None else may_have_cost
        self.what = " ".join(what.split())[:LONGEST_EXCERPT]
        self.retry_after = retry_after
        self.is_certain = is_certain
        self.refused = ""
        super().__init__(f"{kind.value}: {self.what}")

    @property
    def is_mended(self) -> bool:
        """Whether the same call is sent otherwise from now on."""
        return bool(self.refused)


def from_status(status: int, body: str, headers: Mapping[str, str], now: float) -> Failure:
    """Return the failure that an HTTP status and an error body mean, by the table of rules.

    Parameters
    ----------
    status : int
        400 or more.
    body : str
    headers : mapping
        Looked at for the seconds to wait.
    now : float
        Seconds since the epoch, for a wait until a date.
    """
    error = ServerError.read(status, body)
    wait = retry_after(headers, now)
    wait = error.wait if wait is None else wait
    return Failure(kind_by_rules(error), f"HTTP {status}: {_message(body)}", retry_after=wait)


def error_in(body: bytes) -> Failure | None:
    """Return the failure that the body of an HTTP status 200 reports; None if it reports none.

    Gateways such as OpenRouter send `{"error": {"message": ..., "code": 429}}`, or an `error` in a choice, after the
    status has gone out. A code that is a status counts as the status.
    """
    if _ERROR not in body:
        return None
    content: Any = parse_json(body.decode("utf-8", "replace"))
    choices = json_at(content, "choices")
    # With choices, only an error in the choice counts: otherwise the reply is there.
    error = json_at(choices[0], "error") if isinstance(choices, list) and choices else json_at(content, "error")
    if not error:
        return None
    text = json.dumps({"error": error})
    codes = [str(json_at(error, name)) for name in ("code", "status", "type")]
    status = next((int(code) for code in codes if re.fullmatch("[45][0-9][0-9]", code)), NO_STATUS)
    read = ServerError.read(status, text)
    return Failure(kind_by_rules(read), f"HTTP 200 with an error: {_message(text)}", retry_after=read.wait)


_ERROR = b'"error"'
NO_COMPLETION = "the body is not a chat completion"
TOO_LARGE = "the reply is larger than 16 MB"
_NAMES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?:: | - ))+")
_NO_KEY = re.compile(r"missing (?:\w+ )?(?:credentials|api[ _]key)|api[ _]key (?:\w+ ){,4}must be set", re.IGNORECASE)
"""Errors of clients that have no key and send nothing; litellm reports a server error (OpenAI, Gemini)."""

# Exceptions that no response caused, by name, so that nothing here imports litellm. All others are told by status.
_BY_CLASS: Mapping[str, FailureKind] = {
    "ContextWindowExceededError": FailureKind.CONTEXT_WINDOW,
    "ContentPolicyViolationError": FailureKind.CONTENT_FILTER,
    "APIResponseValidationError": FailureKind.MALFORMED,
    "JSONSchemaValidationError": FailureKind.MALFORMED,
    "JSONDecodeError": FailureKind.MALFORMED,
    "Timeout": FailureKind.TRANSIENT,
    "TimeoutError": FailureKind.TRANSIENT,
    "APIConnectionError": FailureKind.TRANSIENT,
}


def from_exception(error: BaseException, now: float) -> Failure:
    """Return the failure that an exception of litellm means: one of ours below it; else by class, status and text."""
    ours = _below(error)
    if ours is not None:
        return ours
    message = _NAMES.sub("", str(error))
    names = [c.__name__ for c in type(error).__mro__]
    kind = next((_BY_CLASS[name] for name in names if name in _BY_CLASS), None)
    status = getattr(error, "status_code", None)
    if kind is None and isinstance(status, int) and status >= 400:
        kind = kind_by_rules(ServerError.read(status, message))
    if kind in (None, FailureKind.TRANSIENT) and _NO_KEY.search(message):
        kind = FailureKind.AUTHENTICATION
    # Exceptions of litellm have an empty response object of their own, and the server's headers as an attribute.
    headers = getattr(error, "litellm_response_headers", None) or {}
    is_late = "Timeout" in names or "TimeoutError" in names
    return Failure(
        kind or FailureKind.BAD_REQUEST,
        _server_words(message),
        retry_after=retry_after(headers, now),
        may_have_cost=is_late or None,
    )


def _server_words(message: str) -> str:
    """Return the server's words of an exception's text, which may end with the body as it came."""
    _, brace, body = message.partition("{")
    words = _message(brace + body) if brace else message
    return words if words != brace + body else message


def _below(error: BaseException | None) -> Failure | None:
    """Return the failure that caused an exception, if there is one: it knows more than the exception."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, Failure):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def _message(body: str) -> str:
    above = ""
    content: Any = parse_json(body)
    if content is None:
        return body or "no explanation"
    while isinstance(content, dict):
        inner = next((content[name] for name in ("error", "message", "detail", "type") if content.get(name)), None)
        if inner is None:
            break
        above = _words_of_upstream(content) or above
        content = inner
    words = content if isinstance(content, str) else json.dumps(content)
    return f"{words} ({above})" if above else words


def _words_of_upstream(error: Any) -> str:
    """Return what the provider behind OpenRouter said; empty if it is not told."""
    raw, name = json_at(error, "metadata", "raw"), json_at(error, "metadata", "provider_name")
    return f"{name or 'its provider'}: {raw}" if isinstance(raw, str) and raw else ""
