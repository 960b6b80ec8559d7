"""Reads chat completions of the OpenAI protocol: text, reasoning, token counts and log-probabilities.

No field is trusted. Tokens are aligned with the text from its end backwards, ignoring space, because the reasoning and
the token that ends the reply are not part of the text, and a character may be split over several tokens, which servers
then spell as U+FFFD or not at all. Tokens that do not spell the text are dropped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cortexdsl.core import TOOL_CALLED, FunctionCall, Offer, Tokens, separated
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import NO_COMPLETION, Failure
from cortexdsl.models.transports.interface import MOST_TOKENS, Raw, TokenCounts

_CACHE_READS = ("cache_read_input_tokens", "prompt_cache_hit_tokens")
"""Names for the tokens of a prompt that a provider read from its cache: Anthropic's and DeepSeek's."""
_CACHE_WRITES = ("cache_creation_tokens", "cache_write_tokens")
_WRITES, _HOUR = "cache_creation_token_details", "ephemeral_1h_input_tokens"
"""Where litellm says how many of the written tokens are kept for an hour; Anthropic's own name is the second."""
_INTERRUPTED = ("error", "insufficient_system_resource", "abort", "aborted")
"""Finish reasons of replies that a server broke off: OpenRouter's, DeepSeek's, vLLM's and SGLang's. The same call may
succeed later."""
_LENGTH = {"model_length": "length"}
"""Mistral's word for a reply that reached the end of the context."""
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")


def read_completion(body: bytes, *, seed_refused: bool, offer: Offer | None = None) -> Raw:
    """Read the body of a chat completion of the OpenAI protocol.

    Bytes that are not UTF-8 become U+FFFD, and counts of a `usage` that cannot be read are unknown: the reply is paid
    for, so a defect outside its text does not discard it.

    Raises
    ------
    Failure
        Malformed if it is not JSON or not a chat completion; content filter if it holds nothing but a refusal.
    """
    try:
        document = json.loads(body.decode("utf-8", "replace").removeprefix("\ufeff"))
        choice, usage = document["choices"][0], document.get("usage")
        message, finish_reason = choice["message"], choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Failure(FailureKind.MALFORMED, NO_COMPLETION) from None
    if not isinstance(message, dict):
        raise Failure(FailureKind.MALFORMED, NO_COMPLETION)
    logprobs = choice.get("logprobs")
    return completion(message, finish_reason, usage, seed_refused=seed_refused, logprobs=logprobs, offer=offer)


def completion(
    message: Any,
    finish_reason: Any,
    usage: Any,
    *,
    seed_refused: bool,
    logprobs: Any = None,
    offer: Offer | None = None,
) -> Raw:
    """Return what a chat completion says.

    The reasoning is separated from the reply, whether it came in a field of its own or in tags. A finish reason that is
    not a word becomes `other`, one that is not a text becomes None. A token count that is not a whole number up to
    10**12 is unknown.

    Parameters
    ----------
    message, usage, logprobs : mapping or object
        As they were parsed, or as a client gives them; `usage` and `logprobs` may be None.
    offer : Offer or None
        What the call offers: function calls are read if there may be some.

    Raises
    ------
    Failure
        Malformed if the content is not a text, or a call of a tool replaces it; content filter if a refusal replaces
        it; transient if the server broke it off.
    """
    field, counts = _reader(message), token_counts(usage)
    content, chunks = _content(field("content"))
    may_call = offer is not None and offer.form == "functions" and not offer.is_over
    requests = _function_calls(field("tool_calls")) if may_call else ()
    if requests:
        content = content or ""
    elif content is None or (isinstance(content, str) and not content.strip()):
        refusal = field("refusal") or _reader(field("provider_specific_fields"))("refusal")  # litellm's
        if refusal:
            raise Failure(FailureKind.CONTENT_FILTER, f"the model refused: {refusal}", usage=counts)
        if content is None and field("tool_calls"):
            why = "and none was offered" if offer is None else "although it was told to answer"
            raise Failure(FailureKind.MALFORMED, f"{TOOL_CALLED}, {why}", usage=counts)
    if content is not None and not isinstance(content, str):
        raise Failure(FailureKind.MALFORMED, "the content of the reply is not text", usage=counts)
    reason = finish_reason if isinstance(finish_reason, str) else None
    if reason in _INTERRUPTED:
        raise Failure(FailureKind.TRANSIENT, f"the server broke the reply off ({reason})", usage=counts)
    if reason is not None:
        reason = _LENGTH.get(reason, reason) if _WORD.fullmatch(reason) else "other"
    text, in_tags = separated(content or "")
    thought = "\n\n".join(filter(None, (reasoning_field(message).strip(), chunks.strip(), in_tags)))
    text = text.strip() if thought else text  # clients that take the tags out themselves leave the lines between
    return Raw(
        text,
        reason,
        counts,
        billed=_billed(usage),
        seed_refused=seed_refused,
        reasoning=thought,
        reasoning_tokens=_first(  # the second is SGLang's place for it
            _reader(_reader(usage)("completion_tokens_details"))("reasoning_tokens"), _reader(usage)("reasoning_tokens")
        ),
        tokens=tokens_of(logprobs, text) if logprobs is not None else (),
        requests=requests,
        returned={name: _plain(field(name)) for name in _RETURNED if field(name)} if requests else {},
    )


