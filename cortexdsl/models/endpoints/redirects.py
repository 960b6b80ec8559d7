"""Variables of the environment that send the calls of a model elsewhere than to its provider.

litellm and the packages of the providers read them (`OPENAI_BASE_URL`, `AWS_ENDPOINT_URL` ...). A model whose calls are
redirected becomes a model with that address, so that the permission, the plan, the price and the log treat it as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from cortexdsl.core import Model
from cortexdsl.models.endpoints.providers import KEYS, REDIRECTS, key_variables, provider_of
from cortexdsl.models.transports.registry import runs_here, transport_type

_SUFFIXES = ("BASE_URL", "API_BASE")  # the order in which litellm reads those of OpenAI
_KEY = re.compile(r"_?(API_?KEY|AUTH_TOKEN|API_TOKEN|AD_TOKEN|OIDC_TOKEN|TOKEN)$")
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


def address_variables(provider: str) -> tuple[str, ...]:
    """Return the variables that may hold another address of a provider, the first one read first."""
    stems = [provider.upper(), *(_KEY.sub("", name) for name in KEYS.get(provider, ()) if _KEY.search(name))]
    named = (f"{stem}_{suffix}" for suffix in _SUFFIXES for stem in stems)
    return tuple(dict.fromkeys((*named, *REDIRECTS.get(provider, ()))))


def redirected(model: Model, environment: Mapping[str, str]) -> Model:
    """Return a model with the address that the environment gives its calls, and with the key that they would carry.

    A model with an address of its own, or without a provider elsewhere, stays as it is.
    """
    is_own = model.is_tool or model.engine is not None or runs_here(model)
    if is_own or model.api_base is not None or transport_type(model.model).needs_address:
        return model
    variable = next(
        (name for name in address_variables(provider_of(model.model) or "") if environment.get(name, "").strip()), None
    )
    if variable is None:
        return model
    keys = key_variables(model)
    key = model.api_key_env or next((name for name in keys if environment.get(name, "").strip()), None)
    return replace(model, api_base=f"env:{variable}", api_key_env=key)


def proxy_of(environment: Mapping[str, str]) -> str | None:
    """Return the variable that sends requests through a proxy, if one is set."""
    return next((name for name in PROXIES if environment.get(name, "").strip()), None)
