"""Kinds of failed calls, and the rules by which the error of a server is one: the first that fits counts.

Codes and types come before sentences, because sentences of one kind name another one: a limit per minute ends with a
link to the settings of billing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum


class FailureKind(Enum):
    """A class of failures. The value is how a message to the user begins."""

    RATE_LIMIT = "rate limit"
    TRANSIENT = "the server failed or could not be reached"
    QUOTA = "the quota is spent"
    CONTEXT_WINDOW = "context window exceeded"
    CONTENT_FILTER = "content filter"
    AUTHENTICATION = "authentication failed"
    BAD_REQUEST = "the request was refused"
    NOT_FOUND = "not found"
    MALFORMED = "malformed reply"
    FOREIGN = "no model answers there"
    TOOL = "the tool failed"

    @property
    def slug(self) -> str:
        """The kind as logs and tallies call it: `rate_limit`."""
        return self.name.lower()

    @property
    def is_retried(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self in (FailureKind.RATE_LIMIT, FailureKind.TRANSIENT, FailureKind.MALFORMED, FailureKind.FOREIGN)

    @property
    def is_outage(self) -> bool:
        """Whether it may be the server that is gone, and not the call that is wrong."""
        return self in (FailureKind.TRANSIENT, FailureKind.FOREIGN)

    @property
    def is_data(self) -> bool:
        """Whether the failure is a fact about this call alone, to be logged and counted, and no end of the run."""
        return self in (FailureKind.CONTEXT_WINDOW, FailureKind.CONTENT_FILTER, FailureKind.MALFORMED, FailureKind.TOOL)

    @property
    def is_refusal(self) -> bool:
        """Whether every call to the model would fail alike, so that the run ends: a wrong key, an unknown parameter."""
        return not self.is_retried and not self.is_data


REMEDIES: Mapping[FailureKind, str] = {
    FailureKind.CONTEXT_WINDOW: "send less, or use a model with a longer context",
    FailureKind.TOOL: "correct the function, or give it more `seconds`",
    FailureKind.CONTENT_FILTER: "use another model or provider for this text",
    FailureKind.MALFORMED: "see that the address speaks the OpenAI protocol",
    FailureKind.RATE_LIMIT: "lower `limits: connections`, or run again later: finished calls are kept",
    FailureKind.TRANSIENT: "see that the server runs and answers at this address, then run again: finished "
    "calls are kept",
    FailureKind.QUOTA: "add credit at the provider, then run again: finished calls are kept",
    FailureKind.AUTHENTICATION: "set the environment variable with the API key (`api_key_env: NAME` chooses another "
    "variable)",
    FailureKind.BAD_REQUEST: "correct the model entry of the spec (name and options); `drop: [NAME]` there leaves a "
    "parameter out",
    FailureKind.FOREIGN: "see that `api_base` is the address of a model server (it usually ends in /v1), and that "
    "it is up",
    FailureKind.NOT_FOUND: "correct `model` or `api_base` (an OpenAI-compatible address usually ends in /v1)",
}


_REFUSED = frozenset({400, 402, 403, 404, 413, 422})
"""Statuses with which servers refuse one request for its content. 404: some gateways, for a model's limits."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of failure, recognised by words of the body in lower case.

    Attributes
    ----------
    kind : FailureKind
    words : pattern
    statuses : collection of int or None
        None: with every status.
    """

    kind: FailureKind
    words: re.Pattern[str]
    statuses: Collection[int] | None = None


def _rule(kind: FailureKind, *words: str, statuses: Collection[int] | None = None) -> Rule:
    return Rule(kind, re.compile("|".join(words)), statuses)


RULES = (
    # OpenAI and its imitators answer 429 both for a spent account and for a limit per minute; only the code tells.
    _rule(FailureKind.QUOTA, r"insufficient_quota", r"billing_hard_limit", r"billing_not_active"),
    # A request above the limit per minute never passes, however long one waits (OpenAI with 429, Groq with 413).
    _rule(FailureKind.CONTEXT_WINDOW, r"request too large", r"request_too_large"),
    _rule(FailureKind.RATE_LIMIT, r"rate_limit", r"rate limit", r"too many requests", r"per.?minute", statuses={429}),
    _rule(
        FailureKind.CONTEXT_WINDOW,
        r"context_length_exceeded",
        r"exceed_context_size",  # llama.cpp
        r"exceeds? (?:the )?(?:available |maximum |model'?s )?context",  # llama.cpp, Ollama
        r"context (?:length|window|size)",
        r"maximum context",
        r"maximum (?:model|prompt|input) length",  # vLLM, xAI
        r"longer than the maximum model",  # vLLM
        r"must be (?:<=|less than) \d+[^.]{0,80}(?:tokens|inputs)",  # Together
        r"(?:tokens|inputs)[^.]{0,80}must (?:have less than|be (?:<=|less than)) ?\d+",  # TGI
        r"too many (?:input )?tokens",
        r"prompt is too long",  # Anthropic
        r"input (?:is )?too long",  # Bedrock
        r"string_above_max_length",
        statuses=_REFUSED | {500},  # 500: Ollama
    ),
    _rule(
        FailureKind.CONTENT_FILTER,
        r"content_filter",
        r"content_policy",
        r"content management policy",
        r"content policy",
        r"responsibleaipolicy",
        r"data_?inspection_?failed",  # DashScope
        r"content exists risk",  # DeepSeek
        r"invalid_prompt",  # OpenAI's reasoning models
        r"moderation",  # OpenRouter
        r"flagged",
        r"violat\w+ [^.]{0,40}(?:guidelines|polic)",  # xAI
        r"safety_check",  # xAI
        statuses=_REFUSED,
    ),
    _rule(
        FailureKind.QUOTA,
        r"exceeded your current quota",
        r"credit balance",  # Anthropic
        r"insufficient (?:balance|credits|funds)",  # DeepSeek, OpenRouter
        r"payment required",
        r"check your billing",
        statuses={400, 402, 403, 429},
    ),
)
BY_STATUS = {
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTHENTICATION,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TRANSIENT,
    409: FailureKind.TRANSIENT,
    413: FailureKind.CONTEXT_WINDOW,  # the body of this request is too large
    424: FailureKind.TRANSIENT,  # TGI: the generation failed
    425: FailureKind.TRANSIENT,
    429: FailureKind.RATE_LIMIT,
    498: FailureKind.TRANSIENT,  # Groq: no capacity at its flexible tier
}
_BY_WORDS = (
    _rule(FailureKind.RATE_LIMIT, r"rate.?limit", r"too many requests", r"throttl"),
    _rule(
        FailureKind.TRANSIENT,
        r"overloaded", r"unavailable", r"capacity", r"time.?out", r"timed out", r"try again", r"internal",
        r"server.error",
    ),
    _rule(FailureKind.AUTHENTICATION, r"api.?key", r"unauthorized", r"authenticat", r"permission"),
    _rule(FailureKind.NOT_FOUND, r"not.found", r"does not exist", r"no such model"),
    _rule(FailureKind.BAD_REQUEST, r"invalid", r"bad.request", r"unsupported", r"not supported", r"must be"),
)  # fmt: skip


def kind_of_error(status: int, text: str, *, is_to_wait: bool = False) -> FailureKind:
    """Return the kind of an HTTP error.

    Parameters
    ----------
    status : int
        400 or more.
    text : str
        Its body in lower case.
    is_to_wait : bool
        Whether the server says when to try again: then a 429 is not a spent quota, unless its code says so.
    """
    for rule in RULES:
        if (rule.statuses is None or status in rule.statuses) and rule.words.search(text):
            is_a_minutes = status == 429 and is_to_wait and rule.kind is FailureKind.QUOTA
            if not is_a_minutes or "insufficient_quota" in text:
                return rule.kind
    return BY_STATUS.get(status, FailureKind.TRANSIENT if status >= 500 else FailureKind.BAD_REQUEST)


def kind_of_words(text: str) -> FailureKind:
    """Return the kind of an error without a status; if its words say nothing it may pass, so it is tried again."""
    for rule in RULES:
        if rule.words.search(text):
            return rule.kind
    return next((rule.kind for rule in _BY_WORDS if rule.words.search(text)), FailureKind.TRANSIENT)
