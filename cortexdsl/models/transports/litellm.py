"""The transport `litellm`, for every provider. litellm is imported when it is opened, and contacts no other server.

Only its translation to a provider is used. Its retries, cache, router, logs and cost accounting stay off, because
the client has its own.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import logging
import os
import re
import time
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, TypeVar

import numpy as np

from cortexdsl.core import Call, Floats, Model, Offer
from cortexdsl.models.call_keys import plain
from cortexdsl.models.transports.caching import with_cache_marks
from cortexdsl.models.transports.completions import completion
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import NO_COMPLETION, Failure, from_exception
from cortexdsl.models.transports.interface import Raw, TransportType, is_streamed, timeout_of
from cortexdsl.models.transports.request_parts import SEED, messages_of, refused_parameters, sent_parameters
from cortexdsl.models.transports.responses import read_reply
from cortexdsl.models.transports.streams import STREAMED

T = TypeVar("T")


class LitellmTransport:
    """Sends through `litellm.acompletion`, for every model name that litellm knows.

    If a provider takes no seed, the call is sent without one and the reply says so; any other option that it does not
    take is an error, never dropped. Prompts are marked for a provider's cache if the model's entry asks for that.
    """

    def __init__(self) -> None:
        load()  # now, so that its seconds are not those of the first call

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once."""
        parameters = sent_parameters(call)
        if not takes_seed(call.model.model):
            parameters.pop(SEED, None)
        seed_refused = SEED not in parameters
        bodies: list[bytes] = []
        with refused_parameters(call, parameters):
            try:
                answer = await self._answer(call, api_base, api_key, parameters, bodies)
            except Failure:
                raw = _as_sent(bodies, seed_refused=seed_refused, offer=call.offer)
                if raw is None:
                    raise
                return raw
            raw = _as_sent(bodies, seed_refused=seed_refused, offer=call.offer)
            return raw or completion(_document(answer, bodies), seed_refused=seed_refused, offer=call.offer)

    async def _answer(
        self, call: Call, api_base: str | None, api_key: str | None, parameters: Mapping[str, Any], bodies: list[bytes]
    ) -> Any:
        litellm, model = load(), call.model.model
        messages = with_cache_marks(messages_of(call), call)
        seconds, streamed = timeout_of(call.model), is_streamed(call.model)
        async with _attempt(seconds, bodies):
            answer = await litellm.acompletion(
                model=model,
                messages=messages,
                api_base=api_base,
                api_key=api_key,
                max_retries=0,
                num_retries=0,
                litellm_logging_obj=_silent_log("acompletion", model, messages, streamed=streamed),
                **(STREAMED if streamed else {}),
                **({_NO_GATEWAY: True} if "tools" in parameters else {}),
                **{"timeout": seconds, "drop_params": False, **parameters},
            )
            return await _merged(litellm, answer) if streamed and not _speaks_openai(bodies) else answer

    async def close(self) -> None:
        """Close litellm's connections, if litellm was ever loaded."""
        if load.cache_info().currsize:
            await _bounded().give_client(load()).aclose()


@asynccontextmanager
async def _attempt(seconds: float, bodies: list[bytes]) -> AsyncIterator[None]:
    """Bound the time of an attempt (litellm's timeout is for each part of a body), and word what becomes of it.

    Parameters
    ----------
    seconds : float
    bodies : list of bytes
        Gets the bodies that arrive without an error.

    Raises
    ------
    Failure
    """
    with _within(_bounded().BODIES, bodies), _within(load()._internal_context.is_internal_call, True):
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise Failure(FailureKind.TRANSIENT, "no reply in time", may_have_cost=True) from None
        except Exception as error:  # litellm lets exceptions of every client through
            failure = from_exception(error, time.time())
            if bodies and not failure.kind.is_data:
                # The server said that all is well, and litellm could not read the rest.
                failure = Failure(FailureKind.MALFORMED, NO_COMPLETION)
            raise failure from None


@contextmanager
def _within(variable: ContextVar[T], value: T) -> Iterator[None]:
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def _silent_log(kind: str, model: str, messages: Any, *, streamed: bool = False) -> Any:
    """Return what litellm is to log a call with: it computes no price, for which litellm searches its list ten times.

    Calls that litellm makes for itself (`is_internal_call`), as which ours are marked, are handed to no logger.
    """
    logs: Any = importlib.import_module("litellm.litellm_core_utils.litellm_logging")
    log = logs.Logging(model, messages, streamed, kind, datetime.now(), litellm_call_id="", function_id="")
    log.response_cost_calculator = lambda *_, **__: None
    log.stream_options = STREAMED["stream_options"] if streamed else None
    return log


def _as_sent(bodies: Sequence[bytes], *, seed_refused: bool, offer: Offer | None) -> Raw | None:
    """Return the reply as the direct way reads it, if the server speaks the OpenAI protocol; else None.

    What litellm makes of such a body differs in details (odd counts, NaN, bytes that are not UTF-8 fail there).
    """
    if not _speaks_openai(bodies):
        return None
    try:
        return read_reply(bodies[-1], seed_refused=seed_refused, offer=offer)
    except Failure as failure:
        if failure.kind is not FailureKind.MALFORMED:
            raise
        return None


def _speaks_openai(bodies: Sequence[bytes]) -> bool:
    return bool(bodies) and b'"choices"' in bodies[-1]


