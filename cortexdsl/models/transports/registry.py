"""Finds the transport of a model by the prefix of its name, and answers questions about its capabilities.

The core's own transports are the modules of this package that `CORE` names. Any other prefix belongs to an installed
package: `cortexdsl_PREFIX.transport`, imported when a model with this prefix is first looked up. All other models
belong to litellm.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from cortexdsl.core import Model
from cortexdsl.errors import InputError
from cortexdsl.models.transports.interface import TransportType, Weights

T = TypeVar("T")
LITELLM = "litellm"
CORE = ("builtin", "tool", "direct", LITELLM)
DECLARATION = "TRANSPORT"
_PREFIX = re.compile(r"[a-z][a-z0-9_]*")


def transport_type(model: str) -> TransportType:
    """Return the declaration of the transport that a model's name belongs to.

    Raises
    ------
    InputError
        If the package of the prefix has no valid declaration.
    """
    prefix, slash, _ = model.partition("/")
    return (named_type(prefix) if slash else None) or _core_type(LITELLM)


@cache
def named_type(prefix: str) -> TransportType | None:
    """Return the transport with this prefix; None if there is none, so that litellm may know it.

    Raises
    ------
    InputError
        If the package of the prefix has no valid declaration.
    """
    if prefix in CORE:
        return _core_type(prefix)
    name = f"cortexdsl_{prefix}.transport"
    return _declared(name, prefix) if _PREFIX.fullmatch(prefix) and _is_installed(name) else None


@cache
def _core_type(prefix: str) -> TransportType:
    return _declared(f"{__package__}.{prefix}", prefix)


def _is_installed(name: str) -> bool:
    package = name.partition(".")[0]
    return importlib.util.find_spec(package) is not None and importlib.util.find_spec(name) is not None


def _declared(name: str, prefix: str) -> TransportType:
    found = getattr(importlib.import_module(name), DECLARATION, None)
    if not isinstance(found, TransportType) or found.prefix != prefix:
        raise InputError(
            f"{name}: there is no transport for models {prefix}/...\n"
            f'    the module must set {DECLARATION} = TransportType(prefix="{prefix}", ...)'
        )
    return found


def way_of(model: Model) -> str:
    """Return the prefix of the transport of a model entry: that of its model's name.

    For a model that an engine answers, this is the transport that words its requests and reads its replies.
    """
    return "direct" if model.engine is not None else model.model.partition("/")[0]


def runs_here(model: Model) -> bool:
    """Say whether this machine computes the replies of a model, so that they cost nothing."""
    return transport_type(model.model).is_in_process


def has_functions(model: Model) -> bool:
    """Say whether a model asks for tools by function calls: as its entry says, else if its transport has them.

    A model with an engine asks in its text: engines need options of their own for function calls.
    """
    if model.engine is not None:
        return False
    declared = transport_type(model.model if runs_here(model) else f"{way_of(model)}/")
    return declared.has_functions if model.function_calls is None else model.function_calls


def weights_of(model: str) -> Weights | None:
    """Return the files of a model; None if its transport keeps none.

    Raises
    ------
    InputError
        If there are no such files.
    """
    weights = transport_type(model).weights
    return None if weights is None else weights(model)


def refused_options_of(model: Model) -> Mapping[str, str]:
    """Return the options of a model entry that its transport would refuse, each with the reason; nothing is sent."""
    refused = transport_type(f"{way_of(model)}/").refused_options
    return {} if refused is None or not model.options else refused(model)
