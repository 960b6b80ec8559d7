"""What a server sends back, read without trust: up to a bound, also when it is compressed, and from nowhere else."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping

from cortexdsl.models.reach.failures import TOO_LARGE, Failure, Kind, error_in
from cortexdsl.models.reach.secrets import shown
from cortexdsl.models.transports.transport import LARGEST_REPLY

_HEAD = 4096  # bytes of a body that may be blank before its first word
_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def refuse_redirect(status: int, headers: Mapping[str, str]) -> None:
    """Refuse to follow a redirect: the prompt, and maybe a key, would go to an address that no spec names.

    Raises
    ------
    Failure
        Not found, where the status is 300 to 399.
    """
    if 300 <= status < 400:
        where = shown(headers.get("Location", "nowhere"))
        raise Failure(Kind.NOT_FOUND, f"HTTP {status}: it redirects to {where}, and redirects are not followed")


def refuse_page(body: bytes) -> None:
    """Refuse a page of the web: a proxy or a wrong address answers so, also with status 200, and no model.

    Raises
    ------
    Failure
        Foreign.
    """
    if body[:_HEAD].decode("utf-8", "replace").lstrip("\ufeff \t\r\n").startswith("<"):
        raise Failure(Kind.FOREIGN, "a web page came in place of a chat completion")


def refuse_error(body: bytes) -> None:
    """Refuse a body that reports an error although its status is 200.

    Raises
    ------
    Failure
        Of the kind that the error's code or words say, with the server's own words.
    """
    failure = error_in(body)
    if failure is not None:
        raise failure


async def whole(parts: AsyncIterator[bytes], headers: Mapping[str, str]) -> bytes:
    """Return a body, read up to the largest reply that there is and unpacked up to it.

    Parameters
    ----------
    parts : asynchronous iterator of bytes
        As they came, still packed.
    headers : mapping
        Looked at for `Content-Encoding`.

    Raises
    ------
    Failure
        Malformed where it is longer, or packed in a way that was not asked for and is not known. Whoever holds the
        connection closes it: what is left of the body is not read.
    """
    body = bytearray()
    async for part in parts:
        body += part
        if len(body) > LARGEST_REPLY:
            raise Failure(Kind.MALFORMED, TOO_LARGE, is_certain=True)
    encoding = headers.get("Content-Encoding", "identity").strip().lower()
    return bytes(body) if encoding in ("", "identity") else _unpacked(bytes(body), encoding)


def _unpacked(body: bytes, encoding: str) -> bytes:
    bits = _BITS.get(encoding)
    if bits is None:
        raise Failure(Kind.MALFORMED, f"the body is compressed by {encoding[:20]!r}, which was not asked for")
    try:
        text = zlib.decompressobj(bits).decompress(body, LARGEST_REPLY + 1)
    except zlib.error:
        raise Failure(Kind.MALFORMED, f"the body says that it is {encoding}, and is not") from None
    if len(text) > LARGEST_REPLY:
        raise Failure(Kind.MALFORMED, TOO_LARGE, is_certain=True)
    return text
