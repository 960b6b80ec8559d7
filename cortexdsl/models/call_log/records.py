"""Write and validate the lines of a call log."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from typing import Any

from cortexdsl.checksums import LineState, line_state
from cortexdsl.core import EMPTY, NO_USAGE, Call, FunctionCall, Reply, Usage
from cortexdsl.models.call_keys import functions_of, plain
from cortexdsl.models.call_log.append_log import SCHEMA_VERSION, parse
from cortexdsl.models.endpoints.credentials import without_credentials
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import MOST_TOKENS, Raw, TokenCounts

CHARACTERS_PER_TOKEN = 4
_ALWAYS_COUNTED = ("prompt_tokens", "completion_tokens")
# The fields of the index come first, so that a line with a valid checksum need not be parsed for them.
_HEAD = re.compile(
    rb'\{"schema_version": 2, "key": "([^"\\]+)", "error": (null|"(?:[^"\\]|\\.)*"), "attempts": (\d+), '
    rb'"retries": \{[^{}]*\}, "usage": \{"prompt_tokens": (\d+), "completion_tokens": (\d+)'
    rb'(?:, "cached_tokens": \d+)?(?:, "cache_write_tokens": \d+)?(?:, "cache_write_1h_tokens": \d+)?\}, '
    rb'"dollars": (null|[0-9][0-9.e+-]*), '
)


def call_record(
    key: str,
    call: Call,
    raw: Raw | None,
    *,
    seconds: float,
    attempts: int,
    retries: Mapping[str, int] = EMPTY,
    error: str | None = None,
    dollars: float | None = None,
    failure: Failure | None = None,
    lost: Usage = NO_USAGE,
) -> dict[str, Any]:
    """Return one line of the call log.

    `parameters` are the model's options and `api_base` is the address as the spec writes it; with the messages and the
    seed they make the key. `usage` has counts of the provider's cache if the server gives them. `dollars` is the cost
    of the call if its price is known. For a failure both are those of its last attempt. `lost` sums up the failed
    attempts before that are billed, if there are any. `retries` counts all of them by kind. `reasoning`,
    `reasoning_tokens`, `tokens` (of each its characters and log-probability), the functions that were offered, those
    that the model calls and what goes back with them come last, if there are any. Text is written with JSON's escapes,
    so that NUL characters and lone surrogates are restored as they were.
    """
    record = {
        "schema_version": SCHEMA_VERSION,
        "key": key,
        "error": error,
        "attempts": attempts,
        "retries": {kind: retries[kind] for kind in sorted(retries)},
        "usage": _usage(raw.usage if raw is not None else _usage_of_failure(failure)),
        "dollars": dollars,
        **({"lost": _lost(lost)} if lost.attempts else {}),
        "seconds": round(seconds, 4),
        "finish_reason": raw.finish_reason if raw is not None else None,
        "seed_refused": raw.seed_refused if raw is not None else False,
        "model": call.model.model,
        "api_base": without_credentials(call.model.api_base),
        "parameters": plain(call.model.options),
        "seed": call.seed,
        "messages": [dict(message) for message in call.messages],
        "reply": raw.text if raw is not None and error is None else None,
    }
    if call.images:
        record["images"] = [image.digest for image in call.images]
    thought = raw.reasoning if raw is not None else failure.reasoning if failure is not None else ""
    if thought:
        record["reasoning"] = thought
    if raw is not None and raw.reasoning_tokens is not None:
        record["reasoning_tokens"] = raw.reasoning_tokens
    if raw is not None and raw.tokens and error is None:
        record["tokens"] = [list(token) for token in raw.tokens]
    record |= functions_of(call)
    if raw is not None and raw.requests and error is None:
        record["requests"] = [[each.id, each.name, each.arguments] for each in raw.requests]
        record |= {"returned": plain(raw.returned)} if raw.returned else {}
    return record


def _lost(lost: Usage) -> dict[str, Any]:
    return {
        "attempts": lost.attempts,
        "prompt_tokens": lost.input_tokens,
        "completion_tokens": lost.output_tokens,
        "dollars": lost.dollars,
    }


def _usage_of_failure(failure: Failure | None) -> TokenCounts:
    """Return the counts of a failed attempt: no tokens if the model has not worked, unknown if nobody counted."""
    if failure is None or failure.may_have_cost or failure.usage.prompt_tokens is not None:
        return TokenCounts() if failure is None else failure.usage
    return TokenCounts(0, 0)


def _usage(usage: TokenCounts) -> dict[str, int | None]:
    """Return the counts of a call; those of a provider's cache only if the server counts them."""
    counts = usage._asdict()
    return {name: count for name, count in counts.items() if count is not None or name in _ALWAYS_COUNTED}


def reply_of(record: Mapping[str, Any]) -> Reply:
    """Return the reply that a log line holds."""
    prompt, completion = paid_tokens(record)
    return Reply(
        key=record["key"],
        text=record.get("reply") or "",
        finish_reason=record.get("finish_reason"),
        prompt_tokens=prompt,
        completion_tokens=completion,
        error=record.get("error"),
        reasoning=record.get("reasoning") or "",
        reasoning_tokens=record.get("reasoning_tokens"),
        tokens=tuple((characters, logprob) for characters, logprob in record.get("tokens") or ()),
        requests=tuple(FunctionCall(*each) for each in record.get("requests") or ()),
        returned=record.get("returned") or EMPTY,
    )


