"""The transport of small models: one thread for each model, which computes all calls in flight together.

A reply depends on the messages, the options, the seed and the weights, and not on which other calls are in flight.
Sequences use neighbouring slots of the cache. A new sequence gets the next slot; the last one fills the slot of one
that is finished. A prompt that begins like an earlier prompt of its slot reuses what the cache still holds of it.
"""

from __future__ import annotations

import asyncio
import queue
import random
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from cortexdsl.core import EMPTY_REPLY, Call, Floats
from cortexdsl.errors import InputError
from cortexdsl.models.call_keys import plain
from cortexdsl.models.transports.completions import tokens_of
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import WEIGHTS_OPTION, Raw, TokenCounts, wire_seed
from cortexdsl_tiny.chat import Chat
from cortexdsl_tiny.folder import find
from cortexdsl_tiny.llama import Cache, Llama
from cortexdsl_tiny.sampling import LOGPROBS, Sampling, draw, sampling_of

SLOTS = 64
"""Sequences that go through a model together, at most."""

CACHE_BYTES = 256 * 2**20
_BLOCK = 256  # tokens of a prompt that are taken in at once: bounds the matrix of scores
_WORTH = 8  # tokens in common that are worth a copy


class TooLong(Exception):  # noqa: N818 (an outcome)
    """The prompt leaves no room for a reply in the window of the model."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply.

    Attributes
    ----------
    tokens : tuple of int
        The tokens of the reply, without the one that ended it.
    logprobs : tuple of float
        Of every token drawn, the one that ended the reply included, at temperature 1.
    finish_reason : str
        `stop`, or `length` where it was cut.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: str


@dataclass(slots=True)
class _Sequence:
    prompt: list[int]
    sampling: Sampling
    chance: random.Random
    most: int
    future: Future[Completion]
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Batcher:
    """Runs a model in a thread of its own, from the first request until it is closed."""

    def __init__(self, model: Llama, slots: int = SLOTS) -> None:
        self._model = model
        self._waiting: queue.SimpleQueue[_Sequence | None] = queue.SimpleQueue()
        self._active: list[_Sequence] = []
        c = model.config
        per_token = 2 * c.layers * c.groups * (c.head + 1) * 8
        self._slots = max(1, min(slots, CACHE_BYTES // (per_token * min(c.window, 1024))))
        self._cache = Cache(c, self._slots)
        self._held: list[list[int]] = [[] for _ in range(self._slots)]
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def ask(self, prompt: Sequence[int], sampling: Sampling, seed: int) -> Future[Completion]:
        """Have a prompt answered.

        Returns
        -------
        Future of Said
            Cancelling it frees its place.

        Raises
        ------
        TooLong
        """
        room = self._model.config.window - len(prompt)
        if room < 1:
            raise TooLong
        most = min(room, sampling.max_tokens or room)
        sequence = _Sequence(list(prompt), sampling, random.Random(seed), most, Future())
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tiny model", daemon=True)
            self._thread.start()
        self._waiting.put(sequence)
        return sequence.future

    def close(self) -> None:
        """Give up what is under way, and end the thread."""
        self._is_closing = True
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()

    def _run(self) -> None:
        while not self._is_closing:
            try:
                self._admit()
                self._active_only()
                if self._active:
                    self._step()
            except Exception as error:  # else the requests in flight would wait without end
                for sequence in self._active:
                    if sequence.future.set_running_or_notify_cancel():
                        sequence.future.set_exception(error)
                self._active.clear()
        for sequence in [*self._active, *self._left()]:
            sequence.future.cancel()

    def _left(self) -> list[_Sequence]:
        left = []
        while not self._waiting.empty():
            sequence = self._waiting.get()
            left += [sequence] if sequence is not None else []
        return left

    def _admit(self) -> None:
        """Accept waiting requests while there are free slots; block if no request is in flight."""
        while len(self._active) < self._slots and not self._is_closing:
            try:
                sequence = self._waiting.get(block=not self._active)
            except queue.Empty:
                return
            if sequence is None:
                return
            if not sequence.future.cancelled():
                self._take_in(sequence)

    def _take_in(self, sequence: _Sequence) -> None:
        """Read a prompt into the next slot, and draw the first token of its reply."""
        slot, prompt = len(self._active), sequence.prompt
        self._active.append(sequence)
        begun = self._recall(slot, prompt)
        self._held[slot] = prompt[:begun]
        logits = None
        for at in range(begun, len(prompt), _BLOCK):
            block = np.array([prompt[at : at + _BLOCK]])
            logits = self._model.logits(block, np.array([at]), self._cache, slot)
        assert logits is not None  # _recall leaves the last token to be read
        self._held[slot] = list(prompt)
        self._draw([sequence], logits)

    def _recall(self, slot: int, prompt: Sequence[int]) -> int:
        """Copy the beginning that a slot has in common with a prompt, and return its length."""
        shared = [_shared(held, prompt) for held in self._held]
        source = max(range(self._slots), key=lambda k: shared[k])
        length = min(shared[source], len(prompt) - 1)
        if length < _WORTH:
            return 0
        if source != slot:
            self._cache.copy(source, slot, length)
        return length

    def _step(self) -> None:
        n = len(self._active)
        starts = np.array([len(self._held[k]) for k in range(n)])
        last = np.array([[sequence.tokens[-1]] for sequence in self._active])
        logits = self._model.logits(last, starts, self._cache, 0)
        for k, sequence in enumerate(self._active):
            self._held[k].append(sequence.tokens[-1])
        self._draw(self._active, logits)

    def _draw(self, sequences: Sequence[_Sequence], logits: Floats) -> None:
        drawn, logprobs = draw(logits, [s.sampling for s in sequences], [s.chance for s in sequences])
        for sequence, token, logprob in zip(sequences, drawn, logprobs, strict=True):
            sequence.tokens.append(token)
            sequence.logprobs.append(float(logprob))

    def _active_only(self) -> None:
        """Hand out replies that are done, forget those that nobody waits for, and close the gaps."""
        ends = self._model.config.ends
        for k in reversed(range(len(self._active))):
            sequence = self._active[k]
            has_ended = sequence.tokens[-1] in ends
            if not has_ended and len(sequence.tokens) < sequence.most and not sequence.future.cancelled():
                continue
            tokens = tuple(sequence.tokens[:-1] if has_ended else sequence.tokens)
            self._free(k)
            if sequence.future.set_running_or_notify_cancel():  # nobody has cancelled it meanwhile
                sequence.future.set_result(
                    Completion(tokens, tuple(sequence.logprobs), "stop" if has_ended else "length")
                )

    def _free(self, slot: int) -> None:
        last = len(self._active) - 1
        if slot != last:
            self._active[slot] = self._active[last]
            self._held[slot] = list(self._held[last])
            self._cache.copy(last, slot, len(self._held[last]))
        self._active.pop()


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two sequences begin with in common."""
    for k, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return k
    return min(len(one), len(other))


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
            if options.get(WEIGHTS_OPTION, model.digest) != model.digest:
                raise InputError(
                    f"{call.model.model} has other weights ({model.digest}) than the experiment asks for "
                    f"({options[WEIGHTS_OPTION]})"
                )
            prompt = model.chat.tokens(call.messages)
            said = await asyncio.wrap_future(model.batcher.ask(prompt, sampling, wire_seed(call.seed)))
        except InputError as error:
            raise Failure(FailureKind.BAD_REQUEST, str(error)) from None
        except TooLong:
            what = f"the prompt has {len(prompt):,} tokens, and the window of the model is {model.window:,}"
            raise Failure(FailureKind.CONTEXT_WINDOW, what) from None
        text = model.chat.text(said.tokens)
        counted = TokenCounts(len(prompt), len(said.logprobs))
        if not text.strip() and said.finish_reason == "stop":  # the same seed would say as little again
            raise Failure(FailureKind.MALFORMED, EMPTY_REPLY, is_certain=True, usage=counted)
        pieces = [
            {"token": model.chat.text([token]), "logprob": logprob}
            for token, logprob in zip(said.tokens if options.get(LOGPROBS) else (), said.logprobs, strict=False)
        ]
        tokens = tokens_of({"content": pieces}, text)
        return Raw(text, said.finish_reason, counted, tokens=tokens)

    async def _model(self, name: str) -> _Model:
        if name not in self._models:
            # Calls that need the model meanwhile wait for the same task; if it fails, they all fail.
            self._models[name] = asyncio.ensure_future(asyncio.to_thread(_read, name))
        return await asyncio.shield(self._models[name])

    async def close(self) -> None:
        """Cancel the calls in flight, and release the models."""
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
