"""Addresses and keys: resolved from the environment by the names in the spec, and removed from all text.

It also lists the providers that litellm knows and the environment variables that hold their keys. litellm imports in
two seconds, so what is needed before a run is read from its data files or listed here. A test compares this list
with `litellm.validate_environment`.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from cortexdsl.core import Model
from cortexdsl.errors import ModelError
from cortexdsl.models.transports.addresses import is_address, mask_url
from cortexdsl.models.transports.interface import PLACEHOLDER_KEY
from cortexdsl.models.transports.prices import listed_provider, listed_providers, litellm_data
from cortexdsl.models.transports.registry import LITELLM, named_type

_SUPPORTED = "provider_endpoints_support_backup.json"
_LIKE_OPENAI = "llms/openai_like/providers.json"
_TRAINED = "trained"
"""Prefix of models that an experiment trains."""

_NAMED_LIKE_THEIR_KEYS = (
    "ai21 azure_ai baseten cerebras cloudflare codestral dashscope databricks deepinfra deepseek "
    "featherless_ai github groq hyperbolic mistral modelscope moonshot nebius nlp_cloud novita nvidia_nim "
    "openai sambanova tencent voyage wandb xai zai"
)
"""Providers whose key is in NAME_API_KEY alone."""
PROVIDER_KEYS: Mapping[str, tuple[str, ...]] = {
    **{name: (f"{name.upper()}_API_KEY",) for name in _NAMED_LIKE_THEIR_KEYS.split()},
    "ai21_chat": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "azure": ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN"),
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ROLE_ARN"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "friendliai": ("FRIENDLIAI_API_KEY", "FRIENDLI_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "huggingface": ("HUGGINGFACE_API_KEY", "HF_TOKEN"),
    "lambda_ai": ("LAMBDA_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "sagemaker": ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN"),
    "text-completion-openai": ("OPENAI_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
    "vercel_ai_gateway": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "vertex_ai": ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
    "volcengine": ("VOLCENGINE_API_KEY", "ARK_API_KEY"),
    "watsonx": ("WATSONX_API_KEY", "WX_API_KEY", "WATSONX_APIKEY"),
}
"""Variables that may hold a provider's key; the first is the one to set."""

_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "azure": ("AZURE_API_BASE",),
    "azure_ai": ("AZURE_AI_API_BASE",),
    "cloudflare": ("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_API_BASE"),
    "databricks": ("DATABRICKS_API_BASE",),
    "hosted_vllm": ("HOSTED_VLLM_API_BASE",),
    "litellm_proxy": ("LITELLM_PROXY_API_BASE",),
}
"""Variables that may hold the address of providers that have none of their own, if there is no `api_base`."""

_HAVE_OTHER_WAYS = frozenset({"bedrock", "sagemaker", "vertex_ai", "huggingface", "watsonx"})
"""Providers whose keys may also come from a file or from the machine: a missing variable is worth a warning alone."""
SIGNED = frozenset({"bedrock", "sagemaker"})
"""Providers whose requests are signed: no key travels, so that an address of one's own needs no placeholder."""


_PACKAGES: Mapping[str, tuple[str, str]] = {"vertex_ai": ("google.auth", "google-auth")}
"""Modules that litellm imports for a provider and does not bring, and the packages that have them."""


def missing_package(model: str) -> str | None:
    """Return the package that calls to a model need and that is not installed; None if there is none."""
    module, package = _PACKAGES.get(provider_of(model) or "", ("", ""))
    try:
        return None if not module or importlib.util.find_spec(module) is not None else package
    except ModuleNotFoundError:  # its parent package is not there
        return package


@dataclass(frozen=True, slots=True)
class Unset:
    """An environment variable that a model needs and that is not set.

    Attributes
    ----------
    variable : str
        The one to set.
    others : tuple of str
        Alternative variables.
    is_needed : bool
        False if the provider also takes its key from elsewhere.
    """

    variable: str
    others: tuple[str, ...]
    is_needed: bool


def provider_of(model: str) -> str | None:
    """Return the provider of a model name as litellm finds it; None if it knows none."""
    first, slash, _ = model.partition("/")
    # Most names are found without reading litellm's files, which takes 40 ms of every start of a job.
    if slash and (first in (_TRAINED, *PROVIDER_KEYS, *_ADDRESSES) or _is_ours(first) or first in known_providers()):
        return first
    return "openai" if model.startswith("ft:") else listed_provider(model)


def _is_ours(prefix: str) -> bool:
    return prefix != LITELLM and named_type(prefix) is not None


@cache
def known_providers() -> frozenset[str]:
    """Return the providers that litellm's data files and this module name; few if litellm is not installed."""
    return frozenset(
        {
            *PROVIDER_KEYS,
            *_ADDRESSES,
            *litellm_data(_SUPPORTED).get("providers", {}),
            *_like_openai(),
            *listed_providers(),
        }
    )


def nearest_provider(model: str) -> str | None:
    """Return the known provider whose name is spelled most like that of a model; None if none is near."""
    return next(iter(difflib.get_close_matches(model.partition("/")[0], sorted(known_providers()), 1)), None)


def key_variables(model: Model) -> tuple[str, ...]:
    """Return the variables that may hold the key of a model, the one to set first; empty if it needs none."""
    if model.api_key_env is not None:
        return (model.api_key_env,)
    provider = provider_of(model.model)
    if provider is None or (model.api_base is not None and provider not in SIGNED):
        return ()
    own = _like_openai().get(provider)
    return PROVIDER_KEYS.get(provider, (own,) if own else ())


