"""The transport `direct`: aiohttp straight to a server that speaks the OpenAI protocol, or Anthropic's.

In the OpenAI protocol it sends and reads the same as litellm, to the byte of the request, at many times its speed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cortexdsl.core import Call
from cortexdsl.models.transports.anthropic_messages import (
    PREFIX,
    completion_of,
    message_body,
    message_headers,
    message_url,
    refused_options,
)
from cortexdsl.models.transports.caching import with_cache_marks
from cortexdsl.models.transports.completions import completion
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TransportType, is_streamed, timeout_of
from cortexdsl.models.transports.request_parts import SEED, messages_of, refused_parameters, sent_parameters
from cortexdsl.models.transports.responses import read_body, read_reply
from cortexdsl.models.transports.streams import STREAMED

if TYPE_CHECKING:
    import aiohttp

CONNECT = 15.0
_BODY = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)  # as OpenAI's own client writes it


class DirectTransport:
    """Posts to `<api_base>/chat/completions`, or to `/v1/messages` for models `direct/anthropic/NAME`."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once."""
        assert api_base is not None  # the client checks what TRANSPORT declares
        body, url = body_of(call), f"{api_base.rstrip('/')}/chat/completions"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        is_message = call.model.model.startswith(PREFIX)
        if is_message:
            body, url, headers = message_body(body), message_url(api_base), message_headers(api_key)
        with refused_parameters(call, body):
            content = await self._exchange(url, headers, _BODY.encode(body).encode(), timeout_of(call.model))
            if is_message:
                return completion(completion_of(content), seed_refused=True, offer=call.offer)
            return read_reply(content, seed_refused=SEED not in body, offer=call.offer)

    async def _exchange(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> bytes:
        import aiohttp  # a third of a second, which jobs without such a model should not pay

        if self._session is None:
            # The client limits calls in flight; a second limit here would only hide it.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                auto_decompress=False,
                headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            )
        try:
            async with self._session.post(
                url,
                data=aiohttp.BytesPayload(body, content_type="application/json"),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT),
                allow_redirects=False,
            ) as response:
                return await read_body(response.status, response.headers, response.content.iter_any())
        except TimeoutError:
            raise Failure(FailureKind.TRANSIENT, "no reply in time", may_have_cost=True) from None
        except (aiohttp.ClientError, ValueError) as error:  # ValueError: a malformed address
            raise Failure(FailureKind.TRANSIENT, f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


TRANSPORT = TransportType(
    prefix="direct",
    create=DirectTransport,
    needs_address=True,
    has_functions=True,
    also_serves=("openai", "hosted_vllm"),
    refused_options=refused_options,
)


def body_of(call: Call) -> dict[str, Any]:
    """Return the body of a chat completion request, in the order of OpenAI's own client.

    The entries of `extra_body` are merged into the body, as that client does.
    """
    options = sent_parameters(call)
    extra = options.pop("extra_body", {})
    name = call.model.model
    if TRANSPORT.serves(name):
        name = name.removeprefix(PREFIX) if name.startswith(PREFIX) else name.partition("/")[2]
    streamed = STREAMED if is_streamed(call.model) else {}
    return {
        "messages": with_cache_marks(messages_of(call), call),
        "model": name,
        **{o: options[o] for o in sorted(options)},
        **extra,
        **streamed,
    }
