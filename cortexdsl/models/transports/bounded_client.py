"""The client that litellm is given for all its requests: it bounds bodies, and follows no redirect.

litellm takes its clients from two places that are meant to be set: `aclient_session`, which the package of OpenAI is
given, and its cache of clients, which all other providers ask. Both get the one client of this module.
"""

from __future__ import annotations

import importlib
import ssl
from contextvars import ContextVar
from functools import cache
from typing import Any

import httpx

from cortexdsl.models.transports.responses import read_body

BODIES: ContextVar[list[bytes]] = ContextVar("BODIES")
"""The bodies without an error that came within the attempt under way."""
_OF_BODY = {"content-encoding", "content-length", "transfer-encoding"}
"""Headers that say how a body came, and no longer hold once it is read."""
_CLIENTS = "async_httpx_client"
"""How the keys of litellm's cache begin for its own clients; others are those of packages of providers."""


class BoundedTransport(httpx.AsyncBaseTransport):
    """Reads no body beyond what a reply can be, and refuses redirects, web pages and errors inside status 200.

    A failure that is raised here comes back as the cause of one of litellm's exceptions: `from_exception` finds it.

    Parameters
    ----------
    network : httpx.AsyncBaseTransport
    """

    def __init__(self, network: httpx.AsyncBaseTransport) -> None:
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the response with its whole body."""
        request.headers["Accept-Encoding"] = "identity"
        response = await self._network.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        try:
            body = await read_body(response.status_code, response.headers, response.stream.__aiter__())
            BODIES.get([]).append(body)  # the default is for calls that are not ours
        finally:
            await response.stream.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _OF_BODY]
        return httpx.Response(response.status_code, headers=headers, stream=httpx.ByteStream(body), request=request)

    async def aclose(self) -> None:
        """Close the connections; later requests open others."""
        await self._network.aclose()


@cache
def give_client(litellm: Any) -> BoundedTransport:
    """Have litellm send all its asynchronous requests through one bounded transport, and return that."""
    handlers: Any = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    trust = handlers.get_ssl_configuration()
    network = handlers.AsyncHTTPHandler.create_aiohttp_transport(
        ssl_context=trust if isinstance(trust, ssl.SSLContext) else None,
        ssl_verify=trust if isinstance(trust, bool) else None,
    )
    transport = BoundedTransport(network)
    handler = handlers.AsyncHTTPHandler(transport=transport, follow_redirects=False)
    clients: Any = type(litellm.in_memory_llm_clients_cache)

    def get_cache(self: Any, key: str, **named: Any) -> Any:
        return handler if key.startswith(_CLIENTS) else clients.get_cache(self, key, **named)

    litellm.in_memory_llm_clients_cache = type("BoundedClients", (clients,), {"get_cache": get_cache})()
    litellm.aclient_session = handler.client
    return transport
