"""Messages with their images, as OpenAI-compatible servers and litellm take them: text and data URIs in parts."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.terms import Call, Image


def messages_of(call: Call) -> list[dict[str, Any]]:
    """Return the messages of a call in the form of the wire; images stand before the text of the last one.

    Raises
    ------
    Failure
        Bad request where a file of an image is gone, or is no longer the one that the dataset was loaded with.
    """
    messages: list[dict[str, Any]] = [
        {name: _sendable(text) for name, text in message.items()} for message in call.messages
    ]
    if call.images:
        last = messages[-1]
        pictures = [{"type": "image_url", "image_url": {"url": _sent(image)}} for image in call.images]
        messages[-1] = {**last, "content": [*pictures, {"type": "text", "text": last["content"]}]}
    return messages


def _sendable(text: str) -> str:
    """Return a text that UTF-8 can say: half a character, which a model may have said, becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


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
            Kind.BAD_REQUEST, f"the image {image.source} cannot be read ({error.strerror or error})"
        ) from None
    if hashlib.sha256(content).hexdigest() != image.digest:
        raise Failure(Kind.BAD_REQUEST, f"the image {image.source} has changed since the run began")
    return f"data:{image.kind};base64,{base64.b64encode(content).decode('ascii')}"
