"""The parts of a resolved method as plain values, in the words of the language if it has such words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from cortexdsl.core import ELSE, KEEP_TRUE, NEVER, Agent, Choose, Keep, Method, Model, Repeat, Sparse, Step
from cortexdsl.expressions.negation import negated


def method_values(method: Method) -> dict[str, Any]:
    """Return the parts of a method that differ from their defaults."""
    values = _fields(method)
    return {("roles" if name == "role_agents" else name): value for name, value in values.items()}


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a frozen value that differ from their defaults."""
    named = {}
    for field in fields(value):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        own = getattr(value, field.name)
        if own != default:
            named[field.name] = _expression(own) if field.name in _EXPRESSIONS else _plain(own)
    return named


_EXPRESSIONS = ("weight", "where")


def _expression(text: str) -> str:
    """Return an expression as the language documents it, without parentheses around the numbers of settings."""
    return re.sub(r"(?<!\w)\((\d+(?:\.\d+)?)\)", r"\1", text)


def _plain(value: Any) -> Any:
    if isinstance(value, Model | Agent):
        return value.name
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list | frozenset):  # a loop of no rounds, as settings can make one, is not there
        return [_plain(inner) for inner in value if not (isinstance(inner, Repeat) and inner.times == 0)]
    if isinstance(value, Keep):
        number = {value.rule: value.number} if value.number is not None else {}
        return number or value.rule
    if isinstance(value, Choose):
        source = {} if value.source == value.role else {"from": value.source}
        return {"choose": value.role, **source, **_picked(value)}
    if isinstance(value, Repeat):
        start = {} if value.unless == NEVER else {"if": _expression(negated(value.unless))}
        if value.times == 1 and start:
            return {**start, "do": _plain(value.body)}
        until = {} if value.until == NEVER else {"until": _expression(value.until)}
        return {"repeat": value.times, **start, **until, "do": _plain(value.body)}
    if isinstance(value, Sparse):
        within = _plain(value.within)
        return {**_picked(value), **({"topology": within} if within != "everyone" else {})}
    if isinstance(value, Step):
        reads = {"reads": [value.reads, *value.beside]} if value.beside else {}
        named = {name: inner for name, inner in _fields(value).items() if name not in ("name", "beside")} | reads
        if {*value.tools} == {ELSE}:
            named["tools"] = named["tools"][ELSE]
        material = named.pop("material", {})
        knowledge = {"knowledge": material.pop("pool")} if "pool" in material else {}
        return {**named, **({"with": material} if material else {}), **knowledge}
    if isinstance(value, Method):
        return method_values(value)
    if hasattr(value, "key"):  # a topology
        named = _fields(value)
        return {value.key: next(iter(named.values())) if len(named) == 1 else named} if named else value.key
    return _fields(value) if is_dataclass(value) else value


def _picked(value: Choose | Sparse) -> dict[str, Any]:
    """Return how agents, or edges, are picked: by a condition, or by a weight and a rule."""
    weight = _expression(value.weight)
    return {"where": weight} if value.keep == KEEP_TRUE else {"weight": weight, "keep": _plain(value.keep)}
