"""Kinds of failures, and the table of rules that tells which kind an error of a server is.

Providers use the same status, and often the same words, for failures that need opposite reactions. The first rule that
applies decides. Codes come before words, because messages quote words of other failures (a limit per minute ends with
the address of a billing page). A new wording of a provider is a new line of the table, and one of
`tests/models/transports/test_situations.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from cortexdsl.models.transports.rate_headers import seconds_of
from cortexdsl.typed_json import parse_json


class FailureKind(Enum):
    """A class of failures, with how a message to the user begins (its value) and what the user can do.

    Attributes
    ----------
    remedy : str
    is_retried : bool
        The same request may succeed a little later.
    is_outage : bool
        It may be the server that is gone, and not the call that is wrong.
    is_data : bool
        The failure is a fact about this call alone, to be logged and counted, and no end of the run.
    """

    remedy: str
    is_retried: bool
    is_outage: bool
    is_data: bool

    RATE_LIMIT = (
        "rate limit", "lower `limits: connections`, or run again later: finished calls are kept", "retried",
    )  # fmt: skip
    TRANSIENT = (
        "the server failed or could not be reached",
        "see that the server runs and answers at this address, then run again: finished calls are kept",
        "retried outage",
    )
    QUOTA = "the quota is spent", "add credit at the provider, then run again: finished calls are kept"
    CONTEXT_WINDOW = "context window exceeded", "send less, or use a model with a longer context", "data"
    CONTENT_FILTER = "content filter", "use another model or provider for this text", "data"
    AUTHENTICATION = (
        "authentication failed",
        "set the environment variable with the API key (`api_key_env: NAME` chooses another variable)",
    )
    BAD_REQUEST = (
        "the request was refused",
        "correct the model entry of the spec (name and options); `drop: [NAME]` there leaves a parameter out",
    )
    NOT_FOUND = "not found", "correct `model` or `api_base` (an OpenAI-compatible address usually ends in /v1)"
    # Data only once the retries are used up: a model that is cut off at its first token may answer the second time.
    MALFORMED = "malformed reply", "see that the address speaks the protocol of the model's entry", "retried data"
    # A web page or another program may stand at the address of a server that is about to start.
    FOREIGN = (
        "no model answers there",
        "see that `api_base` is the address of a model server (it usually ends in /v1), and that it is up",
        "retried outage",
    )
    TOOL = "the tool failed", "correct the function, or give it more `seconds`", "data"

    def __new__(cls, words: str, remedy: str, treatment: str = "") -> FailureKind:
        """Make a kind from its words, its remedy, and the treatments that apply."""
        kind = object.__new__(cls)
        kind._value_, kind.remedy = words, remedy
        kind.is_retried, kind.is_outage, kind.is_data = (
            word in treatment.split() for word in ("retried", "outage", "data")
        )
        return kind

    @property
    def slug(self) -> str:
        """The kind as logs and tallies call it: `rate_limit`."""
        return self.name.lower()


NO_STATUS = 0
"""The status of an error that came inside a response with status 200, without a code that is a status."""
_CODE_FIELDS = frozenset({"code", "type", "status", "reason", "error_type", "__type"})
_WAIT = re.compile(
    r'"retrydelay":\s*"(?P<google>\d+(?:\.\d+)?s)"'  # Google's RetryInfo
    r"|(?:please )?(?:re)?try (?:again )?(?:in|after) (?P<words>(?:\d+h)?(?:\d+m(?!s))?(?:\d+(?:\.\d+)? ?m?s)?)",
)


@dataclass(frozen=True)
class ServerError:
    """An error as a server words it.

    Attributes
    ----------
    status : int
        Of HTTP, or `NO_STATUS`.
    codes : frozenset of str
        All values of `code`, `type`, `status` and `reason` in the body, in lower case.
    words : str
        The whole body, in lower case.
    """

    status: int
    codes: frozenset[str]
    words: str

    @classmethod
    def read(cls, status: int, body: str) -> ServerError:
        """Read the body of an error, JSON or not."""
        return cls(status, frozenset(_codes(parse_json(body))), body.lower())

    @cached_property
    def wait(self) -> float | None:
        """The seconds that the words ask to wait; None if they name none, or if the quota of a day is used."""
        match = _WAIT.search(self.words)
        text = match and (match["google"] or match["words"])
        return seconds_of(text.replace(" ", "")) if text and "perday" not in self.words else None


def _codes(content: Any, depth: int = 0) -> Iterator[str]:
    """Yield the codes in an error body; some gateways put the error of the provider into one of their own."""
    if depth > 6:
        return
    if isinstance(content, list):
        for part in content:
            yield from _codes(part, depth + 1)
    elif isinstance(content, dict):
        for name, value in content.items():
            if name.lower() in _CODE_FIELDS and isinstance(value, str | int):
                yield str(value).lower()
            yield from _codes(value, depth + 1)


class Rule:
    """One line of the table.

    Parameters
    ----------
    kind : FailureKind
    *statuses : int
        The statuses that it is for; none: all.
    codes : str
        Separated by spaces.
    words : tuple of str
        Patterns. It applies if one of the codes is in the body, or one of these matches; always if it has neither.
    has_wait : bool
        It applies only if the body says how long to wait.
    """

    def __init__(
        self, kind: FailureKind, *statuses: int, codes: str = "", words: tuple[str, ...] = (), has_wait: bool = False
    ) -> None:
        self.kind, self.statuses, self.has_wait = kind, statuses, has_wait
        self.codes, self.words = frozenset(codes.split()), re.compile("|".join(words)) if words else None

    def applies(self, error: ServerError) -> bool:
        """Say whether an error is of this kind."""
        if (self.statuses and error.status not in self.statuses) or (self.has_wait and error.wait is None):
            return False
        if not self.codes and self.words is None:
            return True
        return bool(self.codes & error.codes) or (self.words is not None and self.words.search(error.words) is not None)


_REFUSED = (400, 403, 413, 422, 429, NO_STATUS)

RULES: tuple[Rule, ...] = (
    # OpenAI (429) and Groq (413) call one request that is larger than the limit of a minute a rate limit. It never
    # fits, so waiting is of no use; other questions may be shorter.
    Rule(FailureKind.CONTEXT_WINDOW, *_REFUSED, words=("request too large",)),
    # The account has no money left. Only codes that say nothing else: DeepSeek, Moonshot, DashScope, Zhipu, Anthropic.
    Rule(
        FailureKind.QUOTA,
        codes="insufficient_quota billing_hard_limit_reached billing_not_active billing_error "
        "exceeded_current_quota_error arrearage insufficient_balance insufficient_user_quota 1113",
    ),
    Rule(FailureKind.QUOTA, 402),
    # Moderation of one prompt. OpenRouter and xAI send it with 403, others with 400. Zhipu's code is 1301.
    Rule(
        FailureKind.CONTENT_FILTER, *_REFUSED, 451,
        codes="content_filter content_policy_violation responsibleaipolicyviolation data_inspection_failed "
        "datainspectionfailed invalid_prompt moderation_blocked sensitivecontentdetected "
        "inputtextsensitivecontentdetected outputtextsensitivecontentdetected 1301",
        words=(
            "content_filter", "content_policy", "content policy", "content management policy", "responsibleaipolicy",
            "content filtering policy",  # Anthropic
            "content exists risk",  # DeepSeek
            "considered high risk",  # Moonshot
            "data_inspection_failed", "inappropriate content",  # DashScope
            "violates? (?:our |the )?(?:usage|content|safety)", "safety_check_type",  # xAI
            "requires moderation", "input was flagged",  # OpenRouter
            "flagged as potentially violating",  # OpenAI
        ),
    ),
    # One prompt is too long. llama.cpp sends 400, its older versions 500.
    Rule(
        FailureKind.CONTEXT_WINDOW, *_REFUSED, 500,
        codes="context_length_exceeded exceed_context_size_error model_context_window_exceeded "
        "string_above_max_length request_too_large",
        words=(
            "context_length_exceeded", "context[ _]length", "context window", "context size", "maximum context",
            "too many tokens", "prompt (?:is )?too long", "input is too long",  # Cohere, Anthropic, Ollama, Bedrock
            "maximum prompt length",  # xAI
            "longer than the maximum model length", "too long to fit into the model",  # vLLM
            r"tokens.{0,60} must be <= ?\d", r"inputs?` must have less than \d+ tokens",  # TGI, Together
            "exceeds the maximum number of tokens", "exceeded model token limit",  # Gemini, Moonshot
            "range of input length should be", "reduce the length of the messages",  # DashScope, Groq
        ),
    ),
    # A body that a proxy finds too large is one long prompt, too.
    Rule(FailureKind.CONTEXT_WINDOW, 413),
    # Limits that pass by themselves. Google calls its limits of a minute a quota, and says how long to wait.
    Rule(FailureKind.RATE_LIMIT, 429, has_wait=True),
    Rule(
        FailureKind.RATE_LIMIT, 400, 403, 429, NO_STATUS,
        codes="rate_limit_exceeded rate_limit_error rate_limit_reached_error rate_limited limit_requests "
        "limit_burst_rate throttling throttling.ratequota throttlingexception",
        words=("per ?minute",),
    ),
    # Messages of accounts without money that come without a code: Anthropic (400), xAI (403), Google's quota of a day.
    Rule(
        FailureKind.QUOTA, 400, 403, 429, NO_STATUS,
        words=(
            "exceeded your current quota", "credit balance", "insufficient (?:balance|credits?|funds|quota)",
            "insufficient_quota", "payment required", "used all available credits", "monthly spending limit",
        ),
    ),
    Rule(FailureKind.RATE_LIMIT, 429),
    # A timeout, a conflict, a request that came too early. 424: the model behind TGI or SageMaker failed. 498: Groq's
    # flexible tier has no capacity.
    Rule(FailureKind.TRANSIENT, 408, 409, 424, 425, 498),
    Rule(FailureKind.AUTHENTICATION, 401, 403),
    # Google refuses a wrong key with 400.
    Rule(FailureKind.AUTHENTICATION, 400, codes="api_key_invalid", words=("api key not valid",)),
    Rule(FailureKind.NOT_FOUND, 404),
    # Errors without a status: by their words; an error whose words say nothing may pass.
    Rule(FailureKind.RATE_LIMIT, NO_STATUS, words=("rate.?limit", "too many requests", "throttl")),
    Rule(
        FailureKind.TRANSIENT, NO_STATUS,
        words=("overloaded", "unavailable", "capacity", "time.?out", "timed out", "try again", "internal",
               "server.error"),
    ),
    Rule(FailureKind.AUTHENTICATION, NO_STATUS, words=("api.?key", "unauthorized", "authenticat", "permission")),
    Rule(FailureKind.NOT_FOUND, NO_STATUS, words=("not.found", "does not exist", "no such model")),
    Rule(
        FailureKind.BAD_REQUEST, NO_STATUS, words=("invalid", "bad.request", "unsupported", "not supported", "must be")
    ),
    Rule(FailureKind.TRANSIENT, NO_STATUS),
)  # fmt: skip


def kind_by_rules(error: ServerError) -> FailureKind:
    """Return the kind of an error by the first rule that applies; else by the class of its status."""
    by_status = FailureKind.TRANSIENT if error.status >= 500 else FailureKind.BAD_REQUEST
    return next((rule.kind for rule in RULES if rule.applies(error)), by_status)
