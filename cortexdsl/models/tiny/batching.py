"""One thread a model: requests that are there at once go through it together, each answered as it would be alone.

Sequences lie in neighbouring slots of the cache. A new one is taken in at the end; the place of one that is done is
filled by the last. What a slot still holds of an earlier prompt is used again by whatever begins the same way.
"""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from cortexdsl.models.tiny.llama import Cache, Llama
from cortexdsl.models.tiny.sampling import Sampling, draw
from cortexdsl.terms import Floats

SLOTS = 64
"""Sequences that go through a model together, at most."""

CACHE_BYTES = 256 * 2**20
_BLOCK = 256  # tokens of a prompt that are taken in at once: bounds the matrix of scores
_WORTH = 8  # tokens in common that are worth a copy


class TooLong(Exception):  # noqa: N818 (an outcome)
    """The prompt leaves no room for a reply in the window of the model."""


@dataclass(frozen=True, slots=True)
class Said:
    """A reply.

    Attributes
    ----------
    tokens : tuple of int
        Without the one that ended it.
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
    future: Future[Said]
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Batcher:
    """Runs a model for whoever asks; a thread of its own, from the first request until it is closed."""

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

    def ask(self, prompt: Sequence[int], sampling: Sampling, seed: int) -> Future[Said]:
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
            except Exception as error:  # whoever waits must hear of it, else it waits for ever
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
        """Take in what waits, as far as there is room; wait for something where nothing is under way."""
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
                sequence.future.set_result(Said(tokens, tuple(sequence.logprobs), "stop" if has_ended else "length"))

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
