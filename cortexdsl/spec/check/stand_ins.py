"""What a spec or protocol is judged with in place of a value that is wrong; nothing of it is ever run."""

from __future__ import annotations

from typing import Any

from cortexdsl.spec.check.mending import StandIns
from cortexdsl.spec.grammar.sections.speakers import BUILTIN
from cortexdsl.spec.text.nodes import Node, Route

NAME = "stand-in"

_MODEL = {"model": BUILTIN, "parameters": 1.0, "tokens": 1.0}
_QUESTIONS = {"name": "arithmetic"}
_OPENING = "common/answer.j2"


def of_spec(root: Node) -> StandIns:
    """Return the stand-ins for a spec: its agents speak with its first model."""
    models = root.mapping().get("models")
    first = next(iter(models.mapping()), NAME) if models is not None else NAME

    def agent(route: Route) -> dict[str, Any]:
        return {"name": called(route), "model": first}

    def called(route: Route) -> str:
        return f"{NAME}-{int(route[1]) + 1}" if len(route) > 1 else NAME

    return {
        ("models",): {NAME: _MODEL},
        ("models", "*"): _MODEL,
        ("models", "*", "model"): BUILTIN,
        ("models", "*", "parameters"): 1.0,
        ("models", "*", "tokens"): 1.0,
        ("agents",): [{"name": NAME, "model": first}],
        ("agents", "*"): agent,
        ("agents", "*", "name"): called,
        ("agents", "*", "model"): first,
        ("methods",): {NAME: {"protocol": NAME}},
        ("dataset",): _QUESTIONS,
        ("datasets",): {NAME: _QUESTIONS},
        ("datasets", "*"): _QUESTIONS,
        (): lambda _: None,
    }


def of_protocol(node: Node) -> StandIns:
    """Return the stand-ins for a protocol: its steps are spoken by its first role, each once."""
    roles, steps = node.find(("roles",)), node.find(("steps",))
    role = next(iter(roles.mapping()), "debater") if roles is not None else "debater"
    step = {"role": role, "prompt": _OPENING}
    return {
        ("roles", "*"): "everyone",
        ("steps",): {NAME: step},
        ("steps", "*"): step,
        ("steps", "*", "role"): role,
        ("steps", "*", "prompt"): _OPENING,
        ("schedule",): list(steps.mapping()) if steps is not None else [NAME],
        ("schedule", "*", "repeat"): 1,
        ("schedule", "*", "do", "*", "repeat"): 1,
        ("decide",): "first",
    }
