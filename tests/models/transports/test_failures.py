"""Failures are told apart by status, body and exception, and waited for as the server asks."""

from __future__ import annotations

import json

import pytest

from cortexdsl.models.endpoints.retry import RetryPolicy
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import from_exception, from_status, retry_after


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"message": "slow down", "code": "rate_limit_exceeded"}, FailureKind.RATE_LIMIT),
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, FailureKind.QUOTA),
        (402, {"message": "Payment required"}, FailureKind.QUOTA),
        (400, {"message": "x", "code": "context_length_exceeded"}, FailureKind.CONTEXT_WINDOW),
        (400, {"message": "This model's maximum context length is 4096 tokens."}, FailureKind.CONTEXT_WINDOW),
        (400, {"message": "prompt is too long: 200001 tokens > 200000 maximum"}, FailureKind.CONTEXT_WINDOW),
        (400, {"message": "x", "code": "content_filter"}, FailureKind.CONTENT_FILTER),
        (400, {"message": "temperature must be below 2"}, FailureKind.BAD_REQUEST),
        (422, {"message": "field required"}, FailureKind.BAD_REQUEST),
        (401, {"message": "bad key"}, FailureKind.AUTHENTICATION),
        (403, {"message": "no access"}, FailureKind.AUTHENTICATION),
        (404, {"message": "no such model"}, FailureKind.NOT_FOUND),
        (408, {"message": "x"}, FailureKind.TRANSIENT),
        (500, {"message": "x"}, FailureKind.TRANSIENT),
        (503, {"message": "x"}, FailureKind.TRANSIENT),
        (529, {"message": "overloaded"}, FailureKind.TRANSIENT),
        (418, {"message": "x"}, FailureKind.BAD_REQUEST),
    ],
)
def test_statuses_and_bodies(status: int, error: dict[str, str], kind: FailureKind) -> None:
    """As the providers document their errors."""
    failure = from_status(status, json.dumps({"error": error}), {}, 0.0)
    assert failure.kind is kind
    assert error["message"] in failure.what
    assert str(status) in failure.what


@pytest.mark.parametrize("body", ["", "<html>bad gateway</html>", "[]", "{}", '{"detail": "x"}', '{"error": "x"}'])
def test_a_body_of_any_kind_is_told(body: str) -> None:
    assert from_status(502, body, {}, 0.0).kind is FailureKind.TRANSIENT


def test_retry_after_is_seconds_or_a_date() -> None:
    """Sun, 06 Nov 1994 08:49:37 GMT is 784111777 seconds after the epoch (the example of RFC 9110)."""
    assert retry_after({"retry-after": "2.5"}, 0.0) == 2.5
    assert retry_after({"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"}, 784111770.0) == 7.0
    assert retry_after({"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"}, 784111799.0) == 0.0
    assert retry_after({"Retry-After": "-3"}, 0.0) == 0.0
    for unreadable in ("soon", "", "nan", "Sun, 99"):
        assert retry_after({"Retry-After": unreadable}, 0.0) is None
    assert retry_after({}, 0.0) is None


class ContextWindowExceededError(Exception):
    status_code = 400


class RateLimitError(Exception):
    status_code = 429


class InternalServerError(Exception):
    status_code = 500


class APIError(Exception):
    status_code = 503


KEY = FailureKind.AUTHENTICATION  # nothing was sent: the words are those of the clients of openai 2 and litellm 1.106


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ContextWindowExceededError("x"), FailureKind.CONTEXT_WINDOW),
        (RateLimitError("slow down"), FailureKind.RATE_LIMIT),
        (RateLimitError("insufficient_quota"), FailureKind.QUOTA),
        (InternalServerError("oops"), FailureKind.TRANSIENT),
        (InternalServerError("Missing credentials. Please pass an `api_key`, or set `OPENAI_API_KEY`"), KEY),
        (InternalServerError("Missing Gemini API key. Set the GEMINI_API_KEY environment variable."), KEY),
        (ValueError("The api_key client option must be set by passing api_key to the client"), KEY),
        (APIError("x"), FailureKind.TRANSIENT),
        (TimeoutError("x"), FailureKind.TRANSIENT),
        (KeyError("x"), FailureKind.BAD_REQUEST),
    ],
)
def test_exceptions_by_class_status_and_text(error: Exception, kind: FailureKind) -> None:
    assert from_exception(error, 0.0).kind is kind


def test_waits_double_and_honour_retry_after() -> None:
    """0.5, 1, 2 ... up to 60 s; jitter takes up to a half; Retry-After is a lower bound, with a tenth on top."""
    policy = RetryPolicy()
    assert [policy.wait(attempt, None, 0.0) for attempt in (1, 2, 3, 8, 20)] == [0.5, 1.0, 2.0, 60.0, 60.0]
    assert policy.wait(2, None, 0.5) == 0.75
    assert policy.wait(1, 10.0, 0.0) == 10.0
    assert policy.wait(1, 10.0, 0.5) == 10.5
    assert policy.wait(8, 10.0, 0.0) == 60.0


def test_only_what_may_pass_is_tried_again() -> None:
    passing = {FailureKind.RATE_LIMIT, FailureKind.TRANSIENT, FailureKind.MALFORMED, FailureKind.FOREIGN}
    assert {kind for kind in FailureKind if kind.is_retried} == passing
    assert {kind for kind in FailureKind if kind.is_data} == {
        FailureKind.CONTEXT_WINDOW, FailureKind.CONTENT_FILTER, FailureKind.MALFORMED, FailureKind.TOOL,
    }  # fmt: skip
    assert all(RetryPolicy().most_attempts(kind) == 1 for kind in FailureKind if not kind.is_retried)
