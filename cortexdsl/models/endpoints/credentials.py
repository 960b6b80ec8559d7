"""Addresses and keys: resolved from the environment by the names in the spec, and removed from all text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType

from cortexdsl.core import Model
from cortexdsl.errors import ModelError
from cortexdsl.models.endpoints.providers import is_signed
from cortexdsl.models.transports.addresses import is_address, mask_url
from cortexdsl.models.transports.interface import PLACEHOLDER_KEY

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
            return "" if is_signed(model) else PLACEHOLDER_KEY
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
