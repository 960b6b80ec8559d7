"""HTTP requests of the batch protocols: small JSON bodies, an uploaded file, and results that are read line by line."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure, from_status
from cortexdsl.models.transports.interface import LARGEST_REPLY
from cortexdsl.models.transports.responses import refuse_page, refuse_redirect, whole
from cortexdsl.typed_json import parse_json

if TYPE_CHECKING:
    import httpx

TIMEOUT = 300.0
"""Seconds without a byte until a request counts as lost: an upload of 200 MB takes a while to be acknowledged."""
CONNECT = 15.0
LONGEST_LINE = 2 * LARGEST_REPLY
"""The most bytes of a line of results; a longer one is cut, and its reply is too large."""
_LARGEST_STATUS = 8 * 2**20


class BatchHttp:
    """Sends the requests of the batch protocols once each.

    Parameters
    ----------
    transport : httpx.AsyncBaseTransport or None
        In place of the network.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    async def json(self, method: str, url: str, headers: Mapping[str, str], **content: Any) -> Mapping[str, Any]:
        """Send a request and return the object that its body holds.

        Parameters
        ----------
        method, url : str
        headers : mapping
        **content
            As httpx takes it: `json`, `content`, `files`, `data`, `params`.

        Raises
        ------
        Failure
            Foreign if the body is not a JSON object.
        """
        async with self._exchange(method, url, headers, **content) as response:
            body = await whole(response.aiter_bytes(), {}, _LARGEST_STATUS)
        refuse_page(body)
        document = parse_json(body.decode("utf-8", "replace"))
        if not isinstance(document, dict):
            raise Failure(FailureKind.FOREIGN, f"{method} {url}: the body is not a JSON object")
        return document

    async def lines(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Yield the lines of a body, without their ends; one that is too long is cut.

        Raises
        ------
        Failure
        """
        async with self._exchange("GET", url, headers) as response:
            rest = bytearray()
            async for part in response.aiter_bytes():
                *whole, last = part.split(b"\n")
                for line in whole:
                    rest += line[: max(0, LONGEST_LINE - len(rest))]
                    yield bytes(rest)
                    rest.clear()
                rest += last[: max(0, LONGEST_LINE - len(rest))]
            if rest:
                yield bytes(rest)

    @asynccontextmanager
    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], **content: Any
    ) -> AsyncIterator[httpx.Response]:
        import httpx  # which litellm brings; a tenth of a second, which jobs without a batch should not pay

        if self._client is None:
            timeout = httpx.Timeout(TIMEOUT, connect=CONNECT)
            self._client = httpx.AsyncClient(transport=self._transport, timeout=timeout, follow_redirects=False)
        sent = {"accept-encoding": "identity", **headers}
        try:
            async with self._client.stream(method, url, headers=sent, **content) as response:
                refuse_redirect(response.status_code, response.headers)
                if response.status_code >= 400:
                    text = (await response.aread())[:_LARGEST_STATUS].decode("utf-8", "replace")
                    raise from_status(response.status_code, text, response.headers, time.time())
                yield response
        except httpx.TimeoutException:
            raise Failure(FailureKind.TRANSIENT, "no response in time") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise Failure(FailureKind.TRANSIENT, f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