_RETURNED = ("reasoning_content", "reasoning_details", "thinking_blocks")
"""Fields of a message with function calls that must be sent back with their results: DeepSeek's reasoning, OpenRouter's
of any model, and Anthropic's signed reasoning as litellm names it."""


def _plain(value: Any) -> Any:
    """Return a value of a message as plain JSON types; a client may have made objects of it."""
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return _plain(dict(value))  # a model of pydantic gives its fields so


def _function_calls(written: Any) -> tuple[FunctionCall, ...]:
    """Return the function calls of a message; a name or arguments that are missing are empty."""
    found = []
    for each in written if isinstance(written, list) else ():
        call, function = _reader(each), _reader(_reader(each)("function"))
        arguments = function("arguments")
        if isinstance(arguments, dict):  # Ollama's own protocol, and servers that copy it
            arguments = json.dumps(arguments)
        parts = (part if isinstance(part, str) else "" for part in (call("id"), function("name"), arguments))
        found.append(FunctionCall(*parts))
    return tuple(found)


def _content(content: Any) -> tuple[Any, str]:
    """Return the text of a content and the reasoning in it; Mistral sends a list of parts of both kinds."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return content, ""
    texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
    thoughts = [
        inner["text"]
        for part in content
        if isinstance(part.get("thinking"), list)
        for inner in part["thinking"]
        if isinstance(inner, dict) and isinstance(inner.get("text"), str)
    ]
    return "".join(texts), "".join(thoughts)


def token_counts(said: Any) -> TokenCounts:
    """Return the counts of a `usage`, by the names that each provider gives them.

    Parameters
    ----------
    said : mapping or object
        As it was parsed, or as a client gives it; None if there is none.
    """
    field = _reader(said)
    detail = _reader(field("prompt_tokens_details"))
    return TokenCounts(
        _first(field("prompt_tokens")),
        _first(field("completion_tokens")),
        _first(detail("cached_tokens"), *map(field, _CACHE_READS)),
        _first(*map(detail, _CACHE_WRITES), field("cache_creation_input_tokens")),
        _first(_reader(detail(_WRITES))(_HOUR), _reader(field("cache_creation"))(_HOUR)),
    )


def _billed(usage: Any) -> float | None:
    """Return the dollars that OpenRouter says a call cost; with a key of one's own at the provider, both bills."""
    field = _reader(usage)
    costs = [field("cost")]
    if field("is_byok") is True:
        costs.append(_reader(field("cost_details"))("upstream_inference_cost"))
    known = [c for c in costs if isinstance(c, int | float) and not isinstance(c, bool) and 0 <= c < math.inf]
    return float(sum(known)) if known else None


def _first(*said: Any) -> int | None:
    """Return the first value that is a count and not 0; else 0 if one is, else None."""
    found = None
    for count in said:
        if count is not None and isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS:
            if count:
                return count
            found = 0
    return found


