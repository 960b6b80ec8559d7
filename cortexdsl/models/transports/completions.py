"""Reads chat completions of the OpenAI protocol: text, reasoning, token counts and log-probabilities.

No field is trusted. Tokens are laid beside the last place where they spell the text, ignoring space: the reasoning
before it and the token that ends the reply are not part of the text. Tokens that do not spell the text are dropped.
"""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any

from cortexdsl.core import TOOL_CALLED, FunctionCall, Offer, Tokens, separated
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import NO_COMPLETION, Failure
from cortexdsl.models.transports.interface import MOST_TOKENS, Raw, TokenCounts
from cortexdsl.typed_json import json_at, parse_json

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
        Malformed if it is not JSON; as `completion`.
    """
    document = parse_json(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    return completion(document, seed_refused=seed_refused, offer=offer)


def completion(document: Any, *, seed_refused: bool, offer: Offer | None = None) -> Raw:
    """Return what a chat completion says.

    The reasoning is separated from the reply, whether it came in a field of its own or in tags. A finish reason that is
    not a word becomes `other`, one that is not a text becomes None. A token count that is not a whole number up to
    10**12 is unknown.

    Parameters
    ----------
    document : object
        The parsed completion.
    offer : Offer or None
        What the call offers: function calls are read if there may be some.

    Raises
    ------
    Failure
        Malformed if it is not a chat completion, the content is not a text, or a call of a tool replaces it; content
        filter if a refusal replaces it; transient if the server broke it off.
    """
    choices, usage = json_at(document, "choices"), json_at(document, "usage")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message, reason = json_at(choice, "message"), json_at(choice, "finish_reason")
    if not isinstance(message, dict):
        raise Failure(FailureKind.MALFORMED, NO_COMPLETION)
    counts = token_counts(usage)
    content, chunks = _content(message.get("content"))
    may_call = offer is not None and offer.form == "functions" and not offer.is_over
    requests = _function_calls(message.get("tool_calls")) if may_call else ()
    if requests:
        content = content or ""
    elif content is None or (isinstance(content, str) and not content.strip()):
        refusal = message.get("refusal") or json_at(message, "provider_specific_fields", "refusal")  # litellm's
        if refusal:
            raise Failure(FailureKind.CONTENT_FILTER, f"the model refused: {refusal}", usage=counts)
        if content is None and message.get("tool_calls"):
            why = "and none was offered" if offer is None else "although it was told to answer"
            raise Failure(FailureKind.MALFORMED, f"{TOOL_CALLED}, {why}", usage=counts)
    if content is not None and not isinstance(content, str):
        raise Failure(FailureKind.MALFORMED, "the content of the reply is not text", usage=counts)
    if not isinstance(reason, str):
        reason = None
    elif reason in _INTERRUPTED:
        raise Failure(FailureKind.TRANSIENT, f"the server broke the reply off ({reason})", usage=counts)
    else:
        reason = _LENGTH.get(reason, reason) if _WORD.fullmatch(reason) else "other"
    text, in_tags = separated(content or "")
    thought = "\n\n".join(filter(None, (_reasoning(message).strip(), chunks.strip(), in_tags)))
    text = text.strip() if thought else text  # clients that take the tags out themselves leave the lines between
    return Raw(
        text,
        reason,
        counts,
        billed=_billed(usage),
        seed_refused=seed_refused,
        reasoning=thought,
        reasoning_tokens=_first(  # the second is SGLang's place for it
            json_at(usage, "completion_tokens_details", "reasoning_tokens"), json_at(usage, "reasoning_tokens")
        ),
        tokens=tokens_of(json_at(choice, "logprobs"), text),
        requests=requests,
        returned={name: message[name] for name in _RETURNED if message.get(name)} if requests else {},
    )


_RETURNED = ("reasoning_content", "reasoning_details", "thinking_blocks")
"""Fields of a message with function calls that must be sent back with their results: DeepSeek's reasoning, OpenRouter's
of any model, and Anthropic's signed reasoning as litellm names it."""


def _function_calls(written: Any) -> tuple[FunctionCall, ...]:
    """Return the function calls of a message; a name or arguments that are missing are empty."""
    found = []
    for each in written if isinstance(written, list) else ():
        arguments = json_at(each, "function", "arguments")
        if isinstance(arguments, dict):  # Ollama's own protocol, and servers that copy it
            arguments = json.dumps(arguments)
        parts = (
            part if isinstance(part, str) else ""
            for part in (json_at(each, "id"), json_at(each, "function", "name"), arguments)
        )
        found.append(FunctionCall(*parts))
    return tuple(found)


