"""Similarity of texts: cosines of their embeddings, each text embedded once.

`ngram` needs no model; `sentence-transformers/NAME` (or a local folder after the slash) runs in this process;
`nli/NAME` is a cross-encoder of natural language inference. Every other name is an embedding model of litellm, called
through the client and logged, so that a replay calls no model.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from cortexdsl.core import Floats, Model
from cortexdsl.errors import ModelError
from cortexdsl.models.client import Client
from cortexdsl.models.endpoints.providers import redirected
from cortexdsl.models.similarity.embedding_log import EmbeddingCalls
from cortexdsl.models.similarity.local_models import NLI, Entailment, load_sentence_model, remember

WORDS, GRAMS = 1024, 2048
WIDTH = WORDS + GRAMS
_WORD = re.compile(r"\w+")
_MULTIPLIER = np.uint32(2654435761)  # Knuth's multiplicative hashing: 2**32 over the golden ratio


def ngram_vector(text: str) -> Floats:
    """Return the unit vector of a text; the zero vector if it holds only space.

    Notes
    -----
    The text is lower-cased and its runs of space become one. Words (`\\w+`) and pairs of neighbouring words fall
    into 1,024 places by CRC-32; every three neighbouring bytes b0 b1 b2 of UTF-8 into 2,048 others by the upper
    11 bits of (65536 b0 + 256 b1 + b2) * 2654435761 mod 2**32. A place counts log(1 + hits); the half of words
    and the half of bytes are scaled to the same length.
    """
    words = text.lower().split()
    flat = " ".join(words)
    if not flat:
        return np.zeros(WIDTH)
    units = _WORD.findall(flat)
    units += [f"{first} {second}" for first, second in itertools.pairwise(units)]
    places = [zlib.crc32(unit.encode("utf-8", "surrogatepass")) % WORDS for unit in units]
    data = np.frombuffer(f" {flat} ".encode("utf-8", "surrogatepass"), dtype=np.uint8).astype(np.uint32)
    codes = (data[:-2] << np.uint32(16)) | (data[1:-1] << np.uint32(8)) | data[2:]
    grams = (codes * _MULTIPLIER) >> np.uint32(32 - 11)
    halves = (np.bincount(places, minlength=WORDS) if places else np.zeros(WORDS), np.bincount(grams, minlength=GRAMS))
    return unit_vector(np.concatenate([unit_vector(np.log1p(half)) for half in halves]))


def unit_vector(vector: Floats) -> Floats:
    """Return a vector scaled to length 1; the zero vector stays."""
    length = float(np.sqrt(np.dot(vector, vector)))
    return np.asarray(vector / length if length > 0 else vector, dtype=np.float64)


NGRAM = "ngram"
LOCAL = "sentence-transformers/"
BATCH = 64
REMEMBERED = 1024
# Debates that share a beginning compare the same texts, and one process may run many of them.
MOST_KEPT, LONGEST_KEPT = 2048, 16_384


class Embedder:
    """Cosine similarities (a `terms.Similarity`).

    Parameters
    ----------
    client : Client or None
        Calls embedding models; their log is opened by the first call and closed with the client. None if only local
        embeddings are used.
    models : mapping of name to Model
        Model entries of the spec: a similarity may name one, which gives its address and key.
    """

    def __init__(self, client: Client | None = None, models: Mapping[str, Model] | None = None) -> None:
        self._client = client
        self._calls: EmbeddingCalls | None = None
        self._models = models or {}
        self._known: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        self._encoders: dict[str, Callable[[list[str]], Any]] = {}
        self._entailment = Entailment()
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Return the cosines of all pairs of texts (`nli/NAME`: how far they entail each other).

        Parameters
        ----------
        embedding : str
            `ngram`, `sentence-transformers/NAME`, `nli/NAME`, the name of a model entry, or an embedding model of
            litellm.
        texts : sequence of n str

        Returns
        -------
        (n, n) array
            In [-1, 1]. Equal texts have exactly 1. A text without content has 0 with all, itself included.

        Raises
        ------
        InputError
            If the embedding needs an extra that is not installed, or a model that cannot be loaded.
        ModelError, BudgetError
            As the client does.
        """
        if embedding.startswith(NLI):
            return await self._entailment(embedding.removeprefix(NLI), texts)
        if embedding == NGRAM and sum(map(len, texts)) <= LONGEST_KEPT:
            return _ngram_cosines(tuple(texts))
        distinct = list(dict.fromkeys(texts))
        vectors = await self._vectors(embedding, [text for text in distinct if text.strip()])
        return cosines([vectors.get(text) for text in texts], texts)

    async def embed(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Return the (n, d) unit vectors of n texts; that of a text without content is zero.

        Raises
        ------
        InputError, ModelError, BudgetError
            As similarities do.
        """
        vectors = await self._vectors(embedding, [text for text in dict.fromkeys(texts) if text.strip()])
        width = len(next(iter(vectors.values()), ()))
        return np.array([vectors.get(text, np.zeros(width)) for text in texts]).reshape(len(texts), width)

    async def _vectors(self, embedding: str, texts: Sequence[str]) -> dict[str, Floats]:
        found = {text: self._known[embedding, text] for text in texts if (embedding, text) in self._known}
        missing = [text for text in texts if text not in found]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            found |= zip(batch, await self._embed(embedding, batch), strict=True)
        remember(self._known, {(embedding, text): found[text] for text in texts}, REMEMBERED)
        return found

    async def _embed(self, embedding: str, texts: list[str]) -> list[Floats]:
        if embedding == NGRAM:
            return [ngram_vector(text) for text in texts]
        if embedding.startswith(LOCAL):
            async with self._one_at_a_time:  # a model in this process gains nothing from running twice at once
                encoded = await asyncio.to_thread(self._encoder(embedding), texts)
            return [unit_vector(np.asarray(vector, dtype=np.float64)) for vector in encoded]
        model = self._models.get(embedding) or redirected(Model(embedding, embedding), os.environ)
        return [unit_vector(vector) for vector in await self._opened(embedding).embed(model, texts)]

    def _opened(self, embedding: str) -> EmbeddingCalls:
        if self._calls is None:
            if self._client is None:
                raise ModelError(f"the similarity {embedding!r} is a model's, and there is no client to call it")
            self._calls = EmbeddingCalls(self._client)
        return self._calls

    def _encoder(self, embedding: str) -> Callable[[list[str]], Any]:
        if embedding not in self._encoders:
            self._encoders[embedding] = _load_encoder(embedding.removeprefix(LOCAL))
        return self._encoders[embedding]


def _load_encoder(name: str) -> Callable[[list[str]], Any]:
    model = load_sentence_model(f"{LOCAL}{name}", "SentenceTransformer", name, "sentence-transformers model")

    def encode(texts: list[str]) -> Any:
        return model.encode(texts, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)

    return encode


@lru_cache(maxsize=MOST_KEPT)
def _ngram_cosines(texts: tuple[str, ...]) -> Floats:
    found = cosines([_ngram_vector(text) if text.strip() else None for text in texts], texts)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=REMEMBERED)
def _ngram_vector(text: str) -> Floats:
    vector = ngram_vector(text)
    vector.setflags(write=False)
    return vector


def cosines(vectors: Sequence[Floats | None], texts: Sequence[str]) -> Floats:
    """Return the (n, n) cosines of unit vectors; None is a text without content, whose cosines are 0.

    Each row is worked out by one sum of products for each pair, and not as a matrix product: the same two texts give
    the same number to the last bit whatever else they are compared with, so that records can be recomputed.
    """
    place = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    distinct = dict(zip(texts, vectors, strict=True))
    known = {place[text]: vector for text, vector in distinct.items() if vector is not None}
    found = np.zeros((len(place), len(place)))
    if known:
        rows, matrix = np.array(list(known)), np.array(list(known.values()))
        for k, row in enumerate(rows):
            found[row, rows[k:]] = np.einsum("ij,j->i", matrix[k:], matrix[k])
            found[row, row] = 1.0
        found = np.clip(np.triu(found) + np.triu(found, 1).T, -1.0, 1.0)
    among = [place[text] for text in texts]
    return np.asarray(found[np.ix_(among, among)])