def paid_tokens(record: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and of the reply over all attempts that are billed; None if not counted."""
    usage, lost = record.get("usage") or {}, record.get("lost") or {}
    counts = (usage.get(name) for name in _ALWAYS_COUNTED)
    prompt, completion = (
        None if count is None else count + lost.get(name, 0)
        for name, count in zip(_ALWAYS_COUNTED, counts, strict=True)
    )
    return prompt, completion


def paid_dollars(record: Mapping[str, Any]) -> float | None:
    """Return the dollars of a call with those of its failed attempts; None if its price is not known."""
    dollars, lost = record.get("dollars"), record.get("lost") or {}
    return dollars if not lost.get("dollars") else (dollars or 0.0) + lost["dollars"]


def read_call(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line of a log of calls or embeddings, or None if it is corrupt or has invalid fields.

    Raises
    ------
    RecordError
        If a newer version wrote it.
    """
    record = parse(line)
    if record is None:
        return None
    if "vector" in record:
        return record if _is_embedding(record) else None
    # The writer of a line of this version computed its checksum, so its types are as they were written.
    is_ours = record.get("schema_version") == SCHEMA_VERSION and "messages" in record and "reply" in record
    return record if is_ours or _is_call(record) else None


def usage_of_line(line: bytes) -> tuple[str, Usage] | None:
    """Return the key and the usage of a line, or None if it is corrupt; a line with a valid checksum is not parsed.

    Raises
    ------
    RecordError
        If a newer version wrote it.
    """
    head = _HEAD.match(line)
    if head is not None and line_state(line) is LineState.WHOLE:
        key, error, attempts, prompt, completion, dollars = head.groups()
        cost = 0.0 if dollars == b"null" else float(dollars)
        usage = Usage(1, int(prompt), int(completion), cost, attempts=int(attempts), failed=int(error != b"null"))
        return key.decode("utf-8", "replace"), usage
    record = read_call(line)
    return None if record is None else (record["key"], usage_of(record))


def usage_of(record: Mapping[str, Any]) -> Usage:
    """Return the usage of a call by its record, with that of its failed attempts.

    If a server counted no tokens, four characters count as one, so that limits hold there, too.
    """
    if "vector" in record:  # the first line of a batch of texts has the cost of all
        tokens, dollars = record["tokens"] or 0, record["dollars"] or 0.0
        return Usage(input_tokens=tokens, dollars=dollars, attempts=record["calls"])
    prompt, completion = paid_tokens(record)
    lost = record.get("lost") or {}
    if prompt is None:
        prompt = estimated_tokens(record.get("messages") or ()) + lost.get("prompt_tokens", 0)
    if completion is None:
        written = sum(len(record.get(part) or "") for part in ("reply", "reasoning"))
        written += sum(len(arguments) for _, _, arguments in record.get("requests") or ())
        completion = written // CHARACTERS_PER_TOKEN + lost.get("completion_tokens", 0)
    is_failure = record.get("error") is not None
    dollars, attempts = paid_dollars(record) or 0.0, record.get("attempts") or 1
    cached = (record.get("usage") or {}).get("cached_tokens") or 0
    return Usage(1, prompt, completion, dollars, 0.0, attempts, int(is_failure), cached)


def estimated_tokens(messages: Any) -> int:
    """Return the estimated tokens of a prompt: a quarter of its characters."""
    return sum(len(message["content"]) for message in messages) // CHARACTERS_PER_TOKEN


def _is_call(record: Mapping[str, Any]) -> bool:
    text, error = record.get("reply"), record.get("error")
    usage, messages = record.get("usage"), record.get("messages", [])
    if not (isinstance(text, str) if error is None else isinstance(error, str)):
        return False
    thought, thought_tokens = record.get("reasoning", ""), record.get("reasoning_tokens")
    if record.get("tokens") is not None or record.get("requests") is not None:  # no version before this one had any
        return False
    if not isinstance(thought, str) or not (thought_tokens is None or is_count(thought_tokens, MOST_TOKENS)):
        return False
    if usage is not None and not isinstance(usage, dict):
        return False
    counts = ((usage or {}).get(name) for name in TokenCounts._fields)
    dollars, attempts = record.get("dollars"), record.get("attempts", 1)
    return (
        all(count is None or is_count(count, MOST_TOKENS) for count in counts)
        and (dollars is None or is_amount(dollars))
        and is_count(attempts, 1_000_000)
        and isinstance(record.get("finish_reason"), str | None)
        and isinstance(messages, list)
        and all(isinstance(m, dict) and isinstance(m.get("content"), str) for m in messages)
    )


def _is_embedding(record: Mapping[str, Any]) -> bool:
    tokens, dollars = record.get("tokens", ""), record.get("dollars", "")
    try:
        base64.b64decode(record["vector"], validate=True)
    except (TypeError, ValueError):
        return False
    return (
        is_count(record.get("calls"), 1_000_000)
        and (tokens is None or is_count(tokens, MOST_TOKENS))
        and (dollars is None or is_amount(dollars))
    )


def is_count(value: object, most: int) -> bool:
    """Say whether a value of JSON is a whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_amount(value: object) -> bool:
    """Say whether a value of JSON is a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1e300 and math.isfinite(value)
