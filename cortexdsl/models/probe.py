"""Whether a model is there and answers as its entry says: a few small requests, before anything is spent."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from cortexdsl.errors import ModelError
from cortexdsl.models.commons import Commons
from cortexdsl.models.reach.failures import REMEDIES, Failure, Kind
from cortexdsl.models.reach.reach import checked
from cortexdsl.models.reach.secrets import shown
from cortexdsl.models.tiny.shelf import window_of
from cortexdsl.models.transports.prices import context_of, has_price
from cortexdsl.models.transports.transport import Raw, Transport
from cortexdsl.terms import Call, Model

PROMPT = "Write one random number of twelve digits, and nothing else."
FEW_TOKENS = 32
SECONDS = 60.0
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")

Seeds = Literal["honoured", "ignored", "refused", "unclear"]


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found of one model.

    Attributes
    ----------
    entry, model, address : str
        As the spec calls it; the address without anything secret.
    problem, remedy, kind : str
        Empty where it answers; the kind of the failure as logs call it (`not_found`).
    context : int or None
        Tokens of prompt and reply together, as the server or litellm's list says; None where neither does.
    seed : str
        `honoured`: one seed gave one reply twice and another seed another; `ignored`: one seed gave two replies;
        `refused`: the provider takes none; `unclear`: it replies the same whatever the seed, or did not answer.
    is_priced : bool
        Whether what a call costs is known.
    logprobs : str
        Whether it gives the probabilities of its tokens: `given`, `none`; empty where its entry does not ask for them.
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


async def probe(models: Sequence[Model], commons: Commons | None = None) -> list[Probe]:
    """Ask each model four small questions, all models at once; nothing is kept.

    Parameters
    ----------
    models : sequence of Model
    commons : Commons or None
        The ways to the models; by default the usual ones.
    """
    async with commons or Commons() as ways:
        return list(await asyncio.gather(*(_probe(model, ways) for model in models)))


async def _probe(model: Model, commons: Commons) -> Probe:
    found = Probe(model.name, model.model, "", is_priced=has_price(model))
    try:
        address, key = commons.secrets.address(model), commons.secrets.key(model)
    except ModelError as error:
        what, _, remedy = str(error).partition("\n")
        return replace(found, problem=what, remedy=remedy.strip())
    found = replace(found, address=shown(address))
    listed = await listed_models(address, key)
    served = listed.get(model.model.partition("/")[2]) or {}
    said = next((served[name] for name in _WINDOWS if isinstance(served.get(name), int)), None)
    found = replace(found, context=said or model.context or window_of(model.model) or context_of(model.model))

    async def ask(asked: Model, seed: int) -> Raw:
        call = Call(asked, ({"role": "user", "content": PROMPT},), seed)
        async with asyncio.timeout(SECONDS):
            raw = await _sent(commons.transport(model), call, address, key)
        # A model that reasons has not said anything yet after so few tokens: what it thinks tells as much.
        return raw if raw.reasoning.strip() and not raw.text.strip() else checked(raw, commons.secrets)

    try:
        first = await ask(_small(model), 1)
        if model.options.get("logprobs"):
            found = replace(found, logprobs="given" if first.tokens else "none")
        return replace(found, seed="refused" if first.seed_refused else await _seeds(model, ask))
    except Failure as failure:
        remedy = REMEDIES[failure.kind]
        if failure.kind in (Kind.NOT_FOUND, Kind.BAD_REQUEST) and listed and not served:
            near = difflib.get_close_matches(model.model.partition("/")[2], listed, 1, 0.3)
            remedy = (f"did you mean {near[0]}? " if near else "") + f"the server has: {', '.join(list(listed)[:10])}"
        what = commons.secrets.clean(f"{failure.kind.value}: {failure.what}")
        return replace(found, problem=what, remedy=remedy, kind=failure.kind.slug)
    except TimeoutError:
        what = f"{Kind.TRANSIENT.value}: no answer within {SECONDS:.0f} s"
        return replace(found, problem=what, remedy=REMEDIES[Kind.TRANSIENT], kind=Kind.TRANSIENT.slug)


async def _sent(transport: Transport, call: Call, address: str | None, key: str | None) -> Raw:
    try:
        return await transport.send(call, address, key)
    except Failure as failure:
        if not failure.is_mended:
            raise
        return await transport.send(call, address, key)


def _small(model: Model, **options: Any) -> Model:
    """Return a model that is asked for few tokens, all else as its entry says."""
    most = model.options.get("max_tokens", FEW_TOKENS)
    return replace(model, options={**model.options, "max_tokens": min(most, FEW_TOKENS), **options})


async def _seeds(model: Model, ask: Any) -> Seeds:
    hot = _small(model, temperature=1.0)
    try:
        replies = [await ask(hot, seed) for seed in (1, 1, 2)]
    except Failure as failure:
        if failure.kind is not Kind.BAD_REQUEST:  # a model may take no temperature
            raise
        return "unclear"
    one, again, other = [(reply.text, reply.reasoning) for reply in replies]
    if one != again:
        return "ignored"
    return "unclear" if one == other else "honoured"


async def listed_models(address: str | None, key: str | None) -> Mapping[str, Mapping[str, Any]]:
    """Return what a server says of its models (`/models`), by name; nothing if it does not say."""
    if address is None:
        return {}
    import aiohttp  # a third of a second, which checks of nothing but the text should not pay

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        timeout = aiohttp.ClientTimeout(total=15)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            url = f"{address.rstrip('/')}/models"
            async with session.get(url, headers=headers, allow_redirects=False) as response:
                said = await response.json(content_type=None) if response.status == 200 else {}
    except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError):
        return {}
    entries = said.get("data") if isinstance(said, dict) else None
    named = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return {str(entry["id"]): entry for entry in named if "id" in entry}
