"""The providers that litellm knows: their names, and the variables that hold their keys and addresses.

litellm and the packages of the providers read variables that send calls elsewhere (`OPENAI_BASE_URL`,
`AWS_ENDPOINT_URL` ...). A model whose calls are redirected becomes a model with that address, so that the permission,
the plan, the price and the log treat it as one.

litellm imports in two seconds, so what is needed before a run is read from its data files or listed here. A test
compares the keys with `litellm.validate_environment`.
"""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from cortexdsl.core import Model
from cortexdsl.models.transports.prices import listed_provider, listed_providers, litellm_data
from cortexdsl.models.transports.registry import LITELLM, named_type, runs_here, transport_type

_SUPPORTED = "provider_endpoints_support_backup.json"
_LIKE_OPENAI = "llms/openai_like/providers.json"
_TRAINED = "trained"
"""Prefix of models that an experiment trains."""


_NAMED_LIKE_THEIR_KEYS = (
    "ai21 baseten cerebras codestral dashscope deepinfra deepseek github groq hyperbolic modelscope "
    "moonshot nebius nlp_cloud novita nvidia_nim openai sambanova tencent voyage wandb zai"
)
"""Providers whose key is in NAME_API_KEY."""
_OTHER_KEYS = """
ai21_chat               AI21_API_KEY
anthropic               ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN
azure                   AZURE_API_KEY AZURE_OPENAI_API_KEY AZURE_AD_TOKEN
azure_ai                AZURE_AI_API_KEY
bedrock                 AWS_ACCESS_KEY_ID AWS_PROFILE AWS_BEARER_TOKEN_BEDROCK AWS_ROLE_ARN
cloudflare              CLOUDFLARE_API_KEY
cohere                  COHERE_API_KEY CO_API_KEY
cohere_chat             COHERE_API_KEY CO_API_KEY
databricks              DATABRICKS_API_KEY
featherless_ai          FEATHERLESS_AI_API_KEY
fireworks_ai            FIREWORKS_AI_API_KEY FIREWORKS_API_KEY FIREWORKSAI_API_KEY FIREWORKS_AI_TOKEN
friendliai              FRIENDLIAI_API_KEY FRIENDLI_TOKEN
gemini                  GEMINI_API_KEY GOOGLE_API_KEY
huggingface             HUGGINGFACE_API_KEY HF_TOKEN
lambda_ai               LAMBDA_API_KEY
mistral                 MISTRAL_API_KEY
openrouter              OPENROUTER_API_KEY OR_API_KEY
perplexity              PERPLEXITYAI_API_KEY PERPLEXITY_API_KEY
replicate               REPLICATE_API_KEY REPLICATE_API_TOKEN
sagemaker               AWS_ACCESS_KEY_ID AWS_PROFILE AWS_ROLE_ARN
text-completion-openai  OPENAI_API_KEY
together_ai             TOGETHERAI_API_KEY TOGETHER_API_KEY TOGETHER_AI_API_KEY TOGETHER_AI_TOKEN
vercel_ai_gateway       VERCEL_AI_GATEWAY_API_KEY VERCEL_OIDC_TOKEN
vertex_ai               GOOGLE_APPLICATION_CREDENTIALS VERTEXAI_CREDENTIALS
volcengine              VOLCENGINE_API_KEY ARK_API_KEY
watsonx                 WATSONX_API_KEY WX_API_KEY WATSONX_APIKEY
xai                     XAI_API_KEY
"""
KEYS: Mapping[str, tuple[str, ...]] = {
    **{name: (f"{name.upper()}_API_KEY",) for name in _NAMED_LIKE_THEIR_KEYS.split()},
    **{name: tuple(keys) for name, *keys in map(str.split, _OTHER_KEYS.split("\n")[1:-1])},
}
"""Variables that may hold the key of a provider; the first is the one to set."""
_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "azure": ("AZURE_API_BASE",),
    "azure_ai": ("AZURE_AI_API_BASE",),
    "cloudflare": ("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_API_BASE"),
    "databricks": ("DATABRICKS_API_BASE",),
    "hosted_vllm": ("HOSTED_VLLM_API_BASE",),
    "litellm_proxy": ("LITELLM_PROXY_API_BASE",),
}
"""Variables that may hold the address of a provider that has none of its own, if there is no `api_base`."""
_REDIRECTS: Mapping[str, tuple[str, ...]] = {
    "bedrock": ("AWS_BEDROCK_RUNTIME_ENDPOINT", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
    "datarobot": ("DATAROBOT_ENDPOINT",),
    "featherless_ai": ("FEATHERLESS_API_BASE",),
    "gradient_ai": ("GRADIENT_AI_AGENT_ENDPOINT",),
    "meta_llama": ("LLAMA_API_BASE",),
    "mistral": ("MISTRAL_AZURE_API_BASE",),
    "sagemaker": ("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", "AWS_ENDPOINT_URL"),
    "vertex_ai": ("VERTEXAI_API_BASE", "VERTEX_API_BASE"),
    "watsonx": ("WATSONX_URL", "WX_URL", "WML_URL"),
    "xai": ("XAI_OAUTH_API_BASE",),
}
"""Variables that send the calls of a provider elsewhere, besides those that are named after it or its keys."""
_NAMED = frozenset({*KEYS, *_ADDRESSES, *_REDIRECTS})
_SIGNED = ("bedrock", "sagemaker")
"""Their requests are signed: no key travels, so that an address of one's own needs no placeholder."""
_HAVE_OTHER_KEYS = (*_SIGNED, "huggingface", "vertex_ai", "watsonx")
"""Their key may also come from a file or from the machine: a missing variable is worth a warning alone."""
_PACKAGES: Mapping[str | None, tuple[str, str]] = {"vertex_ai": ("google.auth", "google-auth")}
"""A module that litellm imports for a provider and does not bring, and the package that has it."""


def missing_package(model: str) -> str | None:
    """Return the package that calls to a model need and that is not installed; None if there is none."""
    module, package = _PACKAGES.get(provider_of(model), ("", ""))
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
    if slash and (first == _TRAINED or first in _NAMED or _is_ours(first) or first in known_providers()):
        return first
    return "openai" if model.startswith("ft:") else listed_provider(model)


def _is_ours(prefix: str) -> bool:
    return prefix != LITELLM and named_type(prefix) is not None


@cache
def known_providers() -> frozenset[str]:
    """Return the providers that litellm's data files and this module name; few if litellm is not installed."""
    supported = litellm_data(_SUPPORTED).get("providers", {})
    return frozenset({*_NAMED, *supported, *_like_openai(), *listed_providers()})


def nearest_provider(model: str) -> str | None:
    """Return the known provider whose name is spelled most like that of a model; None if none is near."""
    return next(iter(difflib.get_close_matches(model.partition("/")[0], sorted(known_providers()), 1)), None)


def key_variables(model: Model) -> tuple[str, ...]:
    """Return the variables that may hold the key of a model, the one to set first; empty if it needs none."""
    if model.api_key_env is not None:
        return (model.api_key_env,)
    provider = provider_of(model.model)
    if provider is None or (model.api_base is not None and not is_signed(model)):
        return ()
    like_openai = _like_openai().get(provider)
    return KEYS.get(provider) or ((like_openai,) if like_openai else ())


def is_signed(model: Model) -> bool:
    """Say whether the requests of a model are signed, so that no key travels with them."""
    return provider_of(model.model) in _SIGNED


def unset_variables_of(model: Model, environment: Mapping[str, str]) -> list[Unset]:
    """Return what a model needs from the environment and does not find there."""
    if model.engine is not None:
        return []
    provider = provider_of(model.model) or ""
    addresses = _ADDRESSES.get(provider, ()) if model.api_base is None else ()
    is_needed = provider not in _HAVE_OTHER_KEYS or model.api_key_env is not None
    return [
        Unset(names[0], names[1:], is_needed)
        for names in (key_variables(model), addresses)
        if names and not any(environment.get(name, "").strip() for name in names)
    ]


@cache
def _like_openai() -> Mapping[str, str]:
    return {name: entry["api_key_env"] for name, entry in litellm_data(_LIKE_OPENAI).items() if "api_key_env" in entry}


_SUFFIXES = ("BASE_URL", "API_BASE")  # the order in which litellm reads those of OpenAI
_KEY = re.compile(r"_?(API_?KEY|AUTH_TOKEN|API_TOKEN|AD_TOKEN|OIDC_TOKEN|TOKEN)$")
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


def address_variables(provider: str) -> tuple[str, ...]:
    """Return the variables that may hold another address of a provider, the first one read first."""
    stems = [provider.upper(), *(_KEY.sub("", name) for name in KEYS.get(provider, ()) if _KEY.search(name))]
    named = (f"{stem}_{suffix}" for suffix in _SUFFIXES for stem in stems)
    return tuple(dict.fromkeys((*named, *_REDIRECTS.get(provider, ()))))


def redirected(model: Model, environment: Mapping[str, str]) -> Model:
    """Return a model with the address that the environment gives its calls, and with the key that they would carry.

    A model with an address of its own, or without a provider elsewhere, stays as it is.
    """
    is_own = model.is_tool or (model.engine is not None and not model.is_billed) or runs_here(model)
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
