"""Debates that other programs ran: what their agents said, and the debate records that are made of it.

Facts that a log lacks stay unknown: call keys, tokens, confidences that were not stated, own turns. Confidences are
not recalibrated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from cortexdsl.core import EMPTY, Agent, Debate, Decide, Graph, Model, Reader, Turn, by_key
from cortexdsl.engine.confidence import recalibrate
from cortexdsl.engine.decisions import Decision, vote
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.typed_json import FieldError, integer, read_at, sequence, text

OPENING, REVISION = "answer", "revise"
WHERE = "@where"
"""The key of each sample that was read: its file and place in it, for messages."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one agent said at one time.

    Attributes
    ----------
    speaker, text : str
    id : hashable
        What other messages call it, if they say whom they heard.
    heard : collection of ids, or None
        Messages that the speaker had read, also later ones, which do not count; None: unknown.
    place : tuple of int, or None
        Orders the rounds; None: the number of earlier messages of this speaker.
    model : str
    persona : str or None
    tokens : (int or None, int or None)
        Of the prompt and of the reply.
    confidence : float or None
        As the log states it.

    Raises
    ------
    FieldError, TypeError
        A value is of another type.
    """

    speaker: str
    text: str
    id: Hashable = None
    heard: Collection[Hashable] | None = None
    place: tuple[int, ...] | None = None
    model: str = "unknown"
    persona: str | None = None
    tokens: tuple[int | None, int | None] = (None, None)
    confidence: float | None = None

    def __post_init__(self) -> None:
        for word in ("speaker", "text", "model", "persona"):
            if word != "persona" or self.persona is not None:
                read_at(word, text, getattr(self, word))
        read_at("round", sequence(integer), [*(self.place or ())])
        read_at("tokens", sequence(integer), [count for count in self.tokens if count is not None])
        hash((self.id, *(self.heard or ())))


Round: TypeAlias = Mapping[str, Sequence[Message]]
"""The messages of a round, by speaker."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One debate of another program.

    Attributes
    ----------
    where : str
        Its file and place in it, for messages.
    question_id, dataset, cell : str
        A dataset may be written with a group, `MMLU/prehistory`.
    replicate : int
    messages : tuple of Message
    final : str or None
        The reply or answer that the debate ended with; None: the majority of the last round.
    task : mapping
        question, answer (the gold), choices, context, cluster: whichever are known.
    named : tuple of Agent
        All agents, if some may have said nothing; empty: those that spoke.

    Raises
    ------
    FieldError
        No agent said anything, or the dataset or cell cannot name a folder.
    """

    where: str
    question_id: str
    dataset: str
    cell: str
    replicate: int
    messages: tuple[Message, ...]
    final: str | None = None
    task: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    named: tuple[Agent, ...] = ()

    def __post_init__(self) -> None:
        if self.final is not None:
            read_at("final", text, self.final)
        if not self.messages:
            raise FieldError("it has no message of a model; only debates are imported")
        for word, name in (("dataset", self.label), ("cell", self.cell)):
            if not name.strip(". ") or any(character in name for character in "/\\\0"):
                raise FieldError(f"{word} is {name!r}, which cannot name a folder")

    @property
    def label(self) -> str:
        """The dataset without its group."""
        return self.dataset.partition("/")[0]

    @property
    def group(self) -> str:
        """The group in the dataset; empty if there is none."""
        return self.dataset.partition("/")[2]

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents, in the order in which they first spoke if they are not named."""
        first = by_key((message.speaker, message) for message in self.messages)
        return self.named or tuple(agent_of(name, own[0].model, own[0].persona) for name, own in first.items())

    @property
    def rounds(self) -> list[Round]:
        """The messages by round, then by speaker."""
        earlier: Counter[str] = Counter()
        placed = []
        for message in self.messages:
            placed.append((message.place or (earlier[message.speaker],), message))
            earlier[message.speaker] += 1
        by_place = by_key(placed)
        return [by_key((message.speaker, message) for message in by_place[place]) for place in sorted(by_place)]


def agent_of(name: str, model: str, persona: str | None) -> Agent:
    """Return an agent with the facts that a log has."""
    return Agent(name, Model(model, model), persona)