def _nothing(_name: str) -> None:
    return None


def _reader(owner: Any) -> Callable[[str], Any]:
    """Return what gives the fields of a mapping or an object by their names, and None for one that is absent."""
    if isinstance(owner, dict):
        return owner.get
    return _nothing if owner is None else lambda name: getattr(owner, name, None)


_FIELDS = ("reasoning_content", "reasoning")  # what servers call it; the second is the newer name


def reasoning_field(message: Any) -> str:
    """Return the reasoning that a server sent in a field of the message; empty if there is none.

    Parameters
    ----------
    message : mapping or object
        The `message` of a chat completion, parsed or as a client's object.
    """
    for value in map(_reader(message), _FIELDS):
        if isinstance(value, str) and value:
            return value
    return ""


_ENDS = 4  # tokens after the last word, such as the one that ended the reply
_SPLIT = 4  # characters that a piece without visible text may represent
_DIGITS = 6
_UNKNOWN = "\ufffd"


class _Piece(NamedTuple):
    """A token: its characters without space (None: it spells none), and the logarithm of its probability."""

    text: str | None
    logprob: float


def tokens_of(logprobs: Any, text: str) -> Tokens:
    """Align the tokens of a chat completion with the text of its reply.

    Parameters
    ----------
    logprobs : mapping or object
        The `logprobs` of a choice: its `content` lists `token`, `bytes` and `logprob`.
    text : str
        The reply, without what its model thought.

    Returns
    -------
    tuple of (int, float)
        Length in characters and log-probability of each token; together they are the text. Empty if the server gave
        none, one is not a number (NaN, above 0), or they do not spell the text.
    """
    pieces = _pieces(_reader(logprobs)("content"))
    solid = [place for place, letter in enumerate(text) if not letter.isspace()]
    if pieces is None or not solid:
        return ()
    starts = _laid(pieces, "".join(text[place] for place in solid))
    if starts is None:
        return ()
    places = [0, *(solid[start] for start, _ in starts[1:]), len(text)]
    return tuple((after - at, logprob) for (_, logprob), at, after in zip(starts, places, places[1:], strict=False))


def _laid(pieces: Sequence[_Piece], spelled: str) -> list[tuple[int, float]] | None:
    """Return where each token begins in a text without space, in order; None if they do not spell it."""
    places: list[tuple[int, float]] = []
    at, split, split_logprob, ends = len(spelled), 0, 0.0, 0
    for piece, logprob in reversed(pieces):
        if at == 0:
            break
        if piece == "":
            continue
        if piece is None:
            split, split_logprob = split + _SPLIT, split_logprob + logprob
            continue
        gap = next((gap for gap in range(split + 1) if spelled.endswith(piece, 0, max(0, at - gap))), None)
        if gap is None:
            ends += 1
            if places or ends > _ENDS:
                return None
            continue
        if gap:
            places.append((at - gap, split_logprob))
        at -= gap + len(piece)
        places.append((at, logprob))
        split, split_logprob = 0, 0.0
    if 0 < at <= split:
        places.append((0, split_logprob))
        at = 0
    return places[::-1] if at == 0 else None


def _pieces(content: Any) -> list[_Piece] | None:
    if not isinstance(content, list):
        return None
    pieces = []
    for entry in content:
        field = _reader(entry)
        token, logprob = field("token"), field("logprob")
        if (
            not isinstance(token, str)
            or isinstance(logprob, bool)
            or not isinstance(logprob, int | float)
            or not -1e300 < logprob < 0.001
        ):
            return None
        text = _spelling(token, field("bytes"))
        pieces.append(_Piece(text, round(min(0.0, float(logprob)), _DIGITS)))
    return pieces


def _spelling(token: str, spelled: Any) -> str | None:
    if isinstance(spelled, list) and spelled and all(isinstance(b, int) and 0 <= b < 256 for b in spelled):
        try:
            token = bytes(spelled).decode()
        except UnicodeDecodeError:  # a part of a character
            return None
    return None if _UNKNOWN in token else "".join(token.split())
