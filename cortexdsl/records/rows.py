"""Records as flat rows, and as nested rows of one schema, for data frames and dataset libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeAlias

from cortexdsl.core import Turn
from cortexdsl.records.debates import Record

Row: TypeAlias = dict[str, Any]
_TURN = tuple(field.name for field in fields(Turn) if field.name != "requests")


def turn_rows(records: Iterable[Record]) -> Iterator[Row]:
    """Yield one row a turn; `heard` and `recalled` are numbers of turns with a space between."""
    for record in records:
        for turn in record.debate.turns:
            row = _keys(record) | _fields(turn)
            row["beside"] = "; ".join(f"{what}: {value or ''}" for what, value in turn.beside.items())
            row["tool_uses"] = len(turn.uses)
            row["failed_tool_uses"] = sum(use.error is not None for use in turn.uses)
            yield row | {key: " ".join(map(str, row[key])) for key in ("heard", "recalled")}


def edge_rows(records: Iterable[Record]) -> Iterator[Row]:
    """Yield one row for each pair (speaker, listener) of each graph: whether heard, its weight, its factors.

    A factor that belongs to the speaker is repeated for each listener.
    """
    for record in records:
        for graph in record.debate.graphs:
            for s, speaker in enumerate(graph.speakers):
                for k, listener in enumerate(graph.listeners):
                    weight = None if graph.weight is None else _known(graph.weight[s, k])
                    yield (
                        _keys(record)
                        | {
                            "round": graph.round,
                            "step": graph.step,
                            "speaker": speaker,
                            "listener": listener,
                            "heard": bool(graph.heard[s, k]),
                            "weight": weight,
                        }
                        | {name: _known(f[s, k] if f.ndim == 2 else f[s]) for name, f in graph.factors.items()}
                    )


def debate_rows(records: Iterable[Record]) -> Iterator[Row]:
    """Yield one nested row a debate, all of one schema: mappings from names to numbers are lists of pairs.

    Dataset libraries infer one type for each column, which an object with varying keys does not have.
    """
    edges = ("round", "step", "speaker", "listener", "heard", "weight")
    for record in records:
        debate = record.debate
        yield _keys(record) | {
            "agents": [
                {
                    "name": agent.name,
                    "model": agent.model.model,
                    "persona": agent.persona,
                    "parameters": agent.model.parameters,
                    "tokens": agent.model.tokens,
                }
                for agent in debate.agents
            ],
            "turns": [
                _fields(turn)
                | {"heard": list(turn.heard), "recalled": list(turn.recalled)}
                | {"beside": [{"reads": what, "value": value} for what, value in turn.beside.items()]}
                | {"measured": None if turn.measured is None else asdict(turn.measured)}
                | {"placebos": [asdict(placebo) for placebo in turn.placebos]}
                | {"tool_uses": [asdict(use) for use in turn.uses]}
                for turn in debate.turns
            ],
            "edges": [{key: row[key] for key in edges} for row in edge_rows([record])],
            "answer": debate.answer,
            "votes": [{"answer": answer, "weight": weight} for answer, weight in debate.votes.items()],
            "was_tied": debate.was_tied,
            "rounds": debate.rounds,
            "stop": debate.stop,
            "choices": [
                asdict(choice) | {key: list(getattr(choice, key)) for key in ("candidates", "weight", "chosen")}
                for choice in debate.choices
            ],
        }


RECORD_TABLES: Mapping[str, Callable[[Iterable[Record]], Iterator[Row]]] = {
    "debates": debate_rows,
    "turns": turn_rows,
    "edges": edge_rows,
}
"""What makes the rows of each table of records, by its name."""


def outcome_rows(records: Iterable[Record]) -> Iterator[Row]:
    """Yield one flat row a debate: who debated, its answer and votes, how it ended."""
    for record in records:
        debate = record.debate
        yield _keys(record) | {
            "answer": debate.answer,
            "votes": dict(debate.votes),
            "was_tied": debate.was_tied,
            "rounds": debate.rounds,
            "stop": debate.stop,
            "agents": [agent.name for agent in debate.agents],
            "turns": len(debate.turns),
        }


def well_formed(value: Any) -> Any:
    """Return a row with every lone surrogate replaced by U+FFFD: other programs accept only Unicode text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {well_formed(key): well_formed(item) for key, item in value.items()}
    return [well_formed(item) for item in value] if isinstance(value, list) else value


def _fields(turn: Turn) -> Row:
    """Return the fields of a turn by name; `asdict` copies every value and takes eight times as long."""
    return {name: getattr(turn, name) for name in _TURN}


def _keys(record: Record) -> Row:
    header = record.header
    return {
        "experiment": header.experiment,
        "dataset": header.dataset,
        "cell": header.cell,
        "replicate": header.replicate,
        "question_id": record.debate.question_id,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
