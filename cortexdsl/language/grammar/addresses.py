"""Addresses, paths and names of environment variables; what looks like a key is refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator

from cortexdsl.language.grammar.entries import Text, Variable, invalid

_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|gsk_\w{16,}|hf_\w{16,}|AIza[\w-]{20,}|AKIA\w{12,}|xai-\w{16,})"
    r"|Bearer\s+\S{8,}"
    r"|://[^/\s:@]+:[^/\s@]+@"  # name and password in an address
)


def holds_secret(text: str) -> bool:
    """Return whether a text contains what looks like a key, which belongs in the environment."""
    return _SECRET.search(text) is not None


def _variable(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_]\w*", value):
        raise invalid(
            "this is not the name of an environment variable",
            "write the name of the variable that holds the key, never the key: api_key_env: OPENAI_API_KEY",
        )
    return value


KeyName: TypeAlias = Annotated[Variable, BeforeValidator(_variable, json_schema_input_type=Variable)]


_KEYS = re.compile(r"(?i)(^|_)(key|keys|token|secret|password|passwd|credentials?)$")


def _variable_of(value: str) -> str:
    """Check the name in `env:NAME`: messages show addresses and paths, so that it must not hold a key."""
    name = value.removeprefix("env:")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise invalid("env: is followed by no name of a variable", "write env:NAME")
    if _KEYS.search(name):
        raise invalid("this variable is named as one that holds a key", "name one that holds the address or the path")
    return value


def address(value: str) -> str:
    """Return an address of a server, or `env:NAME`; anything else is an error."""
    if value.startswith("env:"):
        _variable_of(value)
    elif not re.fullmatch(r"https?://[!-~]+", value) or not _has_host(value):
        raise invalid("this is not an address", "write http://HOST:PORT/v1, or env:NAME")
    elif "@" in value.split("/")[2]:
        raise invalid("the address holds a password", "write env:NAME, and put the address into that variable")
    return value


def _has_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # http://[bad/v1, or an invalid port
        return False


def _place(value: str) -> str:
    return _variable_of(value) if value.startswith("env:") else value


Place: TypeAlias = Annotated[Text, AfterValidator(_place)]
Address: TypeAlias = Annotated[Text, AfterValidator(address)]
