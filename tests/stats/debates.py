"""Small made debates for the tests of scores and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cortexdsl.core import Agent, Debate, Graph, Model, Turn
from cortexdsl.records import Header, Record

MODEL = Model("small", "builtin/solver", parameters=5e8, tokens=1e12)


def made(
    rounds: Sequence[Mapping[str, str | None]],
    heard: Sequence[Sequence[tuple[str, str]]] = (),
    *,
    answer: str | None = None,
    confidence: Sequence[Mapping[str, float]] = (),
    question: str = "q1",
    stop: Literal["consensus", "agreed", "rounds"] = "rounds",
    votes: Mapping[str, float] | None = None,
    was_tied: bool = False,
) -> Debate:
    """Make a debate.

    `rounds` holds each round's answers by agent (None: unreadable); `heard` the kept edges (speaker, listener) of
    rounds 1, 2 ...; `confidence` the recalibrated confidences by round. Every prompt has 10 tokens and 5 more for
    each turn heard, every reply 3.
    """
    names = tuple(rounds[0])
    turns: list[Turn] = []
    graphs: list[Graph] = []
    last: dict[str, int] = {}
    for r, answers in enumerate(rounds):
        edges = heard[r - 1] if r else ()
        now = {}
        for name, said in answers.items():
            ears = tuple(last[s] for s, listener in edges if listener == name and s in last)
            belief = confidence[r].get(name) if r < len(confidence) else None
            turns.append(
                Turn(
                    turn=len(turns), execution=r, round=r, step="revise" if r else "answer", reads="answer",
                    speaker=name, about=None, heard=ears, recalled=(), text=f"Answer: {said}", answer=said,
                    unparsed="no answer" if said is None else None, confidence_stated=belief, confidence=belief,
                    prompt_tokens=10 + 5 * len(ears), completion_tokens=3, call=f"call{len(turns)}",
                )
            )  # fmt: skip
            now[name] = len(turns) - 1
        last |= now
        if r:
            kept = np.array([[(s, l) in edges for l in names] for s in names])  # noqa: E741
            graphs.append(Graph(r, "revise", names, names, None, kept, {}))
    counts: dict[str, float] = {}
    for said in rounds[-1].values():
        if said is not None:
            counts[said] = counts.get(said, 0.0) + 1.0
    return Debate(
        question_id=question,
        agents=tuple(Agent(name, MODEL) for name in names),
        turns=tuple(turns),
        graphs=tuple(graphs),
        answer=answer if answer is not None else max(counts, key=lambda a: counts[a], default=None),
        votes=counts if votes is None else votes,
        was_tied=was_tied,
        rounds=len(rounds) - 1,
        stop=stop,
    )


def with_extra(debate: Debate, **turn: Any) -> Debate:
    """Add a last turn of a judge to a debate."""
    values: dict[str, Any] = {
        "turn": len(debate.turns), "execution": debate.turns[-1].execution + 1, "round": debate.rounds + 1,
        "step": "judge", "reads": "verdict", "speaker": "judge", "about": None, "heard": (), "recalled": (),
        "text": "agree", "answer": "agree", "unparsed": None, "confidence_stated": None, "confidence": None,
        "prompt_tokens": 100, "completion_tokens": 1, "call": "judge",
    }  # fmt: skip
    judged = (*debate.turns, Turn(**(values | turn)))
    return Debate(
        question_id=debate.question_id, agents=(*debate.agents, Agent("judge", MODEL)), turns=judged,
        graphs=debate.graphs, answer=debate.answer, votes=debate.votes, was_tied=debate.was_tied,
        rounds=debate.rounds, stop=debate.stop,
    )  # fmt: skip


def record(debate: Debate, cell: str = "full", replicate: int = 1, dataset: str = "sums") -> Record:
    """Put a debate into a record."""
    return Record(Header("made", dataset, cell, replicate), debate)


def grade(question_id: str, answer: str | None) -> float:
    """Grade an answer: `R` (or `R` and anything) is right, all else is wrong."""
    return float(answer is not None and answer.startswith("R"))
