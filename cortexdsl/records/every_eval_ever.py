"""Samples of Every Eval Ever with several turns, in the words of the plain import format.

The schema lets messages have further keys. Those that `cortexdsl export` writes are read: `speaker`, `model`, `stage`,
`round`, `turn` and `heard`. Without them there is one agent, and each of its messages is a round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortexdsl.records.messages import Message, debate_words, form_of, without_letters

Row = Mapping[str, Any]
_KEYS = {"evaluation_id", "evaluation_name", "model_id", "sample_id", "interaction_type"}


def is_every_eval_ever(row: Any) -> bool:
    """Return whether a parsed line is a sample of Every Eval Ever."""
    return isinstance(row, dict) and set(row) >= _KEYS


def every_eval_ever_words(row: Row, where: str) -> dict[str, Any]:
    """Return a sample in the words of the plain format; `where` names it in errors.

    Raises
    ------
    DataError
        The sample lacks a field, or no model said anything in its messages.
    """
    with form_of("Every Eval Ever", where):
        asked, facts = row["input"], row.get("metadata") or {}
        epoch = str(facts.get("epoch", "1"))
        finals = [one["extracted_value"] for one in row["answer_attribution"] if one["is_terminal"]]
        replies = [one for one in row.get("messages") or () if one["role"] == "assistant" and one.get("content")]
        if not replies:
            raise ValueError("it has no message of a model; only samples of several turns can be imported")
        return {
            "id": row["sample_id"],
            "dataset": row["evaluation_name"],
            "cell": row["model_id"].rpartition("/")[2],
            "replicate": int(epoch) if epoch.isdecimal() else 1,
            **debate_words([_message(reply, row["model_id"]) for reply in replies]),
            "question": asked["raw"],
            "choices": without_letters(asked.get("choices")),
            "answer": next(iter(asked["reference"]), None),
            "final": finals[-1] if finals else None,
        }


def _message(reply: Row, model: str) -> Message:
    stage = int(reply.get("stage", 0))
    return Message(
        speaker=str(reply.get("speaker") or "agent"),
        text=reply["content"],
        id=(stage, reply.get("turn")),
        heard=[(stage, turn) for turn in reply["heard"]] if "heard" in reply and "turn" in reply else None,
        place=(stage, int(reply["round"])) if "round" in reply else None,
        model=str(reply.get("model") or model),
    )
