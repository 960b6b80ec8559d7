"""The confidence of an answer, measured: from its tokens, from further replies, or by a verifier.

Nobody in the debate hears what is asked here. An answer that could not be read has no confidence, and nothing is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cortexdsl.debate.chance import sample_seed
from cortexdsl.debate.together import all_of
from cortexdsl.terms import NO_REPLY, Aside, Call, Hands, Measure, Measured, Reading, Reply, Tokens

NO_ANSWER = "there is no answer to be sure of"
NO_TOKENS = "the server gave no probabilities of tokens that spell the reply"
NOT_FOUND = "the answer is not found among the tokens"
NO_SAMPLE = "no further reply came"
NO_MODEL = "a tool speaks, and no model"


async def measured(
    how: Measure, call: Call, reply: Reply, answer: str | None, view: Mapping[str, Any], hands: Hands
) -> Measured | None:
    """Measure how sure an agent is of the answer that it has just given.

    Parameters
    ----------
    how : Measure
    call : Call
        The one that was answered.
    reply : Reply
    answer : str or None
        What was read of it.
    view : mapping
        The variables of the prompt that was answered.
    hands : Hands

    Returns
    -------
    Measured or None
        None where the confidence is the stated one.
    """
    if how.source == "stated":
        return None
    if answer is None:
        return Measured(how.source, None, NO_ANSWER)
    if call.model.is_tool:
        return Measured(how.source, None, NO_MODEL)
    if how.source == "logprob":
        return _by_tokens(reply, answer, hands)
    if how.source == "consistency":
        return await _by_samples(how.samples, call, answer, hands)
    return await _by_verifier(how, call, reply, answer, view, hands)


def _by_tokens(reply: Reply, answer: str, hands: Hands) -> Measured:
    if not reply.tokens:
        return Measured("logprob", None, NO_TOKENS)
    place = hands.reader.place_of(answer, reply.text)
    if place is None:
        return Measured("logprob", None, NOT_FOUND)
    return Measured("logprob", probability(reply.tokens, *place))


def probability(tokens: Tokens, start: int, end: int) -> float:
    """Return the probability of a part of a text, given all before it: the product over the tokens that touch it.

    Parameters
    ----------
    tokens : tuple of (int, float)
        Characters and logarithm of the probability of each; together they are the text.
    start, end : int
        The part, in characters; start < end.
    """
    total, at = 0.0, 0
    for characters, logprob in tokens:
        if at < end and at + characters > start:
            total += logprob
        at += characters
    return math.exp(min(0.0, total))


async def _by_samples(samples: int, call: Call, answer: str, hands: Hands) -> Measured:
    """Return the share of further replies to the same prompt that give the same answer (Wang et al. 2022).

    One that cannot be read gives another answer; one that never came is none.
    """
    replies = await all_of([hands.ask(replace(call, seed=sample_seed(call.seed, k))) for k in range(samples)])
    readings = [_read(reply, hands, "answer") for reply in replies]
    came = [reading.value for reply, reading in zip(replies, readings, strict=True) if reply.error is None]
    asides = tuple(_aside(reply, reading) for reply, reading in zip(replies, readings, strict=True))
    if not came:
        return Measured("consistency", None, NO_SAMPLE, asides)
    return Measured("consistency", came.count(answer) / len(came), None, asides)


async def _by_verifier(
    how: Measure, call: Call, reply: Reply, answer: str, view: Mapping[str, Any], hands: Hands
) -> Measured:
    """Return the score of a model that is shown the solution alone: P(True) in words (Kadavath et al. 2022)."""
    nobody = {**view["agent"], "persona": None}
    text = hands.reader.without_confidence(reply.text)
    prompt = hands.render(how.prompt, {**view, "agent": nobody, "answer": answer, "text": text})
    asked = Call(how.verifier or call.model, prompt, call.seed, call.images)
    said = await hands.ask(asked)
    reading = _read(said, hands, "review")
    asides = (_aside(said, reading),)
    score = reading.confidence
    if reading.value is None or score is None:
        return Measured("verifier", None, f"the verifier: {reading.unparsed}", asides)
    if not 0.0 <= score <= 1.0:
        return Measured("verifier", None, "the verifier's score is beyond its scale", asides)
    return Measured("verifier", score, None, asides)


def _read(reply: Reply, hands: Hands, reads: Any) -> Reading:
    if reply.error is not None:
        return Reading(None, f"{NO_REPLY}: {reply.error}")
    return hands.reader.read(reads, reply.text)


def _aside(reply: Reply, reading: Reading) -> Aside:
    return Aside(
        reply.key,
        reading.value,
        reading.unparsed,
        reply.prompt_tokens,
        reply.completion_tokens,
        reply.reasoning_tokens,
    )
