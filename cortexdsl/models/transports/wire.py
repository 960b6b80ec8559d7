"""Shared code of the HTTP transports: addresses, messages with images, parameters, bodies of bounded size.

A server is not trusted: its body is read up to a limit, also when it is compressed, and a redirect is refused.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from cortexdsl.core import Call, Image, Message
from cortexdsl.models.call_keys import plain
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import TOO_LARGE, Failure, error_in
from cortexdsl.models.transports.interface import LARGEST_REPLY, wire_seed


def messages_of(call: Call) -> list[dict[str, Any]]:
    """Return the messages of a call in the form of the wire; images stand before the text of the last one.

    Raises
    ------
    Failure
        Bad request if the file of an image is gone, or has changed since the dataset was loaded.
    """
    said = _without_system(call.messages) if SYSTEM in call.model.refused else call.messages
    messages: list[dict[str, Any]] = [{name: _sendable(text) for name, text in message.items()} for message in said]
    if call.images:
        last = messages[-1]
        pictures = [{"type": "image_url", "image_url": {"url": _sent(image)}} for image in call.images]
        messages[-1] = {**last, "content": [*pictures, {"type": "text", "text": last["content"]}]}
    return messages


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Return messages in which the system message begins that of the user, and the roles alternate."""
    joined: list[Message] = []
    for message in messages:
        role = "user" if message["role"] == SYSTEM else message["role"]
        if joined and joined[-1]["role"] == role:
            joined[-1] = {"role": role, "content": f"{joined[-1]['content']}\n\n{message['content']}"}
        else:
            joined.append({"role": role, "content": message["content"]})
    return joined


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
            FailureKind.BAD_REQUEST, f"the image {image.source} cannot be read ({error.strerror or error})"
        ) from None
    if hashlib.sha256(content).hexdigest() != image.digest:
        raise Failure(FailureKind.BAD_REQUEST, f"the image {image.source} has changed since the run began")
    return f"data:{image.kind};base64,{base64.b64encode(content).decode('ascii')}"


_HEAD = 4096  # bytes of a body that may be blank before its first word
_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def refuse_redirect(status: int, headers: Mapping[str, str]) -> None:
    """Refuse to follow a redirect: the prompt, and maybe a key, would go to an address that no spec names.

    Raises
    ------
    Failure
        Not found, if the status is 300 to 399.
    """
    if 300 <= status < 400:
        where = mask_url(headers.get("Location", "nowhere"))
        raise Failure(FailureKind.NOT_FOUND, f"HTTP {status}: it redirects to {where}, and redirects are not followed")


def refuse_page(body: bytes) -> None:
    """Refuse a web page: a proxy or a wrong address answers so, also with status 200.

    Raises
    ------
    Failure
        Foreign.
    """
    if body[:_HEAD].decode("utf-8", "replace").lstrip("\ufeff \t\r\n").startswith("<"):
        raise Failure(FailureKind.FOREIGN, "a web page came instead of a chat completion")


def refuse_error(body: bytes) -> None:
    """Refuse a body that reports an error although its status is 200.

    Raises
    ------
    Failure
        Of the kind that the error's code or text implies, with the server's own text.
    """
    failure = error_in(body)
    if failure is not None:
        raise failure


async def whole(parts: AsyncIterator[bytes], headers: Mapping[str, str], largest: int = LARGEST_REPLY) -> bytes:
    """Return a body, read up to the largest reply that there is and unpacked up to it.

    Parameters
    ----------
    parts : asynchronous iterator of bytes
        As they came, still packed.
    headers : mapping
        Looked at for `Content-Encoding`.
    largest : int
        The most bytes of the body.

    Raises
    ------
    Failure
        Malformed if it is longer, or has an unknown encoding. The caller closes the connection: the rest of the body is
        not read.
    """
    body = bytearray()
    async for part in parts:
        body += part
        if len(body) > largest:
            raise Failure(FailureKind.MALFORMED, TOO_LARGE, is_certain=True)
    encoding = headers.get("Content-Encoding", "identity").strip().lower()
    return bytes(body) if encoding in ("", "identity") else _unpacked(bytes(body), encoding)


def _unpacked(body: bytes, encoding: str) -> bytes:
    bits = _BITS.get(encoding)
    if bits is None:
        raise Failure(FailureKind.MALFORMED, f"the body is compressed by {encoding[:20]!r}, which was not asked for")
    try:
        text = zlib.decompressobj(bits).decompress(body, LARGEST_REPLY + 1)
    except zlib.error:
        raise Failure(FailureKind.MALFORMED, f"the body says that it is {encoding}, and is not") from None
    if len(text) > LARGEST_REPLY:
        raise Failure(FailureKind.MALFORMED, TOO_LARGE, is_certain=True)
    return text


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


def sent_parameters(call: Call) -> dict[str, Any]:
    """Return the options and the seed of a call as they are sent, without what its model is known to refuse.

    A refused seed is left out. A refused `max_tokens` is sent by the newer name that OpenAI's reasoning models take.
    """
    options: dict[str, Any] = plain(call.model.options)
    if MOST in call.model.refused and MOST in options:
        options[MOST_RENAMED] = options.pop(MOST)
    return options if SEED in call.model.refused else {**options, SEED: wire_seed(call.seed)}


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
        raise


@lru_cache(maxsize=256)
def is_address(text: str) -> bool:
    """Say whether a text is the address of a server: http or https, a host, and a port that there is, if any."""
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
    except ValueError:  # an unfinished [ of an IPv6 address, a port that is not a number or too large
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and has_port


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address, which other machines cannot reach."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=256)  # asked for each call, of a few addresses
def place_of(address: str) -> str:
    """Return the normal form of an address: `HTTP://Host/v1/` is `http://host/v1`."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path.rstrip("/"), parts.query, ""))


@lru_cache(maxsize=256)
def mask_url(address: str | None) -> str:
    """Return an address as it may be printed: without name, password, query and fragment."""
    if address is None:
        return "the provider's own address"
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
