"""The way to small models in this process: calls in flight at once go through a model together.

The model works in a thread of its own, so that the loop goes on meanwhile. A reply depends on the messages, the
options, the seed and the weights, and not on what else is in flight.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from cortexdsl.errors import InputError
from cortexdsl.models.keys import plain
from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.models.tiny.batching import Batcher, TooLong
from cortexdsl.models.tiny.chat import Chat
from cortexdsl.models.tiny.llama import Llama
from cortexdsl.models.tiny.sampling import DIGEST, LOGPROBS, sampling_of
from cortexdsl.models.tiny.shelf import find
from cortexdsl.models.transports.prices import Usage
from cortexdsl.models.transports.tokens import tokens_of
from cortexdsl.models.transports.transport import Raw, wire_seed
from cortexdsl.terms import EMPTY_REPLY, Call


@dataclass(frozen=True, slots=True)
class _Model:
    chat: Chat
    batcher: Batcher
    window: int
    digest: str


class TinyTransport:
    """Runs Llama folders, each read once, when it is first asked."""

    def __init__(self) -> None:
        self._models: dict[str, asyncio.Future[_Model]] = {}

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once."""
        options = plain(call.model.options)
        try:
            sampling = sampling_of(options)
            model = await self._model(call.model.model)
            if options.get(DIGEST, model.digest) != model.digest:
                raise InputError(
                    f"{call.model.model} has other weights ({model.digest}) than the experiment asks for "
                    f"({options[DIGEST]})"
                )
            prompt = model.chat.tokens(call.messages)
            said = await asyncio.wrap_future(model.batcher.ask(prompt, sampling, wire_seed(call.seed)))
        except InputError as error:
            raise Failure(Kind.BAD_REQUEST, str(error)) from None
        except TooLong:
            what = f"the prompt has {len(prompt):,} tokens, and the window of the model is {model.window:,}"
            raise Failure(Kind.CONTEXT_WINDOW, what) from None
        text = model.chat.text(said.tokens)
        counted = len(prompt), len(said.logprobs)
        if not text.strip() and said.finish_reason == "stop":  # the same seed would say as little again
            raise Failure(Kind.MALFORMED, EMPTY_REPLY, is_certain=True, usage=Usage(*counted))
        pieces = [
            {"token": model.chat.text([token]), "logprob": logprob}
            for token, logprob in zip(said.tokens if options.get(LOGPROBS) else (), said.logprobs, strict=False)
        ]
        tokens = tokens_of({"content": pieces}, text)
        return Raw(text, said.finish_reason, *counted, tokens=tokens)

    async def _model(self, name: str) -> _Model:
        if name not in self._models:
            # Others that ask meanwhile wait for the same reading; one that fails fails for all of them.
            self._models[name] = asyncio.ensure_future(asyncio.to_thread(_read, name))
        return await asyncio.shield(self._models[name])

    async def close(self) -> None:
        """Give up what is under way, and let go of the models."""
        for reading in self._models.values():
            if reading.done() and not reading.cancelled() and reading.exception() is None:
                await asyncio.to_thread(reading.result().batcher.close)
        self._models.clear()


def _read(name: str) -> _Model:
    folder = find(name)
    chat = Chat(folder)
    if chat.size > folder.config.vocabulary:
        raise InputError(f"{folder.path}: {chat.size} pieces, and the model knows {folder.config.vocabulary}")
    model = Llama(folder.config, folder.weights())
    return _Model(chat, Batcher(model), folder.config.window, folder.digest)
