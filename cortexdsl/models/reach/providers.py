"""Providers behind litellm: which there are, and which environment variables hold their keys.

litellm imports in two seconds, so that what is needed before a run is read from its data files or stands here. A test
holds this table against `litellm.validate_environment`.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cortexdsl.models.transports.prices import listed_provider, listed_providers
from cortexdsl.terms import Model

_SUPPORTED = "provider_endpoints_support_backup.json"
_LIKE_OPENAI = "llms/openai_like/providers.json"
_OUR_OWN = ("builtin", "tiny", "direct", "tool", "trained")
"""What the names of models begin with that litellm does not see."""

_KEYS: Mapping[str, tuple[str, ...]] = {
    "ai21": ("AI21_API_KEY",),
    "ai21_chat": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "azure": ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN"),
    "azure_ai": ("AZURE_AI_API_KEY",),
    "baseten": ("BASETEN_API_KEY",),
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ROLE_ARN"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cloudflare": ("CLOUDFLARE_API_KEY",),
    "codestral": ("CODESTRAL_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "databricks": ("DATABRICKS_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "featherless_ai": ("FEATHERLESS_AI_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "friendliai": ("FRIENDLIAI_API_KEY", "FRIENDLI_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "github": ("GITHUB_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HUGGINGFACE_API_KEY", "HF_TOKEN"),
    "hyperbolic": ("HYPERBOLIC_API_KEY",),
    "lambda_ai": ("LAMBDA_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "modelscope": ("MODELSCOPE_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "nlp_cloud": ("NLP_CLOUD_API_KEY",),
    "novita": ("NOVITA_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "sagemaker": ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN"),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "tencent": ("TENCENT_API_KEY",),
    "text-completion-openai": ("OPENAI_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
    "vercel_ai_gateway": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "vertex_ai": ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
    "volcengine": ("VOLCENGINE_API_KEY", "ARK_API_KEY"),
    "voyage": ("VOYAGE_API_KEY",),
    "wandb": ("WANDB_API_KEY",),
    "watsonx": ("WATSONX_API_KEY", "WX_API_KEY", "WATSONX_APIKEY"),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
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


@dataclass(frozen=True, slots=True)
class Unset:
    """What a model needs from the environment and does not find there.

    Attributes
    ----------
    variable : str
        The one to set.
    others : tuple of str
        Variables that would do as well.
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
    if slash and (first in _OUR_OWN or first in _KEYS or first in _ADDRESSES or first in known_providers()):
        return first
    return "openai" if model.startswith("ft:") else listed_provider(model)


@cache
def known_providers() -> frozenset[str]:
    """Return the providers that litellm's data files and this module name; few if litellm is not installed."""
    return frozenset(
        {*_KEYS, *_ADDRESSES, *_data(_SUPPORTED).get("providers", {}), *_like_openai(), *listed_providers()}
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
    return _KEYS.get(provider, (own,) if own else ())


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
    return {name: entry["api_key_env"] for name, entry in _data(_LIKE_OPENAI).items() if "api_key_env" in entry}


def _data(name: str) -> Mapping[str, Any]:
    """Return a data file of litellm; nothing if this version has none."""
    package = importlib.util.find_spec("litellm")
    try:
        content = json.loads((Path(package.origin).parent / name).read_bytes()) if package and package.origin else {}
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
