"""Which models litellm's price list knows, read from its file: importing litellm takes seconds that a check has not."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cortexdsl.terms import Model

_UNLISTED = ("builtin/", "tiny/", "tool/", "direct/")
"""What is run in the process, and servers whose models have names of their own."""
_LIST = "model_prices_and_context_window_backup.json"


@cache
def _listed() -> Mapping[str, Any]:
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    said: Mapping[str, Any] = json.loads((Path(found.origin).parent / _LIST).read_bytes())
    return said


def _entry(model: str) -> Mapping[str, Any]:
    provider, _, name = model.partition("/")
    entry: Mapping[str, Any] = _listed().get(model) or _listed().get(name) or {}
    if model not in _listed() and not str(entry.get("litellm_provider", "")).startswith(provider):
        return {}
    return entry


def is_listed(model: str) -> bool:
    """Say whether litellm has a price for a model name: as it stands, or of that provider without the prefix.

    The list is the one that litellm itself uses here, since it is kept from fetching another.
    """
    return any(_entry(model).get(f"{way}_cost_per_token") for way in ("input", "output"))


def price_of(model: str) -> tuple[float, float] | None:
    """Return dollars per input and output token by litellm's list; None where it has no price for a model."""
    asked, said = (float(_entry(model).get(f"{way}_cost_per_token") or 0.0) for way in ("input", "output"))
    return (asked, said) if asked or said else None


def rates(model: Model) -> tuple[float, float]:
    """Return dollars per input and output token: by the spec, else by litellm's list, else none."""
    if model.price is not None:
        return model.price
    has_none = model.model.startswith(_UNLISTED)  # nor is the list, which is long, read for one
    return (0.0, 0.0) if has_none else price_of(model.model) or (0.0, 0.0)


def context_of(model: str) -> int | None:
    """Return the most tokens of a prompt that litellm's list has for a model; None where it has none."""
    most = _entry(model).get("max_input_tokens")
    return most if isinstance(most, int) else None