def unset_variables_of(model: Model, environment: Mapping[str, str]) -> list[Unset]:
    """Return what a model needs from the environment and does not find there."""
    provider = provider_of(model.model) or ""
    addresses = _ADDRESSES.get(provider, ()) if model.api_base is None else ()
    is_needed = provider not in _HAVE_OTHER_WAYS or model.api_key_env is not None
    return [
        Unset(names[0], names[1:], is_needed)
        for names in (key_variables(model), addresses)
        if names and not any(environment.get(name, "").strip() for name in names)
    ]


@cache
def _like_openai() -> Mapping[str, str]:
    return {name: entry["api_key_env"] for name, entry in litellm_data(_LIKE_OPENAI).items() if "api_key_env" in entry}


REDACTED = "[key]"
_ENVIRONMENT = "env:"
_NAMES = re.compile(r"(API_?KEY|_KEY|_TOKEN|_SECRET|PASSWORD)$")
_SHORTEST = 12
_PATTERNS = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|ghp|key|AIza)[-_][A-Za-z0-9*_\-]{8,}"  # keys by their usual beginnings
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|(?<=[Bb]earer )[^\s\"',;]+"
    r"|(?<=://)[^/\s@]+(?=@)"  # name and password in an address
    r"|(?<=api_key=)[^\s\"'&,)]+"
    r"|(?<=api-key: )[^\s\"',;]+"
)


class Secrets:
    """The values that must not be seen, from the environment, and the ways to take them out of a text.

    Parameters
    ----------
    environment : mapping
        Values of variables that are named like keys (`..._API_KEY`, `..._TOKEN` ...) are secret, and those that
        a model entry names.
    served : mapping
        Addresses of the servers of the spec, by the names in `env:NAME`. They come before the environment.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, served: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._served = dict(served)
        by_name = (value for name, value in self._environment.items() if _NAMES.search(name))
        self._values = _longest_first({value for value in by_name if len(value) >= _SHORTEST})

    def hide(self, text: str) -> str:
        """Return a reply without any key's exact value of 12 characters or more (a shorter one may be a word)."""
        for value in self._values:
            if len(value) >= _SHORTEST and value in text:
                text = text.replace(value, REDACTED)
        return text

    def clean(self, text: str) -> str:
        """Return a message of ours without any key: exact values of whatever length, and what looks like a key."""
        for value in self._values:
            text = text.replace(value, REDACTED)
        return _PATTERNS.sub(REDACTED, text)

    def add_served(self, addresses: Mapping[str, str]) -> None:
        """Add addresses of servers that a run has started."""
        self._served.update(addresses)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment that addresses and keys are read from."""
        return self._environment

    def key_value(self, model: Model) -> str:
        """Return the key that a request is sent with, also one from the provider's own variable; empty if unknown.

        Raises
        ------
        ModelError
            If the environment variable that the entry names is not set.
        """
        own = self.key(model)
        if own is not None:
            return own
        return next((value for name in key_variables(model) if (value := self._environment.get(name, "").strip())), "")

    def address(self, model: Model) -> str | None:
        """Return the address of a model, resolved.

        Raises
        ------
        ModelError
            If the environment variable that it names is not set, or it is not an http address.
        """
        value = model.api_base
        if value is not None and value.startswith(_ENVIRONMENT):
            name = value.removeprefix(_ENVIRONMENT).strip()
            value = (self._served.get(name) or self._environment.get(name, "")).strip()
            if not value:
                raise ModelError(
                    f"model {model.name} ({model.model}): its address is in the environment variable {name}, which "
                    f"is not set\n    set it, for example: export {name}=http://127.0.0.1:8000/v1"
                )
        if value is not None and not is_address(value):
            # The value of a variable is not shown: the wrong variable may hold a key.
            named = model.api_base if model.api_base != value else mask_url(value)
            raise ModelError(
                f"model {model.name} ({model.model}): its address {named!r} is not an http address\n"
                "    write it whole, for example http://127.0.0.1:8000/v1"
            )
        return value

    def key(self, model: Model) -> str | None:
        """Return the key of a model, resolved; None if the provider's own variable is to be used.

        An address without a named key gets a placeholder, so that no other service's key is sent there. A provider
        whose requests are signed gets an empty key, with which litellm signs and sends no key.

        Raises
        ------
        ModelError
            If the environment variable that it names is not set.
        """
        if model.api_key_env is None:
            if model.api_base is None:
                return None
            return "" if provider_of(model.model) in SIGNED else PLACEHOLDER_KEY
        value = self._environment.get(model.api_key_env, "").strip()
        if not value:
            raise ModelError(
                f"model {model.name} ({model.model}): its key is in the environment variable {model.api_key_env}, "
                f"which is not set\n    set it: export {model.api_key_env}=..."
            )
        if value not in self._values:
            self._values = _longest_first({*self._values, value})
        return value


def _longest_first(values: set[str]) -> list[str]:
    return sorted(values - {"", PLACEHOLDER_KEY}, key=len, reverse=True)


def without_credentials(text: str | None) -> str | None:
    """Return a text of the spec without what looks like a key or a password."""
    return None if text is None else _PATTERNS.sub(REDACTED, text)
