from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cortexdsl.errors import InputError
from cortexdsl.knowledge.entries import Entry, open_sources, read_entry
from cortexdsl.knowledge.passages import Passage
from cortexdsl.knowledge.search import SERPER
from cortexdsl.terms import Floats
from tests.knowledge.service import KEY, Service

BASE = Path("specs")


def test_entries_as_a_spec_writes_them() -> None:
    """MADKE takes five passages where nothing else is said; relative paths begin where the spec's do."""
    assert read_entry("wiki", {"retriever": "dense", "index": "data/wikipedia"}, BASE) == Entry(
        "wiki", "dense", 5, index=Path("specs/data/wikipedia")
    )
    assert read_entry("web", {"retriever": "search", "api_key_env": "MY_KEY", "top": 3}, BASE) == Entry(
        "web", "search", 3, api_base=SERPER, api_key_env="MY_KEY"
    )
    assert read_entry("own", {"retriever": "bm25", "corpus": "/data/p.jsonl", "index": None}, BASE).corpus == Path(
        "/data/p.jsonl"
    )


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["bm25"], "is no entry"),
        ({}, "retriever 'None' is unknown"),
        ({"retriever": "bm52"}, "did you mean bm25"),
        ({"retriever": "bm25", "corpsu": "x"}, "(?s)'corpsu' is unknown with `retriever: bm25`.*did you mean corpus"),
        ({"retriever": "search", "corpus": "x"}, "'corpus' is unknown"),
        ({"retriever": "bm25", "corpus": "x", "top": 0}, "top is 0"),
        ({"retriever": "bm25", "corpus": "x", "top": True}, "top is True"),
        ({"retriever": "bm25", "corpus": 3}, "corpus is 3"),
        ({"retriever": "dense", "embedding": "ngram"}, "neither corpus nor index"),
        ({"retriever": "bm25", "corpus": "x", "index": "y"}, "a corpus and an index"),
    ],
)
def test_a_wrong_entry_is_named(values: Any, what: str) -> None:
    """Each entry breaks one rule of the page on knowledge."""
    with pytest.raises(InputError, match=what) as said:
        read_entry("wiki", values, BASE)
    assert str(said.value).startswith("knowledge.wiki: ")


async def letters(embedding: str, texts: Sequence[str]) -> Floats:
    assert embedding == "letters"
    return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float64)


def retrieve(entries: Sequence[Entry], question: str, environment: Mapping[str, str] = {}) -> list[tuple[Passage, ...]]:
    async def run() -> list[tuple[Passage, ...]]:
        async with open_sources(entries, letters, environment=environment) as sources:
            return [await source.retrieve(question, top) for source, top in sources]

    return asyncio.run(run())


def test_local_sources_open_and_retrieve(tmp_path: Path) -> None:
    """`bb aa` shares the word `aa` with passage 1 alone, and points (1, 1) like passage 2."""
    (tmp_path / "p.jsonl").write_text('{"id": 1, "contents": "aa"}\n{"id": 2, "contents": "aabb"}\n')
    entries = [
        read_entry("words", {"retriever": "bm25", "corpus": "p.jsonl"}, tmp_path),
        read_entry("vectors", {"retriever": "dense", "corpus": "p.jsonl", "embedding": "letters", "top": 1}, tmp_path),
    ]
    [words], [vectors] = retrieve(entries, "bb aa")
    assert (words.id, words.source) == ("1", "words")
    assert (vectors.id, vectors.source) == ("2", "vectors")


def test_indexes_are_opened_where_they_are_named(tmp_path: Path) -> None:
    """The folder is empty, so that each retriever misses its own kind of index."""
    for retriever, what in {"bm25": "no Lucene index", "dense": "no Faiss index"}.items():
        with pytest.raises(InputError, match=what):
            retrieve([read_entry("wiki", {"retriever": retriever, "index": "."}, tmp_path)], "q")


def test_keys_and_addresses_come_from_the_environment(with_search: Any) -> None:
    """The service sees the key that the named variable holds, at the address that the named variable holds."""
    service = Service([(200, '{"organic": [{"title": "T", "link": "L", "snippet": "S"}]}', {})])
    entry = read_entry("web", {"retriever": "search", "api_key_env": "MY_KEY", "api_base": "env:MY_SEARCH"}, BASE)

    async def use(_: Any, address: str) -> tuple[Passage, ...]:
        environment = {"MY_KEY": f"{KEY}\n", "MY_SEARCH": address}
        async with open_sources([entry], letters, environment=environment) as [(source, top)]:
            assert source.identity == "search env:MY_SEARCH"
            return await source.retrieve("q", top)

    assert with_search(service, use) == (Passage("L", "T", "S", "web"),)
    assert service.keys == [KEY]


def test_a_missing_variable_is_named() -> None:
    """Neither is set: the key is looked for first."""
    entry = read_entry("web", {"retriever": "search", "api_base": "env:MY_SEARCH"}, BASE)
    with pytest.raises(InputError, match="its key is in the environment variable SERPER_API_KEY, which is not set"):
        retrieve([entry], "q")
    with pytest.raises(InputError, match="its address is in the environment variable MY_SEARCH, which is not set"):
        retrieve([entry], "q", {"SERPER_API_KEY": KEY})
