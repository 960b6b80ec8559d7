"""What a chat completion of the OpenAI protocol says, by whatever client it was fetched. No field of it is trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from cortexdsl.models.reach.failures import NO_COMPLETION, Failure, Kind
from cortexdsl.models.transports.reasoning import reasoning_field, separated
from cortexdsl.models.transports.tokens import tokens_of
from cortexdsl.models.transports.transport import MOST_TOKENS, Raw
from cortexdsl.terms import TOOL_CALLED

_CACHE_READS = ("cache_read_input_tokens", "prompt_cache_hit_tokens")
"""Names for the tokens of a prompt that a provider read from its cache: Anthropic's and DeepSeek's."""
_CACHE_WRITES = ("cache_creation_tokens", "cache_write_tokens")
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")


def read_completion(body: bytes, *, seed_refused: bool) -> Raw:
    """Read the body of a chat completion of the OpenAI protocol.

    Bytes that are not UTF-8 become U+FFFD, and counts of a `usage` that cannot be read are unknown: the reply is paid
    for, so a defect beside its text does not lose it.

    Raises
    ------
    Failure
        Malformed if it is not JSON or not a chat completion; content filter if it holds nothing but a refusal.
    """
    try:
        said = json.loads(body.decode("utf-8", "replace").removeprefix("\ufeff"))
        choice, usage = said["choices"][0], said.get("usage")
        message, finish_reason = choice["message"], choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Failure(Kind.MALFORMED, NO_COMPLETION) from None
    if not isinstance(message, Mapping):
        raise Failure(Kind.MALFORMED, NO_COMPLETION)
    logprobs = choice.get("logprobs")
    return completion(message, finish_reason, usage, seed_refused=seed_refused, logprobs=logprobs)


def completion(message: Any, finish_reason: Any, usage: Any, *, seed_refused: bool, logprobs: Any = None) -> Raw:
    """Return what a chat completion says.

    What the model thought is told apart from what it says, whether it came in a field of its own or in tags. A finish
    reason that is no word is `other`, one that is no text is none; a count of tokens that is no whole number up to
    10**12 is unknown.

    Parameters
    ----------
    message, usage, logprobs : mapping or object
        As they were parsed, or as a client gives them; `usage` and `logprobs` may be None.

    Raises
    ------
    Failure
        Malformed where the content is no text, or tools are called in its place; content filter where there is a
        refusal in its place.
    """
    content = _field(message, "content")
    refusal = _field(message, "refusal") or _field(_field(message, "provider_specific_fields"), "refusal")  # litellm's
    if content is None and refusal:
        raise Failure(Kind.CONTENT_FILTER, f"the model refused: {refusal}")
    if content is None and _field(message, "tool_calls"):
        raise Failure(Kind.MALFORMED, f"{TOOL_CALLED}, and none was offered")
    if content is not None and not isinstance(content, str):
        raise Failure(Kind.MALFORMED, "the content of the reply is no text")
    reason = finish_reason if isinstance(finish_reason, str) else None
    if reason is not None and not _WORD.fullmatch(reason):
        reason = "other"
    text, in_tags = separated(content or "")
    thought = "\n\n".join(filter(None, (reasoning_field(message).strip(), in_tags)))
    text = text.strip() if thought else text  # clients that take the tags out themselves leave the lines between
    details = _field(usage, "prompt_tokens_details")
    return Raw(
        text,
        reason,
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        cached_tokens=_first(_count(details, "cached_tokens"), *(_count(usage, name) for name in _CACHE_READS)),
        cache_write_tokens=_first(
            *(_count(details, name) for name in _CACHE_WRITES), _count(usage, "cache_creation_input_tokens")
        ),
        seed_refused=seed_refused,
        reasoning=thought,
        reasoning_tokens=_count(_field(usage, "completion_tokens_details"), "reasoning_tokens"),
        tokens=tokens_of(logprobs, text) if logprobs is not None else (),
    )


def _first(*counts: int | None) -> int | None:
    """Return the first count that is known and not 0; else 0 if one is known, else None."""
    known = [count for count in counts if count is not None]
    return next((count for count in known if count), 0) if known else None


def _field(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, Mapping) else getattr(owner, name, None)


def _count(usage: Any, name: str) -> int | None:
    n = _field(usage, name)
    return n if isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= MOST_TOKENS else None