def _content(content: Any) -> tuple[Any, str]:
    """Return the text of a content (None if it has none) and its reasoning; Mistral and Anthropic send lists of parts.

    A part of reasoning holds texts again (Mistral), or is the text (Anthropic).
    """
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return content, ""
    texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
    thoughts = [
        inner["text"] if isinstance(inner, dict) and isinstance(inner.get("text"), str) else inner
        for part in content
        for inner in (part["thinking"] if isinstance(part.get("thinking"), list) else [part.get("thinking")])
    ]
    return "".join(texts) if texts else None, "".join(thought for thought in thoughts if isinstance(thought, str))


def token_counts(usage: Any) -> TokenCounts:
    """Return the counts of a `usage`, by the names that each provider gives them."""
    detail = json_at(usage, "prompt_tokens_details")
    return TokenCounts(
        _first(json_at(usage, "prompt_tokens")),
        _first(json_at(usage, "completion_tokens")),
        _first(json_at(detail, "cached_tokens"), *(json_at(usage, name) for name in _CACHE_READS)),
        _first(*(json_at(detail, name) for name in _CACHE_WRITES), json_at(usage, "cache_creation_input_tokens")),
        _first(json_at(detail, _WRITES, _HOUR), json_at(usage, "cache_creation", _HOUR)),
    )


def _billed(usage: Any) -> float | None:
    """Return the dollars that OpenRouter says a call cost; with a key of one's own at the provider, both bills."""
    costs = [json_at(usage, "cost")]
    if json_at(usage, "is_byok") is True:
        costs.append(json_at(usage, "cost_details", "upstream_inference_cost"))
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


_FIELDS = ("reasoning_content", "reasoning")  # what servers call it; the second is the newer name


def _reasoning(message: dict[str, Any]) -> str:
    """Return the reasoning that a message has in a field of its own; empty if it has none."""
    return next((value for value in map(message.get, _FIELDS) if isinstance(value, str) and value), "")


_LOOKS = 16  # for the text, from the end: the token that ends a reply may hold a short one (`e` and `</e>`)
_DIGITS = 6


def tokens_of(logprobs: Any, text: str) -> Tokens:
    """Return the tokens of a text: of each its characters and its log-probability.

    Parameters
    ----------
    logprobs : object
        The `logprobs` of a choice, with the tokens of the text in `content`; tokens before and after it are ignored.
    text : str

    Returns
    -------
    tuple of (int, float)
        The characters sum to the length of the text: space belongs to the token before it, and tokens within one
        character are joined. Empty if there are no tokens, or if they do not spell the text.
    """
    if logprobs is None:
        return ()
    pieces = _pieces(json_at(logprobs, "content"))
    solid = [place for place, letter in enumerate(text) if not letter.isspace()]
    letters = [text[place].encode("utf-8", "surrogatepass") for place in solid]
    written, spelled = b"".join(piece for piece, _ in pieces), b"".join(letters)
    ends = {*accumulate((len(piece) for piece, _ in pieces), initial=0)}
    at = len(written)
    for _ in range(_LOOKS if solid else 0):
        at = written.rfind(spelled, 0, at + len(spelled) - 1)
        if at in ends and at + len(spelled) in ends:
            break
    else:
        return ()
    place_of = dict(zip(accumulate(map(len, letters), initial=at), solid, strict=False))
    tokens: list[tuple[int, float]] = []
    offset = 0
    for piece, logprob in pieces:
        if offset in place_of and piece:
            tokens.append((place_of[offset], logprob))
        elif piece and at < offset < at + len(spelled):  # within a character
            tokens[-1] = (tokens[-1][0], tokens[-1][1] + logprob)
        offset += len(piece)
    places = [0, *(place for place, _ in tokens[1:]), len(text)]
    return tuple(
        (after - place, logprob) for (_, logprob), place, after in zip(tokens, places, places[1:], strict=False)
    )


def _pieces(content: Any) -> list[tuple[bytes, float]]:
    """Return what each token spells, without space, and its log-probability; nothing if one cannot be read."""
    pieces = []
    for entry in content if isinstance(content, list) else ():
        token, logprob, spelled = (json_at(entry, name) for name in ("token", "logprob", "bytes"))
        is_number = isinstance(logprob, int | float) and not isinstance(logprob, bool) and -1e300 < logprob < 0.001
        if not isinstance(token, str) or not is_number:
            return []
        if isinstance(spelled, list) and spelled and all(isinstance(b, int) and 0 <= b < 256 for b in spelled):
            token = bytes(spelled).decode("utf-8", "surrogateescape")
        piece = "".join(token.split()).encode("utf-8", "surrogateescape" if spelled else "surrogatepass")
        pieces.append((piece, round(min(0.0, float(logprob)), _DIGITS)))
    return pieces
