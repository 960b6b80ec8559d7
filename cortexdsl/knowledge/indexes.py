"""Retrieval from indexes that pyserini built: Lucene's (BM25) and Faiss's (dense)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from cortexdsl.errors import DataError, KnowledgeError
from cortexdsl.knowledge.corpus import read_corpus, read_passage
from cortexdsl.knowledge.local import Embed, embedded, optional
from cortexdsl.knowledge.passages import Passage

_PYSERINI = "pip install pyserini (it needs Java 21), or name a JSON Lines file with `corpus:` in place of `index:`"
_FAISS = "pip install faiss-cpu, or name a JSON Lines file with `corpus:` in place of `index:`"


def is_lucene(folder: Path) -> bool:
    """Whether a folder holds a Lucene index."""
    return any(folder.glob("segments_*"))


class Lucene:
    """BM25 by pyserini over its Lucene index (k1 = 0.9, b = 0.4, pyserini's own); the index must store `raw`.

    Raises
    ------
    DataError, InputError
        If no index is there; if pyserini is not installed.
    """

    def __init__(self, name: str, folder: Path) -> None:
        if not is_lucene(folder):
            raise DataError(
                f"{folder}: no Lucene index is there (a folder with a file segments_...)\n"
                "    correct `index`, or name a JSON Lines file with `corpus:` in its place"
            )
        library = optional("pyserini.search.lucene", f"knowledge {name}: a Lucene index", _PYSERINI)
        self.name = name
        self._folder = folder
        self._searcher = library.LuceneSearcher(str(folder))
        # An index is too large to be read for a digest.
        self.identity = f"lucene {folder.name} {self._searcher.num_docs}"

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return the passages of the highest BM25 scores."""
        hits = sorted(self._searcher.search(question, top), key=lambda hit: (-hit.score, hit.docid))
        return tuple(replace(self.passage(hit.docid), source=self.name, score=float(hit.score)) for hit in hits)

    def passage(self, docid: str) -> Passage:
        """Return a stored passage."""
        stored = self._searcher.doc(docid)
        raw = stored and stored.raw()
        if not raw:
            raise KnowledgeError(
                f"knowledge {self.name}: {self._folder} stores no text of passage {docid}\n"
                "    build the index with --storeRaw from a collection that holds it"
            )
        return read_passage(raw, f"{self._folder}: passage {docid}")


class Faiss:
    """Nearest neighbours in a Faiss index in pyserini's layout: files `index` and `docid` in one folder.

    The index holds no text: it comes from a corpus, or from a Lucene index, whose ids are those of `docid`.
    Questions are embedded by `embed`, which must be what the index was built with. Scores are inner products,
    or negative squared distances where the index was built for L2.

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
        self._passage = Lucene(name, texts).passage if is_lucene(texts) else _lookup(name, texts)
        self._embedding, self._embed = embedding, embed

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return the passages nearest to the question."""
        query = await embedded(self.name, self._embed, [question])
        if query.shape[1] != self._index.d:
            raise KnowledgeError(
                f"knowledge {self.name}: the index holds vectors of {self._index.d} numbers, `embedding: "
                f"{self._embedding}` gives {query.shape[1]}\n    name the embedding that the index was built with"
            )
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
