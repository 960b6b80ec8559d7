"""The key of a call: a digest of everything that can change the reply, and of nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from cortexdsl.core import Call

KEY_LENGTH = 32
TOOL_CHOICE = "tool_choice"
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as plain JSON types, so that equal values are written alike.

    Mappings become dicts, sequences lists, and a whole float an integer: `temperature: 1` and
    `temperature: 1.0` are one temperature. Booleans stay booleans.
    """
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def functions_of(call: Call) -> dict[str, Any]:
    """Return the parameters by which a call offers function calls, as in the OpenAI protocol; empty if it does not."""
    if call.offer is None or call.offer.form != "functions":
        return {}
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.about,
                "parameters": {
                    "type": "object",
                    "properties": {tool.argument: {"type": "string", "description": tool.argument_about}},
                    "required": [tool.argument],
                },
            },
        }
        for tool in call.offer.tools
    ]
    return {"tools": tools, **({TOOL_CHOICE: "none"} if call.offer.is_over else {})}


def call_key(call: Call) -> str:
    """Return the key of a call: 32 hexadecimal digits of SHA-256 over canonical JSON.

    The key covers the model's name, its options, its address *as the spec writes it* (`env:NAME`, never the value, so
    that a server on another port is the same server), the messages and the seed, the digests of any images, independent
    of their paths, and the functions that the reply may call. It does not cover what cannot change a reply: price, the
    name of the key variable, parameter counts, connections.

    Raises
    ------
    ValueError
        If an option is NaN or infinite, which JSON cannot say.
    """
    content = {
        "model": call.model.model,
        "options": plain(call.model.options),
        "api_base": call.model.api_base,
        "messages": [dict(message) for message in call.messages],
        "seed": call.seed,
    }
    if call.images:
        content["images"] = [image.digest for image in call.images]
    content |= functions_of(call)
    return hashlib.sha256(_CANONICAL.encode(content).encode("ascii")).hexdigest()[:KEY_LENGTH]
