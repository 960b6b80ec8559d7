"""Checks that a model is there and behaves as its entry says, by a few small calls before anything is spent."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from cortexdsl.core import Call, Model
from cortexdsl.errors import ModelError
from cortexdsl.models.endpoints.refusals import Refusals
from cortexdsl.models.sender import check_reply
from cortexdsl.models.servers.pages import listed_models
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, Transport
from cortexdsl.models.transports.prices import bills_itself, has_price
from cortexdsl.models.transports.request_parts import SYSTEM

SYSTEM_PROMPT = "You follow instructions exactly."
PROMPT = "Write one random number of twelve digits, and nothing else."
FEW_TOKENS = 32
SECONDS = 60.0

Seeds = Literal["honoured", "ignored", "refused", "unclear"]


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of probing one model.

    Attributes
    ----------
    entry, model, address : str
        As the spec calls it; the address without anything secret.
    problem, remedy, kind : str
        Empty if it answers; the kind of the failure as in logs (`not_found`).
    seed : str
        `honoured`: one seed gave one reply twice, and another seed another; `ignored`: one seed gave two replies;
        `refused`: the provider takes none; `unclear`: it replies the same whatever the seed, or did not answer.
    has_system_role : bool
        False: the model takes no system message, and is sent a persona in the message of the user.
    is_priced : bool
        Whether what a call costs is known.
    logprobs : str
        Whether it gives the probabilities of its tokens: `given`, `none`; empty if its entry does not ask for them.
        One that refuses them does not answer.
    """

    entry: str
    model: str
    address: str
    problem: str = ""
    remedy: str = ""
    seed: Seeds = "unclear"
    is_priced: bool = False
    kind: str = ""
    logprobs: Literal["", "given", "none"] = ""
    has_system_role: bool = True


async def probe(models: Sequence[Model], shared: SharedState | None = None) -> list[Probe]:
    """Send four small calls to each model; nothing is logged.

    All models are probed at the same time; rates of their entries are kept.

    Parameters
    ----------
    models : sequence of Model
    shared : SharedState or None
        With opened transports; by default those of the registry.
    """
    everywhere = [each for model in models for each in model.at_each_address]
    async with shared or SharedState() as ways:
        return list(await asyncio.gather(*(_probe(model, ways) for model in everywhere)))


async def _probe(model: Model, shared: SharedState) -> Probe:
    result = Probe(model.name, model.model, "", is_priced=has_price(model) or bills_itself(model))
    try:
        address, key = shared.secrets.address(model), shared.secrets.key(model)
    except ModelError as error:
        what, _, remedy = str(error).partition("\n")
        return replace(result, problem=what, remedy=remedy.strip())
    result = replace(result, address=mask_url(address))
    listed = await listed_models(address, key)
    served = listed.get(model.model.partition("/")[2]) or {}
    refusals = Refusals(None)

    async def ask(small: Model, seed: int) -> Raw:
        call = Call(small, ({"role": SYSTEM, "content": SYSTEM_PROMPT}, {"role": "user", "content": PROMPT}), seed)
        if model.rate is not None:
            await shared.endpoints.meter(model, model.rate).admit(model.rate, FEW_TOKENS)
        async with asyncio.timeout(SECONDS):
            raw = await _sent(shared.transport(model), call, address, key, refusals)
        # A reasoning model has not begun its reply after so few tokens: its reasoning shows as much.
        return raw if raw.reasoning.strip() and not raw.text.strip() else check_reply(raw, shared.secrets)

    try:
        first = await ask(_small(model), 1)
        is_refused = SYSTEM in refusals.applied(Call(model, (), 0), address).model.refused
        result = replace(result, has_system_role=not is_refused)
        if model.options.get("logprobs"):
            result = replace(result, logprobs="given" if first.tokens else "none")
        if first.seed_refused:
            return replace(result, seed="refused")
        return replace(result, seed=await _seeds(model, ask))
    except Failure as failure:
        remedy = failure.kind.remedy
        if failure.kind in (FailureKind.NOT_FOUND, FailureKind.BAD_REQUEST) and listed and not served:
            near = difflib.get_close_matches(model.model.partition("/")[2], listed, 1, 0.3)
            remedy = (f"did you mean {near[0]}? " if near else "") + f"the server has: {', '.join(list(listed)[:10])}"
        what = shared.secrets.clean(f"{failure.kind.value}: {failure.what}")
        return replace(result, problem=what, remedy=remedy, kind=failure.kind.slug)
    except TimeoutError:
        what = f"{FailureKind.TRANSIENT.value}: no answer within {SECONDS:.0f} s"
        return replace(result, problem=what, remedy=FailureKind.TRANSIENT.remedy, kind=FailureKind.TRANSIENT.slug)


async def _sent(transport: Transport, call: Call, address: str | None, key: str | None, refusals: Refusals) -> Raw:
    while True:
        try:
            return await transport.send(refusals.applied(call, address), address, key)
        except Failure as failure:
            if not failure.is_mended:
                raise
            refusals.learn(call.model, address, failure)


def _small(model: Model, **options: Any) -> Model:
    """Return a model that is asked for few tokens, all else as its entry says."""
    most = model.options.get("max_tokens", FEW_TOKENS)
    return replace(model, options={**model.options, "max_tokens": min(most, FEW_TOKENS), **options})


async def _seeds(model: Model, ask: Any) -> Seeds:
    """Return whether a model keeps seeds."""
    hot = _small(model, temperature=1.0)
    try:
        one, again, other = [_visible(await ask(hot, seed)) for seed in (1, 1, 2)]
    except Failure as failure:
        if failure.kind is not FailureKind.BAD_REQUEST:  # a model may take no temperature
            raise
        return "unclear"
    if one != again:
        return "ignored"
    return "unclear" if one == other else "honoured"


def _visible(reply: Raw) -> tuple[str, str]:
    return reply.text, reply.reasoning
