"""Debate records: one debate a line of JSON, equal byte for byte whenever the debates are equal.

Keys stand in the order of the contract (docs/records.md), floats as the shortest text that gives them back, text
in ASCII escapes, so that NULs and lone surrogates of a hostile reply survive. What is not a number is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cortexdsl.records.files import write_lines
from cortexdsl.records.matrices import factors_to_json, flags_to_json, numbers_to_json
from cortexdsl.seals import sealed
from cortexdsl.terms import Agent, Choice, Debate, Graph, Measured, Turn

SCHEMA_VERSION = 5
MEASURED_SINCE = 5
CHOSEN_SINCE = 4
PLAIN_VERSION = 3
"""A debate is written as the first version whose readers know all that it says."""
SEALED_SINCE = 2


@dataclass(frozen=True, slots=True)
class Header:
    """What a record belongs to.

    Attributes
    ----------
    experiment, dataset, cell : str
    replicate : int
        From 1.
    guided : bool
        An agent was told the gold answer (training data): such a record can never be scored.
    without : str
        What a counterfactual debate leaves out, as it was asked for (`agent=ann`); empty: a debate of its cell as it
        is. A counterfactual is no result of its cell, and is never scored as one.
    """

    experiment: str
    dataset: str
    cell: str
    replicate: int
    guided: bool = False
    without: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One debate and what it belongs to."""

    header: Header
    debate: Debate


def debate_to_json(debate: Debate, header: Header) -> str:
    """Return a debate as one sealed line of JSON, without a line end.

    Raises
    ------
    RecordError
        A weight or factor is infinite: JSON has no such number, and no weight should be one.
    """
    more: dict[str, Any] = {"choices": [_choice(choice) for choice in debate.choices]} if debate.choices else {}
    more |= {"standing": [list(turns) for turns in debate.standing]} if debate.standing else {}
    line = {
        "schema_version": _version(debate, more),
        "experiment": header.experiment,
        "dataset": header.dataset,
        "cell": header.cell,
        "replicate": header.replicate,
        "guided": header.guided,
        **({"without": header.without} if header.without else {}),
        "question_id": debate.question_id,
        "agents": [_agent(agent) for agent in debate.agents],
        "turns": [_turn(turn) for turn in debate.turns],
        "graphs": [_graph(graph, debate.question_id) for graph in debate.graphs],
        "answer": debate.answer,
        "votes": {answer: float(debate.votes[answer]) for answer in sorted(debate.votes)},
        "was_tied": debate.was_tied,
        "rounds": debate.rounds,
        "stop": debate.stop,
        **({"images": list(debate.images)} if debate.images else {}),
        **more,
    }
    return sealed(json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _version(debate: Debate, more: Mapping[str, Any]) -> int:
    if any(turn.measured is not None for turn in debate.turns):
        return MEASURED_SINCE
    is_chosen = debate.stop == "condition" or any(turn.beside or turn.reads == "choice" for turn in debate.turns)
    return CHOSEN_SINCE if more or is_chosen else PLAIN_VERSION


def write_debates(path: Path, records: Iterable[Record]) -> None:
    """Write records to a file, one a line, in the order given; all of them or, after a crash, none."""
    write_lines(path, (debate_to_json(record.debate, record.header) for record in records))


def _agent(agent: Agent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "model": agent.model.model,
        "model_entry": agent.model.name,
        "persona": agent.persona,
        "parameters": _finite(agent.model.parameters),
        "tokens": _finite(agent.model.tokens),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    # What most turns have nothing to say of stands only in those that do.
    rare = {
        "reasoning": turn.reasoning or None,
        "reasoning_tokens": turn.reasoning_tokens,
        "ended": turn.ended,
        "beside": dict(turn.beside) or None,
        "measured": None if turn.measured is None else _measured(turn.measured),
    }
    return {
        "turn": turn.turn,
        "execution": turn.execution,
        "round": turn.round,
        "step": turn.step,
        "reads": turn.reads,
        "speaker": turn.speaker,
        "about": turn.about,
        "heard": list(turn.heard),
        "recalled": list(turn.recalled),
        "text": turn.text,
        "answer": turn.answer,
        "unparsed": turn.unparsed,
        "confidence_stated": _finite(turn.confidence_stated),
        "confidence": _finite(turn.confidence),
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "call": turn.call,
        **{name: value for name, value in rare.items() if value is not None},
    }


def _measured(measured: Measured) -> dict[str, Any]:
    return {
        "source": measured.source,
        "confidence": _finite(measured.confidence),
        "unmeasured": measured.unmeasured,
        "calls": [asdict(aside) for aside in measured.asides],
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "turn": choice.turn,
        "round": choice.round,
        "role": choice.role,
        "candidates": list(choice.candidates),
        "weight": list(choice.weight),
        "chosen": list(choice.chosen),
    }


def _graph(graph: Graph, question: str) -> dict[str, Any]:
    where = f"question {question!r}, round {graph.round}, step {graph.step!r}"
    return {
        "round": graph.round,
        "step": graph.step,
        "speakers": list(graph.speakers),
        "listeners": list(graph.listeners),
        "weight": None if graph.weight is None else numbers_to_json(graph.weight, f"{where}: weight"),
        "heard": flags_to_json(graph.heard),
        "factors": factors_to_json(graph.factors, where),
    }


def _finite(value: float | None) -> float | None:
    # A reply may state a confidence of 1e999: no number that JSON knows, and none that means anything.
    return None if value is None or not math.isfinite(value) else float(value)
