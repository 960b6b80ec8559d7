"""Similarity of texts: cosines under an embedding, each text embedded once.

`ngram` needs no model; `sentence-transformers/NAME` (or a local folder after the slash) runs in this process;
`nli/NAME` is a cross-encoder of natural language inference (`entailment`); every other name is an embedding model of
litellm, asked through the door and logged, so that a replay asks none.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from cortexdsl.errors import ModelError
from cortexdsl.models.door import Door
from cortexdsl.models.similarity.embedding_calls import EmbeddingCalls
from cortexdsl.models.similarity.entailment import NLI, Entailment
from cortexdsl.models.similarity.ngram import ngram_vector, unit_vector
from cortexdsl.models.similarity.sentence import load_sentence_model
from cortexdsl.terms import Floats, Model

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
    door : Door or None
        The way to embedding models, whose log is opened by the first such call and closed with the door; None
        where only local embeddings are used.
    models : mapping of name to Model
        Model entries of the spec: a similarity may name one, which gives its address and key.
    """

    def __init__(self, door: Door | None = None, models: Mapping[str, Model] | None = None) -> None:
        self._door = door
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
            As the door does.
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
        for text in texts:
            self._known[embedding, text] = found[text]
            self._known.move_to_end((embedding, text))
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def _embed(self, embedding: str, texts: list[str]) -> list[Floats]:
        if embedding == NGRAM:
            return [ngram_vector(text) for text in texts]
        if embedding.startswith(LOCAL):
            async with self._one_at_a_time:  # a model in this process gains nothing from running twice at once
                encoded = await asyncio.to_thread(self._encoder(embedding), texts)
            return [unit_vector(np.asarray(vector, dtype=np.float64)) for vector in encoded]
        model = self._models.get(embedding) or Model(embedding, embedding)
        return [unit_vector(vector) for vector in await self._opened(embedding).embed(model, texts)]

    def _opened(self, embedding: str) -> EmbeddingCalls:
        if self._calls is None:
            if self._door is None:
                raise ModelError(f"the similarity {embedding!r} is a model's, and there is no door to one")
            self._calls = EmbeddingCalls(self._door)
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
