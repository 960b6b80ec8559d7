"""Reaching a model's address: where it is, with which key, through which gate, how insistently."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from cortexdsl.errors import ModelError
from cortexdsl.models.limits.gates import AdaptiveLimit, Endpoint
from cortexdsl.models.reach.failures import REMEDIES, Failure, Kind
from cortexdsl.models.reach.retry import GaveUp, Insistence, Obtained
from cortexdsl.models.reach.secrets import Secrets, shown
from cortexdsl.models.transports.transport import Raw
from cortexdsl.terms import Model

T = TypeVar("T")


class Reach:
    """The ways to all addresses: one gate for each address and key.

    Parameters
    ----------
    secrets : Secrets
    insistence : Insistence
    connections : int
        The most calls in flight through one gate.
    """

    def __init__(
        self,
        secrets: Secrets,
        insistence: Insistence,
        connections: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.secrets = secrets
        self._insistence = insistence
        self._connections = connections
        self._clock = clock
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {}

    async def obtain(self, model: Model, send: Callable[[str | None, str | None], Awaitable[T]]) -> Obtained[T]:
        """Send to a model.

        Parameters
        ----------
        model : Model
        send : callable of (address, key)
            Tries once, and raises Failure.

        Raises
        ------
        GaveUp
            With the failure that counts.
        ModelError
            If the address or key that the spec names is not in the environment.
        """
        address, key = self.secrets.address(model), self.secrets.key(model)
        where = (address or model.model.partition("/")[0], model.api_key_env)
        endpoint = self._endpoints.get(where)
        if endpoint is None:
            endpoint = self._endpoints[where] = Endpoint(AdaptiveLimit(self._connections), self._clock)
        return await self._insistence.obtain(endpoint, lambda: send(address, key))

    def error(self, model: Model, given_up: GaveUp) -> ModelError:
        """Return the error that tells a user what failed, which model, at which address, and the remedy."""
        failure = given_up.failure
        tried = f" (tried {given_up.attempts} times)" if given_up.attempts > 1 else ""
        return ModelError(
            f"{failure.kind.value}: model {model.name} ({model.model}) at {shown(self.secrets.address(model))}{tried}: "
            f"{self.secrets.clean(failure.what)}\n    {REMEDIES[failure.kind]}"
        )


def checked(raw: Raw, secrets: Secrets) -> Raw:
    """Return a reply without keys, or raise what is wrong with it.

    Raises
    ------
    Failure
        If the provider withheld it, or it is empty: such a reply is never kept as if it were one.
    """
    if raw.finish_reason == "content_filter":
        raise Failure(Kind.CONTENT_FILTER, "the provider withheld the reply")
    if not raw.text.strip():
        if raw.finish_reason == "length":
            raise Failure(Kind.MALFORMED, "empty reply, cut at its length limit: raise `max_tokens`", is_certain=True)
        raise Failure(Kind.MALFORMED, "empty reply")
    text = secrets.hide(raw.text)
    return raw if text is raw.text else replace(raw, text=text)
