"""What a response means, whichever client received it: its body within bounds, or the failure that it reports.

A server is not trusted: its body is read up to a limit, also when it is compressed, and a redirect is refused.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import AsyncIterator, Mapping

from cortexdsl.core import Offer
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.completions import read_completion
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import TOO_LARGE, Failure, error_in, from_status
from cortexdsl.models.transports.interface import LARGEST_REPLY, Raw
from cortexdsl.models.transports.rate_headers import note_headers
from cortexdsl.models.transports.streams import is_stream, largest_body, merged_completion, refuse_broken

_HEAD = 4096  # bytes of a body that may be blank before its first word
_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


async def read_body(status: int, headers: Mapping[str, str], parts: AsyncIterator[bytes]) -> bytes:
    """Return the body of a response of any protocol, read up to the largest one that there is.

    Raises
    ------
    Failure
        If the status or the body reports an error, redirects, or is too large, a web page, or a broken stream.
    """
    note_headers(headers)
    refuse_redirect(status, headers)
    body = await whole(parts, headers, largest_body(headers))
    if status >= 400:
        raise from_status(status, body.decode("utf-8", "replace"), headers, time.time())
    refuse_page(body)
    (refuse_broken if is_stream(body) else refuse_error)(body)
    return body


def read_reply(body: bytes, *, seed_refused: bool, offer: Offer | None = None) -> Raw:
    """Return the reply that a body of the OpenAI protocol holds, streamed or whole.

    Raises
    ------
    Failure
        As `read_completion`.
    """
    completion = merged_completion(body) if is_stream(body) else body
    return read_completion(completion, seed_refused=seed_refused, offer=offer)


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
