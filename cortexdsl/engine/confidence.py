"""Confidence of answers: measured from tokens, from further replies or by a verifier, and recalibrated.

No agent of the debate hears the replies to these calls. Unreadable answers have no confidence, and cause no calls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cortexdsl.core import NO_REPLY, Bin, Call, Measure, Measured, Ports, ProbeCall, Reading, Reply, Tokens
from cortexdsl.engine.concurrency import gather_all
from cortexdsl.engine.seeds import sample_seed


def recalibrate(stated: float | None, bins: Sequence[Bin]) -> float | None:
    """Map a confidence through recalibration bins (CortexDebate, Eq. 2 and Algorithm 1).

    Parameters
    ----------
    stated : float or None
        As the agent stated it; values outside [0, 1] are clipped (the record has them as stated).
    bins : sequence of Bin
        They cover [0, 1] without overlap; empty: no recalibration.

    Returns
    -------
    float or None
        In [0, 1]; None if none was stated.
    """
    if stated is None or math.isnan(stated):
        return None
    clipped = min(1.0, max(0.0, stated))
    # Bins have no gaps, so the last one that begins before the value contains it. The topmost contains 1, unless a bin
    # for 1 alone follows, as in ReConcile.
    begun = [bin_ for bin_ in bins if (bin_.low < clipped if bin_.low_open else bin_.low <= clipped)]
    value = max(begun, key=lambda bin_: (bin_.low, bin_.low_open)).value if begun else None
    return clipped if value is None else value


NO_ANSWER = "there is no answer to be sure of"
NO_TOKENS = "the server gave no probabilities of tokens that spell the reply"
NOT_FOUND = "the answer is not found among the tokens"
NO_SAMPLE = "no further reply came"
NO_MODEL = "a tool speaks, and no model"


async def measure_confidence(
    measure: Measure, call: Call, reply: Reply, answer: str | None, view: Mapping[str, Any], ports: Ports
) -> Measured | None:
    """Measure the confidence of the answer that an agent has just given.

    Parameters
    ----------
    measure : Measure
    call : Call
        The call of the reply.
    reply : Reply
    answer : str or None
        What was read of the reply.
    view : mapping
        The variables of the prompt.
    ports : Ports

    Returns
    -------
    Measured or None
        None if the method uses the stated confidence.
    """
    if measure.source == "stated":
        return None
    if answer is None:
        return Measured(measure.source, None, NO_ANSWER)
    if call.model.is_tool:
        return Measured(measure.source, None, NO_MODEL)
    if measure.source == "logprob":
        return _by_tokens(reply, answer, ports)
    if measure.source == "consistency":
        return await _by_samples(measure.samples, call, answer, ports)
    return await _by_verifier(measure, call, reply, answer, view, ports)


def _by_tokens(reply: Reply, answer: str, ports: Ports) -> Measured:
    if not reply.tokens:
        return Measured("logprob", None, NO_TOKENS)
    place = ports.reader.place_of(answer, reply.text)
    if place is None:
        return Measured("logprob", None, NOT_FOUND)
    return Measured("logprob", span_probability(reply.tokens, *place))


def span_probability(tokens: Tokens, start: int, end: int) -> float:
    """Return the probability of a part of a text given the text before it: the product over the tokens that overlap it.

    Parameters
    ----------
    tokens : tuple of (int, float)
        Number of characters and log probability of each token of the text.
    start, end : int
        The part, in characters from 0; start < end.
    """
    total, at = 0.0, 0
    for characters, logprob in tokens:
        if at < end and at + characters > start:
            total += logprob
        at += characters
    return math.exp(min(0.0, total))


async def _by_samples(samples: int, call: Call, answer: str, ports: Ports) -> Measured:
    """Return the share of further replies to the same prompt that give the same answer (Wang et al. 2022).

    An unreadable reply counts as another answer; a failed call does not count.
    """
    replies = await gather_all([ports.ask(replace(call, seed=sample_seed(call.seed, k))) for k in range(samples)])
    readings = [_read(reply, ports, "answer") for reply in replies]
    answers = [reading.value for reply, reading in zip(replies, readings, strict=True) if reply.error is None]
    asides = tuple(_probe_call(reply, reading) for reply, reading in zip(replies, readings, strict=True))
    if not answers:
        return Measured("consistency", None, NO_SAMPLE, asides)
    alike = sum(each == answer or (each is not None and ports.reader.same(each, answer)) for each in answers)
    return Measured("consistency", alike / len(answers), None, asides)


async def _by_verifier(
    measure: Measure, call: Call, reply: Reply, answer: str, view: Mapping[str, Any], ports: Ports
) -> Measured:
    """Return the score of a model that sees only the solution: P(True) in words (Kadavath et al. 2022)."""
    agent = {**view["agent"], "persona": None}
    text = ports.reader.without_confidence(reply.text)
    prompt = ports.render(measure.prompt, {**view, "agent": agent, "answer": answer, "text": text})
    verdict = await ports.ask(Call(measure.verifier or call.model, prompt, call.seed, call.images))
    reading = _read(verdict, ports, "review")
    asides = (_probe_call(verdict, reading),)
    score = reading.confidence
    if reading.value is None or score is None:
        return Measured("verifier", None, f"the verifier: {reading.unparsed}", asides)
    if not 0.0 <= score <= 1.0:
        return Measured("verifier", None, "the verifier's score is beyond its scale", asides)
    return Measured("verifier", score, None, asides)


def _read(reply: Reply, ports: Ports, reads: Any) -> Reading:
    if reply.error is not None:
        return Reading(None, f"{NO_REPLY}: {reply.error}")
    return ports.reader.read(reads, reply.text)


def _probe_call(reply: Reply, reading: Reading) -> ProbeCall:
    return ProbeCall(
        reply.key,
        reading.value,
        reading.unparsed,
        reply.prompt_tokens,
        reply.completion_tokens,
        reply.reasoning_tokens,
    )