async def _merged(litellm: Any, stream: Any) -> Any:
    """Return the reply of a stream of another protocol, as litellm reads it, with the token counts of its server."""
    chunks = [chunk async for chunk in stream]
    answer = litellm.stream_chunk_builder(chunks)
    if answer is not None and not any(getattr(chunk, "usage", None) for chunk in chunks):
        answer.usage = None  # litellm counts with a tokenizer of its own if the server says nothing
    return answer


_REASONING_COUNTS = (b"thoughtsTokenCount", b"reasoning_tokens", b"reasoningTokens", b"thinking_tokens")


def _document(answer: Any, bodies: Sequence[bytes]) -> dict[str, Any] | None:
    """Return litellm's completion without token counts that its server did not send."""
    if not hasattr(answer, "model_dump"):
        return None
    document: dict[str, Any] = answer.model_dump(exclude_none=True)
    usage = document.get("usage") or {}
    if not usage.get("prompt_tokens"):
        document.pop("usage", None)  # litellm writes zeros if the server counted nothing; every prompt has tokens
    if not any(name in body for body in bodies for name in _REASONING_COUNTS):  # litellm estimates them
        for counts in (usage, usage.get("completion_tokens_details") or {}):
            counts.pop("reasoning_tokens", None)
    return document


def refused_options(model: Model) -> dict[str, str]:
    """Return the options of a model entry that litellm does not hand on to its provider, each with the reason.

    litellm is asked as a call would ask it, and sends nothing. What it knows nothing about is not listed.
    """
    options: dict[str, Any] = {name: value for name, value in plain(model.options).items() if name not in _OWN}
    allowed = model.options.get("allowed_openai_params")
    names = {"allowed_openai_params": plain(allowed)} if allowed else {}
    reasons = {name: _reason(model, {name: value, **names}) for name, value in options.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _reason(model: Model, options: Mapping[str, Any]) -> str | None:
    """Return why litellm refuses options, empty if it gives no reason; None if it takes them."""
    litellm = load()
    try:
        name, provider, *_ = litellm.get_llm_provider(model.model)
        litellm.utils.get_optional_params(model=name, custom_llm_provider=provider, drop_params=False, **options)
    except litellm.UnsupportedParamsError as error:
        return _ADVICE.sub("", from_exception(error, 0.0).what).strip()
    except Exception:  # what else litellm does not like, the first call reports
        return None
    return None


_ADVICE = re.compile(
    r"(?:\S+ does not support parameters: \[.*?\], for model=|[.,]? *To drop unsupported).*", re.DOTALL
)
"""litellm's advice to drop parameters by a setting of its own, and a list that repeats the parameter."""
_OWN = frozenset({
    "allowed_openai_params", "additional_drop_params", "api_version", "custom_llm_provider", "drop_params",
    "extra_body", "extra_headers", "headers", "organization", "timeout",
})  # fmt: skip
"""Options that tell litellm something, or are sent as they are."""

_NO_GATEWAY = "_skip_mcp_handler"
"""With tools, litellm looks for those of a gateway of its own first, which needs a further package."""

TRANSPORT = TransportType(
    prefix="litellm", create=LitellmTransport, is_listed=True, has_functions=True, refused_options=refused_options
)


async def embed(
    model: Model, texts: Sequence[str], api_base: str | None, api_key: str | None
) -> tuple[list[Floats], int | None]:
    """Return a vector for each text, and the tokens that the server counted; one attempt.

    Raises
    ------
    Failure
    """
    seconds = timeout_of(model)
    async with _attempt(seconds, []):
        answer = await load().aembedding(
            model=model.model,
            input=list(texts),
            api_base=api_base,
            api_key=api_key,
            timeout=seconds,
            max_retries=0,
            litellm_logging_obj=_silent_log("aembedding", model.model, list(texts)),
            **plain(model.options),
        )
    try:
        rows = sorted(answer.data, key=lambda row: row["index"])
        vectors = [np.asarray(row["embedding"], dtype=np.float64) for row in rows]
    except (LookupError, AttributeError, TypeError, ValueError):
        raise Failure(FailureKind.MALFORMED, "no embeddings") from None
    if len(vectors) != len(texts) or any(v.ndim != 1 or not np.isfinite(v).all() for v in vectors):
        raise Failure(
            FailureKind.MALFORMED, f"{len(vectors)} embeddings for {len(texts)} texts, or numbers that are none"
        )
    return vectors, getattr(getattr(answer, "usage", None), "prompt_tokens", None)


@functools.lru_cache(maxsize=256)
def takes_seed(model: str) -> bool:
    """Say whether litellm hands a seed on to the provider of a model."""
    return "seed" in (load().get_supported_openai_params(model) or ())


@functools.cache
def load() -> Any:
    """Import litellm, silenced and kept from the network.

    Its price map is the one in the package, tokens are counted by servers alone (so no tokenizer is fetched),
    no `.env` file is read, nothing is reported anywhere.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside its dependencies are not ours to show
        litellm: Any = importlib.import_module("litellm")
        litellm.ModelResponse(choices=[{"message": {"content": ""}}])  # builds its types, which warns too
        litellm.ModelResponseStream()
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False
    litellm.disable_hf_tokenizer_download = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    _bounded().give_client(litellm)
    return litellm


def _bounded() -> Any:
    return importlib.import_module("cortexdsl.models.transports.bounded_client")  # imports httpx
