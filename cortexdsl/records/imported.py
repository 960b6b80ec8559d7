"""From a foreign transcript to a debate record: the same nouns, nothing invented.

What a transcript does not tell stays unknown: no call keys, no tokens that nobody counted, no confidence that
nobody stated, no own turn recalled. Confidences are not recalibrated.
"""

from __future__ import annotations

import numpy as np

from cortexdsl.debate.chance import generator
from cortexdsl.debate.confidence import recalibrate
from cortexdsl.debate.decide import Decision, vote
from cortexdsl.records.transcripts import Transcript
from cortexdsl.terms import Agent, Debate, Decide, Graph, Model, Reader, Turn

OPENING, REVISION = "answer", "revise"


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
        Round r holds the replies of the agents that were run in it. An agent hears the latest earlier reply of
        each agent whom `heard` names, or of all others that were run in the round before. Without `final` the
        answer is the majority of the last round, ties settled as everywhere (confidence, then a seeded draw). It
        stopped by `consensus` if the last round agreed, else by `rounds`.
    """
    turns: list[Turn] = []
    graphs: list[Graph] = []
    latest: dict[str, int] = {}
    for round_, replies in enumerate(transcript.said):
        graph = _graph(transcript, round_)
        now: dict[str, int] = {}
        for k, text in enumerate(replies):
            if text is not None:
                now[transcript.names[k]] = len(turns)
                turns.append(_turn(transcript, reader, len(turns), round_, k, text, graph, latest))
        latest |= now
        if graph is not None:
            graphs.append(graph)
    last = [turn for turn in turns if turn.round == len(transcript.said) - 1]
    if transcript.final is None:
        chance = ("tie", 0, transcript.replicate, transcript.question_id)
        decision = vote(last, Decide("majority"), lambda: generator(*chance))
    else:
        decision = Decision(reader.read("answer", transcript.final).value)
    answers = {turn.answer for turn in last}
    return Debate(
        question_id=transcript.question_id,
        agents=tuple(
            Agent(name, Model(model, model), persona)
            for name, model, persona in zip(transcript.names, transcript.models, transcript.personas, strict=True)
        ),
        turns=tuple(turns),
        graphs=tuple(graphs),
        answer=decision.answer,
        votes=decision.votes,
        was_tied=decision.was_tied,
        rounds=len(transcript.said) - 1,
        stop="consensus" if len(answers) == 1 and None not in answers else "rounds",
    )


def _graph(transcript: Transcript, round_: int) -> Graph | None:
    if round_ == 0:
        return None
    names = transcript.names
    listeners = tuple(name for name, text in zip(names, transcript.said[round_], strict=True) if text is not None)
    if transcript.heard is None:
        before = zip(names, transcript.said[round_ - 1], strict=True)
        speakers = tuple(name for name, text in before if text is not None)
        heard = np.array([[speaker != listener for listener in listeners] for speaker in speakers], dtype=bool)
    else:
        speakers, edges = names, set(transcript.heard[round_ - 1])
        heard = np.array([[(speaker, listener) in edges for listener in listeners] for speaker in speakers], dtype=bool)
    return Graph(round_, REVISION, speakers, listeners, None, heard.reshape(len(speakers), len(listeners)), {})


def _turn(
    transcript: Transcript,
    reader: Reader,
    number: int,
    round_: int,
    k: int,
    text: str,
    graph: Graph | None,
    latest: dict[str, int],
) -> Turn:
    name = transcript.names[k]
    heard: list[int] = []
    if graph is not None:
        kept = graph.heard[:, graph.listeners.index(name)]
        heard = [latest[s] for s, is_heard in zip(graph.speakers, kept, strict=True) if is_heard and s in latest]
    reading = reader.read("answer", text)
    stated = transcript.confidence[round_][k]
    confidence = reading.confidence if stated is None else stated
    return Turn(
        turn=number,
        execution=round_,
        round=round_,
        step=REVISION if round_ else OPENING,
        reads="answer",
        speaker=name,
        about=None,
        heard=tuple(sorted(heard)),
        recalled=(),
        text=text,
        answer=reading.value,
        unparsed=reading.unparsed,
        confidence_stated=confidence,
        confidence=recalibrate(confidence, ()),
        prompt_tokens=transcript.prompt_tokens[round_][k],
        completion_tokens=transcript.completion_tokens[round_][k],
        call="",
    )