def own_message(said: Mapping[str, Any], reply: str, model: str) -> Message:
    """Return a message by the facts that our exports write with it. All of them may be absent."""
    stage = int(said.get("stage", 0))
    return Message(
        speaker=str(said.get("speaker") or "agent"),
        text=reply,
        id=(stage, said.get("turn")),
        heard=[(stage, turn) for turn in said["heard"]] if {"heard", "turn"} <= said.keys() else None,
        place=(stage, int(said["round"])) if "round" in said else None,
        model=str(said.get("model") or model),
    )


def debate_of(transcript: Transcript, reader: Reader) -> Debate:
    """Make a debate of a transcript.

    Parameters
    ----------
    transcript : Transcript
    reader : Reader
        Reads each reply as an answer to the question, and `final` too.

    Returns
    -------
    Debate
        What an agent says several times in a round is one reply. An agent hears the latest earlier reply of each agent
        of whom it had read a message, or, if that is unknown, of all others that spoke in the round before. Without
        `final` the answer is the majority of the last round, ties settled as everywhere (confidence, then a seeded
        draw). It stopped by `consensus` if the last round agreed, else by `rounds`.
    """
    names, rounds = [agent.name for agent in transcript.agents], transcript.rounds
    spoken = {
        message.id: (name, number)
        for number, round_ in enumerate(rounds)
        for name, messages in round_.items()
        for message in messages
    }
    is_known = all(message.heard is not None for message in transcript.messages)
    turns: list[Turn] = []
    graphs: list[Graph] = []
    latest: dict[str, int] = {}
    for number, round_ in enumerate(rounds):
        listeners = [name for name in names if name in round_]
        speakers = [name for name in names if is_known or (number and name in rounds[number - 1])]
        heard = {
            name: _speakers_heard(name, round_[name], spoken, number) if is_known else set(speakers) - {name}
            for name in listeners
        }
        if number:
            matrix = np.array([[one in heard[other] for other in listeners] for one in speakers], dtype=bool)
            edges = matrix.reshape(len(speakers), len(listeners))
            graphs.append(Graph(number, REVISION, tuple(speakers), tuple(listeners), None, edges, {}))
        now = {name: len(turns) + place for place, name in enumerate(listeners)}
        for name in listeners:
            turns_heard = sorted(latest[other] for other in heard[name] if other in latest)
            turns.append(_turn(reader, now[name], number, round_[name], turns_heard))
        latest |= now
    last = [turn for turn in turns if turn.round == len(rounds) - 1]
    if transcript.final is None:
        chance = ("tie", 0, transcript.replicate, transcript.question_id)
        decision = vote(last, Decide("majority"), lambda: seeded_random(*chance))
    else:
        decision = Decision(reader.read("answer", transcript.final).value)
    answers = {turn.answer for turn in last}
    return Debate(
        question_id=transcript.question_id,
        agents=transcript.agents,
        turns=tuple(turns),
        graphs=tuple(graphs),
        answer=decision.answer,
        votes=decision.votes,
        was_tied=decision.was_tied,
        rounds=len(rounds) - 1,
        stop="consensus" if len(answers) == 1 and None not in answers else "rounds",
    )


def _speakers_heard(
    listener: str, messages: Sequence[Message], spoken: Mapping[Hashable, tuple[str, int]], number: int
) -> set[str]:
    """Return the other agents of whose earlier rounds some messages of a round say that they were heard."""
    known = [spoken[other] for message in messages for other in message.heard or () if other in spoken]
    return {speaker for speaker, earlier in known if earlier < number} - {listener}


def _turn(reader: Reader, number: int, round_: int, messages: Sequence[Message], heard: Sequence[int]) -> Turn:
    reply = "\n\n".join(message.text for message in messages)
    reading = reader.read("answer", reply)
    stated = messages[-1].confidence
    confidence = reading.confidence if stated is None else stated
    sent, replied = zip(*(message.tokens for message in messages), strict=True)
    return Turn(
        turn=number,
        execution=round_,
        round=round_,
        step=REVISION if round_ else OPENING,
        reads="answer",
        speaker=messages[0].speaker,
        about=None,
        heard=tuple(heard),
        recalled=(),
        text=reply,
        answer=reading.value,
        unparsed=reading.unparsed,
        confidence_stated=confidence,
        confidence=recalibrate(confidence, ()),
        prompt_tokens=_sum(sent),
        completion_tokens=_sum(replied),
        call="",
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
