"""Calls to embedding models: through the client's gate, budget and retries, with a log of their own.

The log is `embeddings/<job's log>` in the folder of the call logs. It is a call log whose lines have a vector and no
reply. Each job writes its own; all are read by all.
A vector is stored as base64 of its 32-bit floats (little-endian) and used as it was stored, so that the first run
and a replay compute with the same numbers.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from cortexdsl.core import Floats, Model, Usage
from cortexdsl.errors import ModelError
from cortexdsl.models.budget import EMBEDDINGS
from cortexdsl.models.call_keys import KEY_LENGTH, plain
from cortexdsl.models.call_log.append_log import SCHEMA_VERSION
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.records import estimated_tokens
from cortexdsl.models.client import Client
from cortexdsl.models.endpoints.credentials import without_credentials
from cortexdsl.models.sender import Request
from cortexdsl.models.transports.interface import TokenCounts
from cortexdsl.models.transports.litellm import embed as litellm_embed
from cortexdsl.models.transports.prices import dollars_of, estimated_dollars

Embed: TypeAlias = Callable[[Model, Sequence[str], str | None, str | None], Awaitable[tuple[list[Floats], int | None]]]
"""Tries once to embed texts by a model at an address with a key; returns the vectors and the counted tokens."""


def embedding_key(model: Model, text: str) -> str:
    """Return the key of one text under an embedding model: everything that can change its vector."""
    content = {"model": model.model, "options": plain(model.options), "api_base": model.api_base, "text": text}
    blob = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(blob.encode("ascii")).hexdigest()[:KEY_LENGTH]


class EmbeddingCalls:
    """Embeds texts that no log has.

    Parameters
    ----------
    client : Client
        The log of embeddings is next to its call log; they are closed together.
    embed : Embed
        The transport.

    Notes
    -----
    A vector that was taken from another job's log is copied to the own one when it is first used: models do not
    embed a text twice alike to the last bit, and a replay must find the very numbers that the run had.
    """

    def __init__(self, client: Client, embed: Embed = litellm_embed) -> None:
        self._client, self._embed = client, embed
        folder, own = client.folder / EMBEDDINGS, client.own_log
        self._logs = CallLogs(folder, None if own is None else folder / own.name)
        client.keep(self._logs)
        self._in_flight: dict[str, asyncio.Task[None]] = {}

    async def embed(self, model: Model, texts: Sequence[str]) -> list[Floats]:
        """Return the vector of each text.

        Raises
        ------
        ModelError, BudgetError
        """
        keys = [embedding_key(model, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        missing = {
            key: text for key, text in wanted.items() if key not in self._in_flight and self._logs.record(key) is None
        }
        if missing:
            task = asyncio.create_task(self._ask(model, missing))
            self._in_flight |= dict.fromkeys(missing, task)
            self._client.wait_for(task)
            task.add_done_callback(lambda done: self._finish(missing, done))
        for task in {self._in_flight[key] for key in wanted if key in self._in_flight}:
            await asyncio.shield(task)
        records = {key: self._logs.record(key) or {} for key in wanted}
        vectors = {key: base64.b64decode(records[key]["vector"]) for key in wanted}
        for key, text in wanted.items():
            self._keep(key, model, text, vectors[key])
        return [np.frombuffer(vectors[key], "<f4").astype(np.float64) for key in keys]

    def _finish(self, keys: Iterable[str], done: asyncio.Task[None]) -> None:
        for key in keys:
            del self._in_flight[key]
        if not done.cancelled():
            done.exception()  # retrieved here, because all waiting tasks may be gone

    async def _ask(self, model: Model, missing: Mapping[str, str]) -> None:
        if self._logs.own is None:
            raise ModelError(
                f"offline: {len(missing)} embeddings of {model.model} are in none of the logs\n"
                "    replaying needs the logs of the whole run, and the same spec; to ask models, run it online"
            )
        texts = list(missing.values())
        estimated = estimated_tokens([{"content": text} for text in texts])

        def cost(found: tuple[list[Floats], int | None]) -> Usage:
            counted = estimated if found[1] is None else found[1]
            return Usage(attempts=1, input_tokens=counted, dollars=estimated_dollars(model, counted, 0))

        request = Request(model, lambda address, key: self._embed(model, texts, address, key), estimated, cost)
        vectors, tokens = (await self._client.send(request)).value
        dollars = dollars_of(model, TokenCounts(tokens)) if tokens is not None else None
        for number, (key, vector) in enumerate(zip(missing, vectors, strict=True)):
            stored = np.asarray(vector, dtype="<f4").tobytes()
            self._keep(key, model, missing[key], stored, *((1, tokens, dollars) if number == 0 else (0, 0, 0.0)))

    def _keep(
        self,
        key: str,
        model: Model,
        text: str,
        vector: bytes,
        calls: int = 0,
        tokens: int | None = 0,
        dollars: float | None = 0.0,
    ) -> None:
        """Write a vector to the job's log, once. The cost of a batch is in its first line."""
        if self._logs.own is None or self._logs.is_own(key):
            return
        self._logs.write(
            {
                "schema_version": SCHEMA_VERSION,
                "key": key,
                "model": model.model,
                "api_base": without_credentials(model.api_base),
                "parameters": plain(model.options),
                "text": text,
                "vector": base64.b64encode(vector).decode("ascii"),
                "calls": calls,
                "tokens": tokens,
                "dollars": dollars,
            }
        )
