"""A finished debate read again: its turns by a newer reader, its decision from what was read; nothing is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cortexdsl.debate.chance import generator
from cortexdsl.debate.confidence import recalibrate
from cortexdsl.debate.decide import decide
from cortexdsl.debate.roles import members
from cortexdsl.debate.talk.hearing import read
from cortexdsl.debate.talk.transcript import chosen_among
from cortexdsl.terms import NO_REPLY, Debate, Method, Reader, Turn

READ_ANEW = "another answer was read later than the one that was measured"


def read_again(debate: Debate, method: Method, reader: Reader, *, seed: int, replicate: int) -> Debate:
    """Read every reply of a debate again and decide it anew.

    The course of the debate stays as it was: who spoke, heard and stopped depended on what was read then. A reply
    that never came stays unread. A confidence that was measured belongs to the answer that was read then: where another
    is read now, there is none.

    Parameters
    ----------
    debate : Debate
    method : Method
        The one that made it.
    reader : Reader
        Of its question.
    seed, replicate : int
        Of the experiment; a tie is drawn as it was.
    """
    numbers = {agent.name: k for k, agent in enumerate(members(method), 1)}
    turns = tuple(_read(turn, debate, method, reader, numbers) for turn in debate.turns)
    ended = as_chosen(debate, method)
    voters = [agent.name for agent in members(ended)]
    decision = decide(ended, turns, voters, lambda: generator("tie", seed, replicate, debate.question_id))
    return replace(debate, turns=turns, answer=decision.answer, votes=decision.votes, was_tied=decision.was_tied)


def as_chosen(debate: Debate, method: Method) -> Method:
    """Return a method with its roles filled as they were when a debate ended."""
    agents = {agent.name: agent for cast in method.cast.values() for agent in cast}
    last = {choice.role: tuple(agents[name] for name in choice.chosen) for choice in debate.choices}
    return replace(method, cast={**method.cast, **last})


def _read(turn: Turn, debate: Debate, method: Method, reader: Reader, numbers: Mapping[str, int]) -> Turn:
    if (turn.unparsed or "").startswith(NO_REPLY):
        return turn
    speakers = [debate.turns[number].speaker for number in chosen_among(turn, debate.turns)]
    reading, beside = read(reader, method.steps[turn.step], turn.text, speakers, numbers)
    before = turn.measured
    if before is not None and before.confidence is not None and reading.value != turn.answer:
        before = replace(before, confidence=None, unmeasured=READ_ANEW)
    confidence = reading.confidence if before is None else before.confidence
    return replace(
        turn,
        answer=None if turn.reads in ("summary", "comment") else reading.value,
        beside=beside,
        unparsed=reading.unparsed,
        confidence_stated=reading.confidence,
        measured=before,
        confidence=recalibrate(confidence, method.recalibration if turn.reads == "answer" else ()),
    )
