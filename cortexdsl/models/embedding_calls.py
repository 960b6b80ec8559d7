"""Calls to embedding models: through the door's gate, budget and retries, with a log of their own.

The log is `embeddings/<job's log>` in the folder of the call logs: each job writes its own, all are read by all.
A vector is kept as base64 of its 32-bit floats (little-endian), and used as it was kept, so that the first run
and a replay compute with the same numbers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cortexdsl.errors import ModelError
from cortexdsl.models.appendlog import SCHEMA_VERSION, AppendLog, parse, whole_lines
from cortexdsl.models.budget import Spent
from cortexdsl.models.door import Door
from cortexdsl.models.keys import KEY_LENGTH, plain
from cortexdsl.models.litellm_door import embed as litellm_embed
from cortexdsl.terms import Floats, Model

FOLDER = "embeddings"
_say = logging.getLogger(__name__)


class Embed(Protocol):
    """A way to an embedding model; tries once."""

    async def __call__(
        self, model: Model, texts: Sequence[str], api_base: str | None, api_key: str | None
    ) -> tuple[list[Floats], int | None]:
        """Return a vector for each text, and the tokens that were counted.

        Raises
        ------
        Failure
        """
        ...


def embedding_key(model: Model, text: str) -> str:
    """Return the key of one text under an embedding model: everything that can change its vector."""
    said = {"model": model.model, "options": plain(model.options), "api_base": model.api_base, "text": text}
    blob = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(blob.encode("ascii")).hexdigest()[:KEY_LENGTH]


class EmbeddingCalls:
    """Embeds texts that no log has.

    Parameters
    ----------
    door : Door
    folder : Path
        Of the call logs.
    own : str or None
        File name of the log that this job writes; None when offline.
    embed : Embed
        The transport.
    """

    def __init__(self, door: Door, folder: Path, own: str | None, embed: Embed = litellm_embed) -> None:
        self._door = door
        self._embed = embed
        self._writer = AppendLog(folder / FOLDER / own) if own is not None else None
        self._vectors: dict[str, bytes] = {}
        for path in sorted((folder / FOLDER).glob("*.jsonl")):
            self._read(path)

    def _read(self, path: Path) -> None:
        for offset, line in whole_lines(path):
            record = parse(line)
            try:
                vector = base64.b64decode((record or {})["vector"], validate=True)
            except (KeyError, TypeError, binascii.Error):
                _say.warning("%s: byte %d: a corrupt line of the embedding log is skipped", path, offset)
                continue
            self._vectors.setdefault((record or {})["key"], vector)

    async def embed(self, model: Model, texts: Sequence[str]) -> list[Floats]:
        """Return the vector of each text.

        Raises
        ------
        ModelError, BudgetError
        """
        keys = [embedding_key(model, text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        if missing:
            if self._writer is None:
                raise ModelError(f"offline: {len(missing)} embeddings of {model.model} are in none of the logs")
            vectors, tokens, seconds = await self._door.embed(model, list(missing.values()), self._embed)
            for number, (key, vector) in enumerate(zip(missing, vectors, strict=True)):
                kept = np.asarray(vector, dtype="<f4").tobytes()
                self._writer.append(_record(key, model, missing[key], kept, tokens if number == 0 else 0, seconds))
                self._vectors[key] = kept
        return [np.frombuffer(self._vectors[key], dtype="<f4").astype(np.float64) for key in keys]

    def close(self) -> None:
        """Close the own log."""
        if self._writer is not None:
            self._writer.close()


def _record(
    key: str, model: Model, text: str, vector: bytes, tokens: int | None, seconds: float
) -> Mapping[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "key": key,
        "model": model.model,
        "api_base": model.api_base,
        "parameters": plain(model.options),
        "text": text,
        "vector": base64.b64encode(vector).decode("ascii"),
        "usage": {"prompt_tokens": tokens},
        "seconds": round(seconds, 4),
    }
