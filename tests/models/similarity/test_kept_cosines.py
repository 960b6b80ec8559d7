"""Cosines that are kept for debates which compare the same texts."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from cortexdsl.models.similarity import embeddings
from cortexdsl.models.similarity.embeddings import Embedder, cosines
from cortexdsl.models.similarity.ngram import ngram_vector

TEXTS = ["the sum is 12", "the sum is 13", "", "the sum is 12", "no idea"]


def test_what_is_kept_is_what_is_computed_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records must not depend on who came first: new, kept and too long to be kept are the same numbers."""
    expected = cosines([ngram_vector(text) if text else None for text in TEXTS], TEXTS)
    for _ in range(2):
        assert np.array_equal(asyncio.run(Embedder()("ngram", TEXTS)), expected)
    monkeypatch.setattr(embeddings, "LONGEST_KEPT", 0)
    assert np.array_equal(asyncio.run(Embedder()("ngram", TEXTS)), expected)


def test_what_is_kept_cannot_be_changed_by_whoever_gets_it() -> None:
    """The next debate gets the same array."""
    with pytest.raises(ValueError, match="read-only"):
        asyncio.run(Embedder()("ngram", TEXTS))[0, 0] = 0.0
