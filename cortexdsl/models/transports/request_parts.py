"""The parts of a chat completion request: messages with images, and parameters, without what the model refuses."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from cortexdsl.core import Call, Image, Message
from cortexdsl.models.call_keys import TOOL_CHOICE, functions_of, plain
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import wire_seed

SEED, MOST, MOST_RENAMED = "seed", "max_tokens", "max_completion_tokens"
SYSTEM = "system"
"""The name of a refused role among refused parameters."""
_NO_SYSTEM = re.compile(
    r"system role (?:is )?not supported"  # the chat template of Gemma
    r"|does not support ['\"]?system['\"]?|unsupported role:? ['\"]?system"  # o1
    r"|only user(?:,| and) assistant(?: and tool)? roles are supported|roles must alternate"  # of Mistral, Llama 2
    r"|developer instruction is not enabled"  # Gemma at Google
    r"|system (?:message|prompt|instruction)s? (?:is|are) not (?:supported|enabled|allowed)"
)
"""What servers say if the chat template of a model has no place for a system message."""


def messages_of(call: Call) -> list[dict[str, Any]]:
    """Return the messages of a call in the form of the wire; images stand before the text of the prompt.

    Raises
    ------
    Failure
        Bad request if the file of an image is gone, or has changed since the dataset was loaded.
    """
    texts = _without_system(call.messages) if SYSTEM in call.model.refused else call.messages
    messages: list[dict[str, Any]] = [_sendable(dict(message)) for message in texts]
    if call.images:
        at = call.prompt_at - (len(call.messages) - len(texts))
        prompt = messages[at]
        pictures = [{"type": "image_url", "image_url": {"url": _sent(image)}} for image in call.images]
        messages[at] = {**prompt, "content": [*pictures, {"type": "text", "text": prompt["content"]}]}
    return messages


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Return messages in which the system message begins that of the user, and the roles alternate."""
    joined: list[Message] = []
    for message in messages:
        role = "user" if message["role"] == SYSTEM else message["role"]
        if joined and role == "user" == joined[-1]["role"]:
            joined[-1] = {"role": role, "content": f"{joined[-1]['content']}\n\n{message['content']}"}
        else:
            joined.append({**message, "role": role})
    return joined


def _sendable(value: Any) -> Any:
    """Return a value whose texts UTF-8 can say: half a character, which a model may have said, becomes U+FFFD."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, Mapping):
        return {name: _sendable(inner) for name, inner in value.items()}
    return [_sendable(inner) for inner in value] if isinstance(value, list) else value


@lru_cache(maxsize=64)  # a question's images are sent by every agent in every round
def _sent(image: Image) -> str:
    return data_uri(image)


def data_uri(image: Image) -> str:
    """Return an image as a data URI.

    Raises
    ------
    Failure
    """
    if image.source.startswith("data:"):
        return image.source
    try:
        content = Path(image.source).read_bytes()
    except OSError as error:
        raise Failure(
            FailureKind.BAD_REQUEST, f"the image {image.source} cannot be read ({error.strerror or error})"
        ) from None
    if hashlib.sha256(content).hexdigest() != image.digest:
        raise Failure(FailureKind.BAD_REQUEST, f"the image {image.source} has changed since the run began")
    return f"data:{image.kind};base64,{base64.b64encode(content).decode('ascii')}"


def sent_parameters(call: Call) -> dict[str, Any]:
    """Return the options and the seed of a call as they are sent, without what its model is known to refuse.

    A refused seed is left out. A refused `max_tokens` is sent by the newer name that OpenAI's reasoning models take. If
    a provider cannot be told that a reply may call no function, the words of the last message have to be enough.
    """
    options: dict[str, Any] = plain(call.model.options) | functions_of(call)
    if TOOL_CHOICE in call.model.refused:
        options.pop(TOOL_CHOICE, None)
    if MOST in call.model.refused and MOST in options:
        options[MOST_RENAMED] = options.pop(MOST)
    return options if SEED in call.model.refused else {**options, SEED: wire_seed(call.seed)}


NO_FUNCTIONS = "; for a model or server without function calls write function_calls: false in the entry of the model"
_FUNCTION = re.compile(r"\b(?:tools?|functions?)\b")


@contextmanager
def refused_parameters(call: Call, sent: Mapping[str, Any]) -> Iterator[None]:
    """Mark a failure that says which of the sent parameters was refused, if the call can be sent without it.

    A model that takes no system message is sent it in the message of the user.
    """
    try:
        yield
    except Failure as failure:
        words = failure.what.lower()
        if SYSTEM not in call.model.refused and len(call.messages) > 1 and _NO_SYSTEM.search(words):
            failure.refused = SYSTEM  # some servers report the error of the template with status 500
        if failure.kind is FailureKind.BAD_REQUEST:
            if MOST in sent and MOST in words and MOST_RENAMED in words:
                failure.refused = MOST
            elif SEED in sent and SEED in words:
                failure.refused = SEED
            elif TOOL_CHOICE in sent and TOOL_CHOICE in words:
                failure.refused = TOOL_CHOICE
            elif call.offer is not None and call.offer.form == "functions" and _FUNCTION.search(words):
                failure.what += NO_FUNCTIONS
        raise
