"""Asking a provider to cache the beginning that the prompts about one question share.

Most providers cache by themselves. Claude, on whatever platform, caches up to marks in the request (`cache_control`):
they stand behind the system message, and behind the question in the last message. Nothing else of a request changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortexdsl.core import Call, Model

_PLATFORMS = ("anthropic", "azure_ai", "bedrock", "openrouter", "vertex_ai")
_FAMILY = "claude"


def caches_on_request(model: Model) -> bool:
    """Say whether the provider of a model caches what a request marks, and nothing else."""
    platform, _, name = model.model.removeprefix("direct/").partition("/")
    return platform in _PLATFORMS and _FAMILY in name.lower()


def with_cache_marks(messages: Sequence[dict[str, Any]], call: Call) -> list[dict[str, Any]]:
    """Return messages of the wire with the marks that the entry of a model asks for, if its provider reads them."""
    if not call.model.cache or not caches_on_request(call.model):
        return list(messages)
    mark = {"type": "ephemeral"}
    at = call.prompt_at - (len(call.messages) - len(messages))
    before, prompt, after = messages[:at], messages[at], messages[at + 1 :]
    marked = [
        {**message, "content": [{"type": "text", "text": message["content"], "cache_control": mark}]}
        if message["role"] == "system"
        else message
        for message in before
    ]
    return [*marked, {**prompt, "content": _split(prompt["content"], call.shared, mark)}, *after]


def _split(content: Any, shared: int, mark: dict[str, str]) -> Any:
    """Return the content of a message in two parts, the first with a mark; as it is if nothing is shared."""
    *pictures, text = content if isinstance(content, list) else [{"type": "text", "text": content}]
    beginning, rest = text["text"][:shared], text["text"][shared:]
    if not beginning.strip() or not rest.strip():
        return content
    return [
        *pictures,
        {"type": "text", "text": beginning, "cache_control": mark},
        {"type": "text", "text": rest},
    ]
