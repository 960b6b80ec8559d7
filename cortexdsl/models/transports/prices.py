"""Prices and context windows of models: the spec's own price, else litellm's list.

The list is read from its file in the package (30 ms), because importing litellm takes two seconds. litellm is kept
from fetching a newer one, so that plan, limits, bill and report use the same prices.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cortexdsl.core import FREE, Model, Price
from cortexdsl.models.transports.interface import TokenCounts
from cortexdsl.models.transports.registry import runs_here, transport_type

PRICE_REMEDY = "write price: {input: DOLLARS, output: DOLLARS}  # per million tokens, from the provider's page"

_LIST = "model_prices_and_context_window_backup.json"
_CACHED = ("cache_read_input_token_cost", "input_cost_per_token_cache_hit")
_DIVIDED = ("vertex_ai", "bedrock", "fireworks_ai")
_CACHE_WRITE = "cache_creation_input_token_cost"
_BILLS = "openrouter/"
"""Prefix of models whose replies say what they cost."""
_CACHE_WRITE_1H = "cache_creation_input_token_cost_above_1hr"


@cache
def litellm_data(name: str) -> Mapping[str, Any]:
    """Return a data file of litellm; nothing if this version has none, or litellm is not installed."""
    package = importlib.util.find_spec("litellm")
    try:
        content = json.loads((Path(package.origin).parent / name).read_bytes()) if package and package.origin else {}
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _list() -> Mapping[str, Any]:
    return litellm_data(_LIST)


def _entry(model: str) -> Mapping[str, Any]:
    provider, _, name = model.partition("/")
    entry: Mapping[str, Any] = _list().get(model) or _list().get(name) or {}
    if model not in _list() and not str(entry.get("litellm_provider", "")).startswith(provider):
        return {}
    return entry


@cache
def listed_price(model: str) -> Price | None:
    """Return the price of a model name by litellm's list, with or without the provider's prefix; None if it has none.

    Prices of cached tokens that the list does not know are None, so that these tokens cost what others do.
    """
    if not transport_type(model).is_listed:
        return None
    entry = _entry(model)
    input_price, output_price = (float(entry.get(f"{way}_cost_per_token") or 0.0) for way in ("input", "output"))
    if not input_price and not output_price:
        return None
    cached = next((float(entry[name]) for name in _CACHED if entry.get(name) is not None), None)
    written, written_1h = (float(entry[name]) if entry.get(name) else None for name in (_CACHE_WRITE, _CACHE_WRITE_1H))
    return Price(input_price, output_price, cached, written, written_1h)


@cache
def listed_providers() -> frozenset[str]:
    """Return the providers of the models in litellm's list."""
    return frozenset(_provider(entry) for entry in _list().values() if entry.get("litellm_provider"))


def listed_provider(model: str) -> str | None:
    """Return the provider of a model name that litellm's list contains as it is; None if it does not."""
    entry = _list().get(model) or {}
    return _provider(entry) if entry.get("litellm_provider") else None


def _provider(entry: Mapping[str, Any]) -> str:
    """Return the provider of an entry: the list divides some of them, such as `vertex_ai-language-models`."""
    name = str(entry["litellm_provider"])
    return next((one for one in _DIVIDED if name.startswith((f"{one}-", f"{one}_converse"))), name)


BATCH_SHARE = 0.5
"""Of the ordinary price, what OpenAI and Anthropic ask in batches, by their pages on batches."""


@cache
def listed_batch_price(model: str) -> Price | None:
    """Return the price of a model name in batches: that of litellm's list if it has one, else half the ordinary one."""
    ordinary = listed_price(model)
    if ordinary is None:
        return None
    entry = _entry(model)

    def in_batches(names: tuple[str, ...], otherwise: float | None) -> float | None:
        listed = next((entry[f"{name}_batches"] for name in names if entry.get(f"{name}_batches") is not None), None)
        return float(listed) if listed is not None else None if otherwise is None else BATCH_SHARE * otherwise

    return Price(
        in_batches(("input_cost_per_token",), ordinary.input) or 0.0,
        in_batches(("output_cost_per_token",), ordinary.output) or 0.0,
        in_batches(_CACHED, ordinary.cached),
        in_batches((_CACHE_WRITE,), ordinary.cache_write),
        in_batches((_CACHE_WRITE_1H,), ordinary.cache_write_1h),
    )


_OF_AN_ACCOUNT = ("azure/", "azure_ai/", "bedrock/", "databricks/", "sagemaker/", "vertex_ai/", "watsonx/")
"""Prefixes of providers at which each account has its own address: such an address is still the provider's."""


_REDIRECT = re.compile(r"env:\w+_(BASE_URL|API_BASE|ENDPOINT\w*)")
"""Addresses from variables that redirect the calls of a provider, such as OPENAI_BASE_URL."""


def known_price(model: Model) -> Price | None:
    """Return the price of a model entry: the spec's, else that of litellm's list (for batches or not), else None.

    A model that an engine answers is free, unless the engine is a provider's batches. The list has the prices of
    providers, so that it says nothing about a model that a variable of its provider sends to another server.
    """
    if model.price is not None:
        return model.price
    if model.engine is not None and not model.is_billed:
        return FREE
    if _REDIRECT.fullmatch(model.api_base or "") and not model.model.startswith(_OF_AN_ACCOUNT):
        return None
    return listed_batch_price(model.model) if model.is_billed else listed_price(model.model)


def bills_itself(model: Model) -> bool:
    """Say whether the replies of a model say what they cost, so that a limit in dollars holds without a price."""
    return model.model.startswith(_BILLS)


def has_price(model: Model) -> bool:
    """Say whether the dollars of a call to a model can be counted."""
    return runs_here(model) or known_price(model) is not None


def dollars_of(model: Model, usage: TokenCounts, billed: float | None = None) -> float | None:
    """Return the dollars of a call; None if its model has no known price, or the server counted no tokens.

    Parameters
    ----------
    model : Model
    usage : TokenCounts
    billed : float or None
        What the reply says it cost. It counts for OpenRouter alone: each call is served by a provider that OpenRouter
        chooses, at that provider's price.
    """
    if billed is not None and bills_itself(model):
        return billed
    price = known_price(model)
    if price is None or (usage.prompt_tokens is None and not price.is_free):
        return None
    return price.dollars(*(count or 0 for count in usage))


def saved_by_cache(model: Model, usage: TokenCounts) -> float:
    """Return the dollars that the provider's cache saved in a call; below 0 if it was written and not read."""
    price = known_price(model)
    if price is None or not (usage.cached_tokens or usage.cache_write_tokens):
        return 0.0
    prompt, *more = (count or 0 for count in usage)
    return price.dollars(prompt, 0) - price.dollars(prompt, 0, *more[1:])


def estimated_dollars(model: Model, prompt: int, completion: int) -> float:
    """Return the dollars of tokens, none of them cached; 0 for a model without a known price."""
    price = known_price(model)
    return 0.0 if price is None else price.dollars(prompt, completion)
