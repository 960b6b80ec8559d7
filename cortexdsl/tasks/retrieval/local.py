"""Retrieval on this machine: BM25 and embeddings over a corpus, and indexes of embeddings that pyserini builds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import numpy as np

from cortexdsl.core import Floats
from cortexdsl.errors import DataError, InputError, KnowledgeError
from cortexdsl.tasks.retrieval.corpus import Corpus, Passage, best, read_corpus

Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[Floats]]
"""Embeds n texts as an (n, d) array."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_INSTALL = "pip install 'cortexdsl[knowledge]'"


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
        library = optional("bm25s", f"knowledge {name}: a corpus without `embedding`", _INSTALL)
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
        query = await _embed_query(self.name, self.embed, question, self.vectors.shape[1])
        scores = self.vectors @ _unit(query)[0]
        return _scored(self.name, self.corpus, scores, best(scores, top))


async def open_dense(name: str, corpus: Corpus, embedding: str, embed: Embed) -> Dense:
    """Embed a corpus (titles and texts) under the embedding of a name."""
    texts = [f"{passage.title}\n{passage.text}".strip() for passage in corpus.passages]
    return Dense(name, corpus, embedding, embed, _unit(await embed_checked(name, embed, texts)))


async def embed_checked(name: str, embed: Embed, texts: Sequence[str]) -> Floats:
    """Embed texts and check that what came back is a finite (n, d) array."""
    vectors = np.asarray(await embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise KnowledgeError(
            f"knowledge {name}: {len(texts)} texts were embedded as an array of shape {vectors.shape}, "
            "or with numbers that are not finite\n    use another `embedding`"
        )
    return vectors


async def _embed_query(name: str, embed: Embed, question: str, size: int) -> Floats:
    """Embed a question as the passages were, in so many numbers."""
    query = await embed_checked(name, embed, [question])
    if query.shape[1] != size:
        what = f"the question's embedding has {query.shape[1]} numbers, those of the passages {size}"
        raise KnowledgeError(f"knowledge {name}: {what}\n    name the embedding that the passages have")
    return query


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


def _scored(name: str, corpus: Corpus, scores: Floats, chosen: Sequence[int]) -> tuple[Passage, ...]:
    return tuple(replace(corpus.passages[at], source=name, score=float(scores[at])) for at in chosen)


_FAISS = "pip install faiss-cpu, or name a JSON Lines file with `corpus:` instead of `index:`"


class Faiss:
    """Nearest neighbours in a Faiss index in pyserini's layout: files `index` and `docid` in one folder.

    The index holds no text: it comes from a corpus, whose ids are those of `docid`.
    Questions are embedded by `embed`, which must be what the index was built with. Scores are inner products,
    or negative squared distances if the index was built for L2.

    Raises
    ------
    DataError, InputError
        If no index or no texts are there; if faiss is not installed.
    """

    def __init__(self, name: str, folder: Path, texts: Path, embedding: str, embed: Embed) -> None:
        file, docids = folder / "index", folder / "docid"
        if not (file.is_file() and docids.is_file()):
            raise DataError(
                f"{folder}: no Faiss index of pyserini is there (a folder with the files `index` and `docid`)\n"
                "    correct `index`, or name a JSON Lines file with `corpus:` in its place"
            )
        faiss = optional("faiss", f"knowledge {name}: a Faiss index", _FAISS)
        said = docids.read_bytes()
        self.name = name
        self.identity = f"faiss {embedding} {hashlib.sha256(said).hexdigest()}"
        self._ids = [line.rstrip() for line in said.decode().splitlines()]
        self._index = faiss.read_index(str(file))
        if self._index.ntotal != len(self._ids):
            counts = f"{self._index.ntotal} vectors but {len(self._ids)} ids"
            raise DataError(f"{folder}: {counts}\n    build the index again")
        self._sign = -1 if self._index.metric_type == faiss.METRIC_L2 else 1
        self._passage = _lookup(name, texts)
        self._embed = embed

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return the passages nearest to the question."""
        query = await _embed_query(self.name, self._embed, question, self._index.d)
        distances, places = self._index.search(query.astype(np.float32), top)
        hits = [(self._sign * float(d), int(at)) for d, at in zip(distances[0], places[0], strict=True) if at >= 0]
        ranked = sorted(hits, key=lambda hit: (-hit[0], hit[1]))
        return tuple(replace(self._passage(self._ids[at]), source=self.name, score=score) for score, at in ranked)


def _lookup(name: str, texts: Path) -> Callable[[str], Passage]:
    known = {passage.id: passage for passage in read_corpus(texts).passages}

    def passage(docid: str) -> Passage:
        if docid not in known:
            raise KnowledgeError(f"knowledge {name}: {texts} has no passage {docid} of the index\n    name its corpus")
        return known[docid]

    return passage
