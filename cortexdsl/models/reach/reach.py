"""Reaching a model's address: where it is, with which key, through which gate, how insistently."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.keys import plain
from cortexdsl.models.limits.gates import AdaptiveLimit, Endpoint
from cortexdsl.models.reach.failures import REMEDIES, TOO_LARGE, Failure, Kind
from cortexdsl.models.reach.first import FirstCall
from cortexdsl.models.reach.outages import Outages
from cortexdsl.models.reach.providers import key_variables
from cortexdsl.models.reach.retry import GaveUp, Insistence, Obtained
from cortexdsl.models.reach.secrets import Secrets, place_of, shown
from cortexdsl.models.transports.transport import LARGEST_REPLY, Raw
from cortexdsl.terms import EMPTY_REPLY, THOUGHT_ALONE, Limits, Model

T = TypeVar("T")


class Reach:
    """The ways to all addresses: one gate for each address and key.

    Parameters
    ----------
    secrets : Secrets
    insistence : Insistence
    clock : callable
        Seconds.
    """

    def __init__(self, secrets: Secrets, insistence: Insistence, clock: Callable[[], float] = time.monotonic) -> None:
        self.secrets = secrets
        self._insistence = insistence
        self._clock = clock
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {}
        self._first_calls: dict[tuple[str, str | None, str, str], FirstCall] = {}

    async def obtain(
        self,
        model: Model,
        send: Callable[[str | None, str | None], Awaitable[T]],
        outages: Outages,
        limits: Limits,
        failed: Callable[[Kind], None] = lambda kind: None,
    ) -> Obtained[T]:
        """Send to a model.

        Parameters
        ----------
        model : Model
        send : callable of (address, key)
            Tries once, and raises Failure.
        outages : Outages
            Of the experiment.
        limits : Limits
            Of the experiment: the most calls in flight through one gate (that of the experiment which first asks
            there), and how long a dead server is waited for.
        failed : callable
            Told of each attempt that failed and is to be made again.

        Raises
        ------
        GaveUp
            With the failure that counts.
        ModelError
            If the address or key that the spec names is not in the environment.
        """
        address, key = self.secrets.address(model), self.secrets.key(model)
        where = (place_of(address) if address else model.model.partition("/")[0], model.api_key_env)
        endpoint = self._endpoints.get(where)
        if endpoint is None:
            name = shown(where[0]) if address else where[0]
            endpoint = self._endpoints[where] = Endpoint(AdaptiveLimit(limits.connections), self._clock, name)
        entry = (*where, model.model, json.dumps(plain(model.options), sort_keys=True))
        first = self._first_calls.get(entry)
        if first is None:
            first = self._first_calls[entry] = FirstCall(self._insistence.patience.head_start)
        return await self._insistence.obtain(
            endpoint, lambda: first.send(lambda: send(address, key)), outages, limits.wait, failed
        )

    def error(self, model: Model, given_up: GaveUp) -> ModelError:
        """Return the error that tells a user what failed, which model, at which address, and the remedy."""
        failure = given_up.failure
        tried = f" (tried {given_up.attempts} times)" if given_up.attempts > 1 else ""
        return ModelError(
            f"{failure.kind.value}: model {model.name} ({model.model}) at {shown(self.secrets.address(model))}{tried}: "
            f"{self.secrets.clean(failure.what)}\n    {_remedy(model, failure.kind)}"
        )


def _remedy(model: Model, kind: Kind) -> str:
    """Return what to do about a kind of failure; about a key, which variable holds it."""
    if kind is not Kind.AUTHENTICATION:
        return REMEDIES[kind]
    names = key_variables(model)
    if names:
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        return f"export {names[0]}=...{others} with a key that is valid there; another variable: `api_key_env: NAME`"
    if model.api_base is not None:
        return "write `api_key_env: NAME`, the variable that holds the key: an address of your own is sent no other"
    return REMEDIES[kind]


def checked(raw: Raw, secrets: Secrets) -> Raw:
    """Return a reply without keys, or raise what is wrong with it.

    Raises
    ------
    Failure
        If the provider withheld it, or it is empty: such a reply is never kept as if it were one.
    """
    usage = raw.usage
    if raw.finish_reason == "content_filter":
        raise Failure(Kind.CONTENT_FILTER, "the provider withheld the reply", usage=usage)
    if not raw.text.strip():
        is_cut = raw.finish_reason == "length"
        thought = secrets.hide(raw.reasoning)
        what = (THOUGHT_ALONE if thought else EMPTY_REPLY) + (
            ", cut at its length limit: raise `max_tokens`" if is_cut else ""
        )
        raise Failure(Kind.MALFORMED, what, is_certain=is_cut, usage=usage, reasoning=thought)
    if len(raw.text) + len(raw.reasoning) > LARGEST_REPLY:
        raise Failure(Kind.MALFORMED, TOO_LARGE, is_certain=True, usage=usage)
    text, thought = secrets.hide(raw.text), secrets.hide(raw.reasoning)
    is_clean = text is raw.text and thought is raw.reasoning
    # What was taken out of a text was no whole number of its tokens.
    return raw if is_clean else replace(raw, text=text, reasoning=thought, tokens=())


def too_many_failed(failed: int, calls: int, whose: str, last: str, share: float, spec: str) -> BudgetError:
    """Return the error that ends a run in which more calls bring no reply than the spec allows.

    Parameters
    ----------
    failed, calls : int
        Calls without a reply, of all calls.
    whose : str
        Whose calls they are: `of this job`.
    last : str
        What the last failure said.
    share : float
        The share of calls that may fail, from 0 to 1.
    spec : str
        What `cortexdsl run` takes to run the spec again.
    """
    enough = min(100, math.floor(100 * failed / calls) + 1)
    return BudgetError(
        f"{failed:,} of {calls:,} calls {whose} brought no reply, and `limits: failed` allows {share:.3g} of them; "
        f"the last: {last}\n"
        "    see what is wrong with the model or its address; then ask the failed calls again: "
        f"cortexdsl run {spec} --errors-again (or, if they are data to you, raise the limit: "
        f"`limits: {{failed: {enough}%}}`)"
    )
