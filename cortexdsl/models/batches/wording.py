"""Words the requests of a file as a provider takes them, and its responses as chat completions.

Both are the work of litellm, as for a call that is sent alone, so that records are the same either way. litellm is
stopped where it would use the network. A server at an address of its own gets the requests as they stand in the file.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from cortexdsl.core import Call, Model
from cortexdsl.models.rounds.lines import BatchResponse, compact
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.litellm import LitellmTransport, through
from cortexdsl.models.transports.request_parts import SEED

_OF_CONNECTION = frozenset({
    "accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding",
    "user-agent",
})  # fmt: skip
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A request, as it would be sent alone.

    Attributes
    ----------
    url : str
    headers : mapping
        Without those of a connection: keys, versions.
    body : mapping
    """

    url: str
    headers: Mapping[str, str]
    body: Body


class RequestWording(Protocol):
    """Words the requests of a file."""

    async def request(self, body: Body) -> BatchRequest:
        """Return a request as the provider takes it.

        Raises
        ------
        Failure
        """
        ...

    async def completion(self, body: Body, response: BatchResponse) -> BatchResponse:
        """Return the response to a request, as a chat completion of the OpenAI protocol.

        Raises
        ------
        Failure
        """
        ...


class AsWritten:
    """The OpenAI protocol at an address."""

    def __init__(self, address: str, key: str | None) -> None:
        self._url = f"{address.rstrip('/')}/chat/completions"
        self._headers = {"authorization": f"Bearer {key}"} if key else {}

    async def request(self, body: Body) -> BatchRequest:
        """Return a request."""
        return BatchRequest(self._url, self._headers, body)

    async def completion(self, body: Body, response: BatchResponse) -> BatchResponse:
        """Return a response, which is a chat completion."""
        return response


class ByLitellm:
    """The protocol of a provider.

    Parameters
    ----------
    provider : str
        As litellm names it: `openai`, `anthropic`.
    address, key : str or None
        None for what litellm finds in the environment, or knows.
    """

    def __init__(self, provider: str, address: str | None = None, key: str | None = None) -> None:
        self._provider, self._address, self._key = provider, address, key
        self._transport = LitellmTransport()

    async def request(self, body: Body) -> BatchRequest:
        """Return a request, taken where litellm would send it."""
        worded: list[BatchRequest] = []

        async def take(request: Any) -> Any:
            headers = {
                name.lower(): value
                for name, value in request.headers.items()
                if name.lower() not in _OF_CONNECTION and not name.lower().startswith("x-stainless-")
            }
            worded.append(BatchRequest(str(request.url), headers, json.loads(await request.aread())))
            raise Failure(FailureKind.TRANSIENT, "the request is sent in a batch")

        try:
            await self._through(take, body)
        except Failure:
            if not worded:
                raise
        return worded[-1]

    async def completion(self, body: Body, response: BatchResponse) -> BatchResponse:
        """Return what litellm makes of a response; OpenAI's own, and an error, as they are."""

        async def bring(request: Any) -> Any:
            import httpx  # which litellm brings

            headers = {"content-type": "application/json"}
            return httpx.Response(response.status, headers=headers, content=response.body, request=request)

        if self._provider == "openai" or response.status >= 400:
            return response
        return BatchResponse(response.status, compact(await self._through(bring, body)))

    async def _through(self, exchange: Callable[[Any], Awaitable[Any]], body: Body) -> Body:
        options = dict(body)
        messages, name, seed = options.pop("messages"), options.pop("model"), options.pop(SEED, None)
        prefix = f"{self._provider}/"
        model = Model(name, name if name.startswith(prefix) else prefix + name, options=MappingProxyType(options),
                      refused=() if isinstance(seed, int) else (SEED,))  # fmt: skip
        with through(exchange):
            return await self._transport.completion(Call(model, tuple(messages), seed or 0), self._address, self._key)
