"""A finished debate read again: its turns by a newer reader, its decision from what was read; nothing is asked."""

from __future__ import annotations

from dataclasses import replace

from cortexdsl.debate.chance import generator
from cortexdsl.debate.confidence import recalibrate
from cortexdsl.debate.decide import decide
from cortexdsl.debate.engine import principal_role
from cortexdsl.terms import Debate, Method, Reader, Turn


def read_again(debate: Debate, method: Method, reader: Reader, *, seed: int, replicate: int) -> Debate:
    """Read every reply of a debate again and decide it anew.

    The course of the debate stays as it was: who spoke, heard and stopped depended on what was read then. A reply
    that never came stays unread.

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
    turns = tuple(_read(turn, method, reader) for turn in debate.turns)
    decision = decide(
        method, principal_role(method), turns, lambda: generator("tie", seed, replicate, debate.question_id)
    )
    return replace(debate, turns=turns, answer=decision.answer, votes=decision.votes, was_tied=decision.was_tied)


def _read(turn: Turn, method: Method, reader: Reader) -> Turn:
    if (turn.unparsed or "").startswith("no reply"):
        return turn
    reading = reader.read(turn.reads, turn.text)
    return replace(
        turn,
        answer=None if turn.reads in ("summary", "comment") else reading.value,
        unparsed=reading.unparsed,
        confidence_stated=reading.confidence,
        confidence=recalibrate(reading.confidence, method.recalibration if turn.reads == "answer" else ()),
    )
