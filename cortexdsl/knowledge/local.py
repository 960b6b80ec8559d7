"""Retrieval over a local corpus: by words (BM25) and by embeddings."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

import numpy as np

from cortexdsl.errors import InputError, KnowledgeError
from cortexdsl.knowledge.corpus import Corpus
from cortexdsl.knowledge.passages import Passage, best
from cortexdsl.terms import Floats

Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[Floats]]
"""Embeds n texts as an (n, d) array."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_INSTALL = "pip install -e '.[knowledge]'"


def words(text: str) -> list[str]:
    """Return the lower-case words of a text; Chinese and Japanese signs, written without spaces, are a word each."""
    return _WORD.findall(text.casefold())


def optional(module: str, needed_by: str, remedy: str) -> ModuleType:
    """Import an optional module, or raise InputError with the remedy."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"{needed_by} needs {module.split('.')[0]}, which is not installed\n    {remedy}") from None


class Bm25:
    """BM25 as Lucene computes it (k1 = 1.5, b = 0.75), over titles and texts, English function words left out.

    A passage that shares no word with the question is never retrieved. Scores come from the bm25s library
    (arXiv 2407.03618); ranking is ours, since its order of equal scores depends on what else is installed.

    Raises
    ------
    InputError
        If the library is not installed, or no passage has a word.
    """

    def __init__(self, name: str, corpus: Corpus) -> None:
        library = optional("bm25s", f"knowledge {name}: a corpus with `retriever: bm25`", _INSTALL)
        self.name = name
        self.identity = f"bm25 k1=1.5 b=0.75 {corpus.digest}"
        self._corpus = corpus
        self._stop = frozenset(library.stopwords.STOPWORDS_EN)
        said = [self._content(f"{passage.title} {passage.text}") for passage in corpus.passages]
        if not any(said):
            raise InputError(f"knowledge {name}: no passage of the corpus has a word\n    correct `corpus`")
        self._index = library.BM25(method="lucene", k1=1.5, b=0.75)
        self._index.index(said, show_progress=False)

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return the passages of the highest BM25 scores."""
        known = [word for word in self._content(question) if word in self._index.vocab_dict]
        if not known:
            return ()
        scores = self._index.get_scores(known).astype(np.float64)
        return _scored(self.name, self._corpus, scores, [at for at in best(scores, top) if scores[at] > 0])

    def _content(self, text: str) -> list[str]:
        return [word for word in words(text) if word not in self._stop]


@dataclass(frozen=True)
class Dense:
    """Cosine similarity of embeddings; open it with `open_dense`.

    Attributes
    ----------
    vectors : (n, d) array
        Unit vectors of the corpus, in its order (a zero vector is similar to nothing).
    """

    name: str
    corpus: Corpus
    embedding: str
    embed: Embed = field(repr=False)
    vectors: Floats = field(repr=False)

    @property
    def identity(self) -> str:
        """Retriever, embedding and corpus."""
        return f"dense {self.embedding} {self.corpus.digest}"

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return the passages nearest to the question."""
        query = await embedded(self.name, self.embed, [question])
        if query.shape[1] != self.vectors.shape[1]:
            raise KnowledgeError(
                f"knowledge {self.name}: the question's embedding has {query.shape[1]} numbers, "
                f"the corpus's {self.vectors.shape[1]}\n    embed both with the same model"
            )
        scores = self.vectors @ _unit(query)[0]
        return _scored(self.name, self.corpus, scores, best(scores, top))


async def open_dense(name: str, corpus: Corpus, embedding: str, embed: Embed) -> Dense:
    """Embed a corpus (titles and texts) under the embedding of a name."""
    texts = [f"{passage.title}\n{passage.text}".strip() for passage in corpus.passages]
    return Dense(name, corpus, embedding, embed, _unit(await embedded(name, embed, texts)))


async def embedded(name: str, embed: Embed, texts: Sequence[str]) -> Floats:
    """Embed texts and check that what came back is a finite (n, d) array."""
    vectors = np.asarray(await embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise KnowledgeError(
            f"knowledge {name}: {len(texts)} texts were embedded as an array of shape {vectors.shape}, "
            "or with numbers that are not finite\n    use another `embedding`"
        )
    return vectors


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


def _scored(name: str, corpus: Corpus, scores: Floats, chosen: Sequence[int]) -> tuple[Passage, ...]:
    return tuple(replace(corpus.passages[at], source=name, score=float(scores[at])) for at in chosen)
