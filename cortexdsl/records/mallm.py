"""Debates of MALLM (the file that it writes, with or without scores), as lines of the plain import format.

A turn of MALLM is a round, and the paradigm the cell. An agent that speaks several times in a turn has one reply there.
Who heard whom is known by the messages that an agent had in its memory; those of its own turn are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from cortexdsl.errors import DataError

Row = Mapping[str, Any]


def is_mallm(value: Any) -> bool:
    """Return whether a parsed file is one of MALLM."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and {"exampleId", "globalMemory"} <= set(first)


def mallm_lines(rows: Sequence[Row], place: str) -> Iterator[dict[str, Any]]:
    """Yield each debate in the plain format.

    Raises
    ------
    DataError
        A debate lacks a field, or it has no message; `place` is the file, for the message.
    """
    for number, row in enumerate(rows, 1):
        try:
            yield _line(row)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(
                f"{place}: debate {number} does not have the form of MALLM: {what}\n    is the file whole?"
            ) from None


def _line(row: Row) -> dict[str, Any]:
    messages: list[Row] = row["globalMemory"] or []
    if not messages:
        raise ValueError("it has no message")
    names, turns = _names(messages), sorted({message["turn"] for message in messages})
    texts: dict[tuple[str, int], list[str]] = {}
    for message in messages:
        texts.setdefault((names[_agent(message)], message["turn"]), []).append(message["message"])
    replies = {
        name: ["\n\n".join(texts[name, turn]) if (name, turn) in texts else None for turn in turns]
        for name in names.values()
    }
    about = {str(one.get("agentId")): one for one in row.get("personas") or ()}
    line = {
        "id": str(row["exampleId"]),
        "dataset": PurePosixPath(str(row.get("dataset") or "mallm")).stem,
        "cell": str(row.get("paradigm") or "baseline"),
        "agents": replies,
        "models": [str(about.get(agent, {}).get("model") or "unknown") for agent in names],
        "personas": [about.get(agent, {}).get("personaDescription") for agent in names],
        "heard": [_heard(messages, names, turn) for turn in turns[1:]],
        "question": "\n".join(row["input"]),
        "context": "\n".join(row.get("context") or ()),
        "answer": next(iter(row.get("references") or ()), None),
        "final": row.get("finalAnswer"),
    }
    return {word: value for word, value in line.items() if value not in (None, "")}


def _agent(message: Row) -> str:
    return str(message.get("agent_id") or message.get("persona") or "agent")


def _names(messages: Sequence[Row]) -> dict[str, str]:
    """Return the name of each agent, in the order in which they first spoke: its persona, numbered if it is shared."""
    personas = {_agent(message): str(message.get("persona") or "agent") for message in messages}
    count: Counter[str] = Counter()
    for agent, persona in personas.items():
        count[persona] += 1
        personas[agent] = persona if count[persona] == 1 else f"{persona} {count[persona]}"
    return personas


def _heard(messages: Sequence[Row], names: Mapping[str, str], turn: int) -> list[list[str]]:
    """Return the pairs [speaker, listener] of a turn."""
    earlier = {message["message_id"]: names[_agent(message)] for message in messages if message["turn"] < turn}
    pairs = {
        (earlier[known], names[_agent(message)])
        for message in messages
        if message["turn"] == turn
        for known in message.get("memory_ids") or ()
        if known in earlier
    }
    return [[speaker, listener] for speaker, listener in sorted(pairs) if speaker != listener]
