"""Debates of MALLM (the file that it writes, with or without scores), in the words of the plain import format.

A turn of MALLM is a round, and the paradigm the cell. An agent that speaks several times in a turn has one reply there.
Who heard whom is known by the messages that an agent had in its memory; those of its own turn are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from cortexdsl.records.messages import Message, debate_words, form_of

Row = Mapping[str, Any]


def is_mallm(value: Any) -> bool:
    """Return whether a parsed file is one of MALLM."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and {"exampleId", "globalMemory"} <= set(first)


def mallm_words(row: Row, where: str) -> dict[str, Any]:
    """Return a debate in the words of the plain format; `where` names it in errors.

    Raises
    ------
    DataError
        The debate lacks a field, or it has no message.
    """
    with form_of("MALLM", where):
        messages: list[Row] = row["globalMemory"] or []
        names = _names(messages)
        about = {str(one.get("agentId")): one for one in row.get("personas") or ()}
        words = {
            "id": str(row["exampleId"]),
            "dataset": PurePosixPath(str(row.get("dataset") or "mallm")).stem,
            "cell": str(row.get("paradigm") or "baseline"),
            **debate_words([_message(message, names, about) for message in messages]),
            "personas": [about.get(agent, {}).get("personaDescription") for agent in names],
            "question": "\n".join(row["input"]),
            "context": "\n".join(row.get("context") or ()),
            "answer": next(iter(row.get("references") or ()), None),
            "final": row.get("finalAnswer"),
        }
        return {word: value for word, value in words.items() if value != ""}


def _message(message: Row, names: Mapping[str, str], about: Mapping[str, Row]) -> Message:
    agent = _agent(message)
    model = str(about.get(agent, {}).get("model") or "unknown")
    heard = message.get("memory_ids") or ()
    return Message(names[agent], message["message"], message["message_id"], heard, (message["turn"],), model)


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
