"""Digests: what can change a cell's records, and nothing else, changes its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from cortexdsl.debate.roles import choices, principal_roles
from cortexdsl.debate.sites import sites
from cortexdsl.debate.weights.expressions import parse
from cortexdsl.terms import Decide, Keep, Method, Model, Sparse, Step, Told

ENGINE_VERSION = 2
"""Raised whenever the engine would make another record from the same replies; finished debates then run again."""

LATER: dict[type, set[str]] = {
    Step: {"beside", "by_agent", "by_role", "said", "of"},
    Method: {"confidence", "debaters"},
    Decide: {"weight", "otherwise"},
    Keep: {"floor"},
    Sparse: {"within"},
    Told: {"where"},
}
"""Words that came later: where they say nothing, a digest is what it was before, and finished debates stay finished."""

UNSEEN: dict[type, set[str]] = {Model: {"api_key_env", "context", "price", "reasoning_tokens", "transport"}}
"""Of a model, what no record depends on: what it costs, how it is reached, and what an estimate assumes of it."""


def digest(*parts: Any) -> str:
    """Return a digest of frozen values, mappings, sequences and scalars; 16 hexadecimal digits."""
    text = json.dumps([_plain(part) for part in parts], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def method_digest(method: Method, seed: int, prompt_digest: Callable[[str], str], *more: Any) -> str:
    """Return the digest of a cell.

    Parameters
    ----------
    method : Method
    seed : int
        Of the experiment.
    prompt_digest : callable
        From a template's name to the digest of its text and of what it includes.
    more : values
        What else the records depend on (the budget that is matched, knowledge).
    """
    named = [prompt for step in method.steps.values() for prompt in step.prompts]
    named += [method.confidence.prompt] if method.confidence.prompt else []
    prompts = {prompt: prompt_digest(prompt) for prompt in named}
    return digest(ENGINE_VERSION, seed, method, prompts, *_changed_meanings(method), *more)


def _changed_meanings(method: Method) -> tuple[str, ...]:
    """Name the expressions whose meaning changed for this method, though its text is the same.

    `place` counts those who debate now. Before, it kept the gaps of agents that a choice had removed.
    """
    may_leave = any(choice.role in principal_roles(method) for choice in choices(method.schedule))
    return ("place",) if may_leave and any("place" in parse(site.expression).names for site, _ in sites(method)) else ()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        hidden = UNSEEN.get(type(value), set())
        later = {f for f in fields(value) if f.name in LATER.get(type(value), ())}
        hidden = hidden | {f.name for f in later if getattr(value, f.name) in (f.default, "", (), {})}
        named = {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name not in hidden}
        return [type(value).__name__, named]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"{type(value).__name__} has no digest")
