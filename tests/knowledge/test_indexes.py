from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cortexdsl.errors import DataError, InputError, KnowledgeError
from cortexdsl.knowledge.indexes import Faiss, Lucene
from cortexdsl.knowledge.passages import Passage
from cortexdsl.terms import Floats

STORED = {
    "1": {"id": "1", "contents": '"Rome"\nA city.'},
    "2": {"id": "2", "title": "Oslo", "text": "In Norway."},
    "3": {"id": "3", "contents": "no title"},
}


@pytest.fixture
def pyserini(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for pyserini with what is used of it: search(q, k) -> hits(docid, score), doc(docid).raw()."""

    class LuceneSearcher:
        num_docs = 3

        def __init__(self, folder: str) -> None:
            assert isinstance(folder, str)

        def search(self, question: str, k: int) -> list[Any]:
            hits = [("2", 1.5), ("1", 1.5), ("3", 2.5), ("9", 0.5)]
            return [SimpleNamespace(docid=docid, score=score) for docid, score in hits[:k]]

        def doc(self, docid: str) -> Any:
            return SimpleNamespace(raw=lambda: json.dumps(STORED[docid], indent=1)) if docid in STORED else None

    lucene = ModuleType("pyserini.search.lucene")
    lucene.LuceneSearcher = LuceneSearcher  # type: ignore[attr-defined]
    for name in ("pyserini", "pyserini.search"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "pyserini.search.lucene", lucene)


@pytest.fixture
def lucene_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "lucene"
    folder.mkdir()
    (folder / "segments_1").touch()
    return folder


@pytest.mark.usefixtures("pyserini")
def test_hits_become_passages_by_score_then_id(lucene_folder: Path) -> None:
    """The stand-in's hits 2 and 1 tie at 1.5: the lower id comes first. Titles are read from either format."""
    found = asyncio.run(Lucene("wiki", lucene_folder).retrieve("q", 3))
    assert found == (
        Passage("3", "", "no title", "wiki", 2.5),
        Passage("1", "Rome", "A city.", "wiki", 1.5),
        Passage("2", "Oslo", "In Norway.", "wiki", 1.5),
    )


@pytest.mark.usefixtures("pyserini")
def test_an_index_without_texts_is_an_error(lucene_folder: Path) -> None:
    """The stand-in stores nothing under 9."""
    with pytest.raises(KnowledgeError, match=r"(?s)stores no text of passage 9.*--storeRaw"):
        asyncio.run(Lucene("wiki", lucene_folder).retrieve("q", 4))


def test_without_pyserini_the_remedy_is_named(lucene_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None in sys.modules makes an import fail, as Python documents."""
    monkeypatch.setitem(sys.modules, "pyserini", None)
    with pytest.raises(
        InputError, match=r"(?s)needs pyserini, which is not installed.*pip install pyserini.*`corpus:`"
    ):
        Lucene("wiki", lucene_folder)


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    """An empty folder holds neither kind of index."""
    with pytest.raises(DataError, match="no Lucene index"):
        Lucene("wiki", tmp_path)
    with pytest.raises(DataError, match="no Faiss index"):
        Faiss("wiki", tmp_path, tmp_path, "letters", letters)


async def letters(texts: Sequence[str]) -> Floats:
    return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float64)


def faiss_folder(folder: Path, kind: str, ids: Sequence[str] = ("1", "2", "3")) -> Path:
    """Write what `python -m pyserini.encode` and its Faiss writer leave: `index` and `docid`."""
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed (it is no dependency)")
    vectors = np.array([[0, 1], [1, 1], [2, 0]], dtype=np.float32)
    index = getattr(faiss, kind)(2)
    index.add(vectors)
    folder.mkdir()
    faiss.write_index(index, str(folder / "index"))
    (folder / "docid").write_text("".join(f"{id}\n" for id in ids))
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in STORED.values()))
    return folder


def test_nearest_by_inner_product(tmp_path: Path) -> None:
    """`aab` is (2, 1): inner products 1, 3, 4 with (0, 1), (1, 1), (2, 0)."""
    folder = faiss_folder(tmp_path / "dense", "IndexFlatIP")
    found = asyncio.run(Faiss("wiki", folder, folder, "letters", letters).retrieve("aab", 2))
    assert found == (Passage("3", "", "no title", "wiki", 4.0), Passage("2", "Oslo", "In Norway.", "wiki", 3.0))


def test_nearest_by_distance(tmp_path: Path) -> None:
    """`aab` is (2, 1): squared distances 4, 1, 1; the tie keeps the index's order; 3 of 5 asked for exist."""
    folder = faiss_folder(tmp_path / "dense", "IndexFlatL2")
    found = asyncio.run(Faiss("wiki", folder, folder, "letters", letters).retrieve("aab", 5))
    assert [(passage.id, passage.score) for passage in found] == [("2", -1.0), ("3", -1.0), ("1", -4.0)]


@pytest.mark.usefixtures("pyserini")
def test_texts_may_come_from_a_lucene_index(tmp_path: Path, lucene_folder: Path) -> None:
    """(2, 0) is nearest to `aa`, and is passage 3."""
    folder = faiss_folder(tmp_path / "dense", "IndexFlatIP")
    [found] = asyncio.run(Faiss("wiki", folder, lucene_folder, "letters", letters).retrieve("aa", 1))
    assert found.text == "no title"


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    """Three vectors and two ids; an id without a text; a question in three dimensions for an index of two."""
    folder = faiss_folder(tmp_path / "short", "IndexFlatIP", ids=("1", "2"))
    with pytest.raises(DataError, match="3 vectors but 2 ids"):
        Faiss("wiki", folder, folder, "letters", letters)
    folder = faiss_folder(tmp_path / "foreign", "IndexFlatIP", ids=("1", "2", "x"))
    with pytest.raises(KnowledgeError, match="has no passage x"):
        asyncio.run(Faiss("wiki", folder, folder, "letters", letters).retrieve("a", 1))

    async def wide(texts: Sequence[str]) -> Floats:
        return np.ones((len(texts), 3))

    with pytest.raises(KnowledgeError, match="vectors of 2 numbers, `embedding: wide` gives 3"):
        asyncio.run(Faiss("wiki", folder, folder, "wide", wide).retrieve("a", 1))
