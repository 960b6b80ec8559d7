"""Checks that a model is there and behaves as its entry says, by a few small calls before anything is spent."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence
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
from cortexdsl.models.transports.prices import bills_itself, context_of, has_price
from cortexdsl.models.transports.request_parts import SYSTEM

SYSTEM_PROMPT = "You follow instructions exactly."
PROMPT = "Write one random number of twelve digits, and nothing else."
FEW_TOKENS = 32
SECONDS = 60.0
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")

MOST_AT_ONCE = 64
"""Calls at once of the probe under load, at most."""

Seeds = Literal["honoured", "lost", "ignored", "refused", "unclear"]
SEEDS_IN_WORDS: Mapping[str, str] = {
    "honoured": "one seed gives one reply, alone and under load",
    "lost": "one seed gives one reply alone, and other replies while the server answers several calls at once",
    "ignored": "one seed gives two replies",
    "refused": "it takes no seed",
    "unclear": "it replies the same whatever the seed, or takes no temperature, so that nothing is shown",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of probing one model.

    Attributes
    ----------
    entry, model, address : str
        As the spec calls it; the address without anything secret.
    problem, remedy, kind : str
        Empty if it answers; the kind of the failure as in logs (`not_found`).
    context : int or None
        Tokens of prompt and reply together, as the server or litellm's list says; None if neither does.
    seed : str
        `honoured`: one seed gave one reply twice and another seed another, also under load; `lost`: only alone, and not
        while it answered other calls; `ignored`: one seed gave two replies; `refused`: the provider takes none;
        `unclear`: it replies the same whatever the seed, or did not answer.
    has_system_role : bool
        False: the model takes no system message, and is sent a persona in the message of the user.
    at_once : int
        Calls in flight together in the probe under load; 0 if there was none.
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
    context: int | None = None
    seed: Seeds = "unclear"
    is_priced: bool = False
    kind: str = ""
    logprobs: Literal["", "given", "none"] = ""
    at_once: int = 0
    has_system_role: bool = True


async def probe(models: Sequence[Model], shared: SharedState | None = None, connections: int = 1) -> list[Probe]:
    """Send four small calls to each model, and then some at once to those that keep seeds; nothing is logged.

    Servers that reply the same to one seed while nothing else is in work may not do so under load, because they compute
    several calls together. All models are probed at the same time; rates of their entries are kept.

    Parameters
    ----------
    models : sequence of Model
    connections : int
        Calls in flight to one endpoint in the experiment. So many are sent at once, 64 at most; one: none.
    shared : SharedState or None
        With opened transports; by default those of the registry.
    """
    everywhere = [each for model in models for each in model.at_each_address]
    async with shared or SharedState() as ways:
        return list(
            await asyncio.gather(*(_probe(model, ways, min(connections, MOST_AT_ONCE)) for model in everywhere))
        )


async def _probe(model: Model, shared: SharedState, at_once: int) -> Probe:
    result = Probe(model.name, model.model, "", is_priced=has_price(model) or bills_itself(model))
    try:
        address, key = shared.secrets.address(model), shared.secrets.key(model)
    except ModelError as error:
        what, _, remedy = str(error).partition("\n")
        return replace(result, problem=what, remedy=remedy.strip())
    result = replace(result, address=mask_url(address))
    listed = await listed_models(address, key)
    served = listed.get(model.model.partition("/")[2]) or {}
    window = next((served[name] for name in _WINDOWS if isinstance(served.get(name), int)), None)
    result = replace(result, context=window or model.context or context_of(model.model))

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
        seed, loaded = await _seeds(model, ask, at_once)
        return replace(result, seed=seed, at_once=loaded)
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


async def _seeds(model: Model, ask: Any, at_once: int) -> tuple[Seeds, int]:
    """Return whether a model keeps seeds, and how many calls were sent at once to see it; 0 if none were."""
    hot = _small(model, temperature=1.0)
    try:
        one, again, other = [_visible(await ask(hot, seed)) for seed in (1, 1, 2)]
    except Failure as failure:
        if failure.kind is not FailureKind.BAD_REQUEST:  # a model may take no temperature
            raise
        return "unclear", 0
    if one != again or one == other or at_once < 2:
        return "ignored" if one != again else "unclear" if one == other else "honoured", 0
    expected = [(one, other)[k % 2] for k in range(at_once)]
    answers = await asyncio.gather(*(ask(hot, 1 + k % 2) for k in range(at_once)), return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    replies = [None if isinstance(answer, BaseException) else _visible(answer) for answer in answers]
    if any(reply not in (None, alone) for reply, alone in zip(replies, expected, strict=True)):
        return "lost", at_once
    if any(not isinstance(failure, Failure | TimeoutError) for failure in failed):
        raise failed[0]
    return "unclear" if failed else "honoured", at_once


def _visible(reply: Raw) -> tuple[str, str]:
    return reply.text, reply.reasoning
