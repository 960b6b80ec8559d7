"""Words the request of a call without sending it, and reads the reply from the response that a batch brings.

Both are the code of the ordinary ways (`direct` and `litellm`), so that a call has the same request and the same
reply, whichever way it goes. litellm is stopped where it would use the network.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, Protocol

from cortexdsl.core import Call, Model
from cortexdsl.models.batches.wording import BatchRequest
from cortexdsl.models.rounds.lines import BatchResponse
from cortexdsl.models.transports.completions import read_completion
from cortexdsl.models.transports.direct import body_of
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure, from_status
from cortexdsl.models.transports.interface import Raw
from cortexdsl.models.transports.litellm import LitellmTransport, through
from cortexdsl.models.transports.registry import way_of
from cortexdsl.models.transports.request_parts import SEED, refused_parameters, sent_parameters
from cortexdsl.models.transports.responses import refuse_error

_OF_CONNECTION = frozenset({
    "accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding",
    "user-agent",
})  # fmt: skip


class Access(NamedTuple):
    """The resolved address and key of a model; None for the provider's own."""

    address: str | None
    key: str | None


class CallWording(Protocol):
    """Words requests and reads responses of some models."""

    async def request(self, call: Call, access: Access) -> BatchRequest:
        """Return the request of a call.

        Raises
        ------
        Failure
        """
        ...

    async def read(self, call: Call, access: Access, response: BatchResponse) -> Raw:
        """Return the reply that a response to the request of a call holds.

        Raises
        ------
        Failure
        """
        ...


def wording_of(model: Model) -> CallWording:
    """Return what words the requests of a model that is asked in batches."""
    return _plain() if way_of(model) == "direct" else _translated()


class _Plain:
    """The OpenAI protocol, as `direct` speaks it."""

    async def request(self, call: Call, access: Access) -> BatchRequest:
        """Return the request of a call."""
        headers = {"authorization": f"Bearer {access.key}"} if access.key else {}
        return BatchRequest(f"{(access.address or '').rstrip('/')}/chat/completions", headers, body_of(call))

    async def read(self, call: Call, access: Access, response: BatchResponse) -> Raw:
        """Return the reply that a response holds."""
        parameters = sent_parameters(call)
        with refused_parameters(call, parameters):
            if response.status >= 400:
                raise from_status(response.status, response.body.decode("utf-8", "replace"), {}, time.time())
            refuse_error(response.body)
            return read_completion(response.body, seed_refused=SEED not in parameters)


class _Translated:
    """The protocol of a provider, as litellm speaks it."""

    def __init__(self) -> None:
        self._transport = LitellmTransport()

    async def request(self, call: Call, access: Access) -> BatchRequest:
        """Return the request of a call, taken where litellm would send it."""
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
            await self._through(take, call, access)
        except Failure:
            if not worded:
                raise
        return worded[-1]

    async def read(self, call: Call, access: Access, response: BatchResponse) -> Raw:
        """Return the reply that litellm reads from a response."""

        async def bring(request: Any) -> Any:
            import httpx  # which litellm brings

            headers = {"content-type": "application/json"}
            return httpx.Response(response.status, headers=headers, content=response.body, request=request)

        return await self._through(bring, call, access)

    async def _through(self, exchange: Callable[[Any], Awaitable[Any]], call: Call, access: Access) -> Raw:
        with through(exchange):
            return await self._transport.send(call, access.address, access.key)


_plain = cache(_Plain)
_translated = cache(_Translated)  # litellm is loaded when it is needed


def with_seed(call: Call, *, has_seed: bool) -> Call:
    """Return a call as it was sent in a wave, with or without its seed."""
    refused = {*call.model.refused} - {SEED} if has_seed else {*call.model.refused, SEED}
    return replace(call, model=replace(call.model, refused=tuple(sorted(refused))))
