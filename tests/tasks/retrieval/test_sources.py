"""Knowledge entries of a spec and web searches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

from cortexdsl.core import Floats, KnowledgeSource
from cortexdsl.errors import InputError, KnowledgeError
from cortexdsl.tasks.retrieval.corpus import Passage
from cortexdsl.tasks.retrieval.sources import Search, open_sources
from tests.tasks.retrieval.service import KEY, Service

BASE = Path("specs")


async def letters(embedding: str, texts: Sequence[str]) -> Floats:
    assert embedding == "letters"
    return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float64)


def retrieve(
    knowledge: Mapping[str, KnowledgeSource], base: Path, question: str, environment: Mapping[str, str] = {}
) -> list[tuple[Passage, ...]]:
    async def run() -> list[tuple[Passage, ...]]:
        async with open_sources(knowledge, base, letters, environment=environment) as sources:
            return [await source.retrieve(question, top) for source, top in sources]

    return asyncio.run(run())


def test_local_sources_open_and_retrieve(tmp_path: Path) -> None:
    """`bb aa` shares the word `aa` with passage 1 alone, and points (1, 1) like passage 2."""
    (tmp_path / "p.jsonl").write_text('{"id": 1, "contents": "aa"}\n{"id": 2, "contents": "aabb"}\n')
    knowledge = {
        "words": KnowledgeSource(corpus="p.jsonl"),
        "vectors": KnowledgeSource(corpus=str(tmp_path / "p.jsonl"), embedding="letters", top=1),
    }
    [words], [vectors] = retrieve(knowledge, tmp_path, "bb aa")
    assert (words.id, words.source) == ("1", "words")
    assert (vectors.id, vectors.source) == ("2", "vectors")


def test_an_index_is_opened_where_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Faiss index"):
        retrieve({"wiki": KnowledgeSource(embedding="ngram", index=".")}, tmp_path, "q")


def test_keys_and_addresses_come_from_the_environment(with_search: Any) -> None:
    """The service sees the key that the named variable holds, at the address that the named variable holds."""
    service = Service([(200, '{"organic": [{"title": "T", "link": "L", "snippet": "S"}]}', {})])
    knowledge = {"web": KnowledgeSource(api_key_env="MY_KEY", api_base="env:MY_SEARCH")}

    async def use(_: Any, address: str) -> tuple[Passage, ...]:
        environment = {"MY_KEY": f"{KEY}\n", "MY_SEARCH": address}
        async with open_sources(knowledge, BASE, letters, environment=environment) as [(source, top)]:
            assert source.identity == "search env:MY_SEARCH"
            return await source.retrieve("q", top)

    assert with_search(service, use) == (Passage("L", "T", "S", "web"),)
    assert service.keys == [KEY]


def test_a_missing_variable_is_named() -> None:
    """Neither is set: the key is looked for first."""
    knowledge = {"web": KnowledgeSource(api_base="env:MY_SEARCH")}
    with pytest.raises(InputError, match="its key is in the environment variable SERPER_API_KEY, which is not set"):
        retrieve(knowledge, BASE, "q")
    with pytest.raises(InputError, match="its address is in the environment variable MY_SEARCH, which is not set"):
        retrieve(knowledge, BASE, "q", {"SERPER_API_KEY": KEY})


RESULTS = json.dumps(
    {
        "answerBox": {"answer": "never read"},
        "organic": [
            {"title": "One", "link": "https://one.example", "snippet": "first"},
            {"title": "No description", "link": "https://no.example"},
            {"link": "https://two.example", "snippet": "second"},
            {"title": "Three", "link": "https://three.example", "snippet": "third", "position": 4},
        ],
    }
)


def answers(*statuses: int, **headers: str) -> list[tuple[int, str | None, dict[str, str]]]:
    return [(status, RESULTS if status == 200 else "busy", headers) for status in statuses]


def ask(with_search: Any, service: Service, top: int = 2) -> tuple[Passage, ...]:
    found: tuple[Passage, ...] = with_search(service, lambda search, _: search.retrieve("who?", top))
    return found


def test_titles_and_descriptions_of_organic_results_are_read(with_search: Any) -> None:
    """Of the four results one has no description and is passed over; the answer box is no result. A page of ten
    is asked for with the key in its header (Serper's protocol), since MADKE asks for ten and uses five."""
    service = Service(answers(200))
    assert ask(with_search, service) == (
        Passage("https://one.example", "One", "first", "web"),
        Passage("https://two.example", "", "second", "web"),
    )
    assert service.asked == [{"q": "who?", "num": 10}]
    assert service.keys == [KEY]


def test_more_than_a_page_is_asked_for_where_more_is_wanted(with_search: Any) -> None:
    """12 wanted, 12 asked for, the 3 that there are given."""
    service = Service(answers(200))
    assert len(ask(with_search, service, top=12)) == 3
    assert service.asked[0]["num"] == 12


def test_what_may_pass_is_tried_again_after_doubling_waits(with_search: Any) -> None:
    """Waits double from one second; four failures leave one of five attempts."""
    service = Service(answers(429, 503, 500, 429, 200))
    assert len(ask(with_search, service)) == 2
    assert service.waits == [1, 2, 4, 8]


def test_the_service_says_how_long_to_wait(with_search: Any) -> None:
    """Retry-After of 7 seconds is longer than 1 and than 2; an hour is cut at a minute."""
    service = Service([*answers(429, 429, **{"Retry-After": "7"}), *answers(429, **{"Retry-After": "3600"})])
    service.answers += answers(200)
    ask(with_search, service)
    assert service.waits == [7, 7, 60]


def test_a_broken_connection_is_tried_again(with_search: Any) -> None:
    """The service breaks off once, then answers."""
    service = Service([(200, None, {}), *answers(200)])
    assert len(ask(with_search, service)) == 2
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    ("status", "remedy", "times"),
    [
        (400, "credit", 1),
        (401, "correct the value of SERPER_API_KEY", 1),
        (403, "correct the value of SERPER_API_KEY", 1),
        (404, "api_base", 1),
        (307, "api_base", 1),
        (429, "run again later", 5),
        (502, "see that the service runs", 5),
    ],
)
def test_an_error_says_what_and_what_to_do_and_never_the_key(
    with_search: Any, status: int, remedy: str, times: int
) -> None:
    """The service echoes the key; 4xx but 429 is certain and asked once, a redirect is not followed, the rest is
    asked five times."""
    service = Service([(status, f"no good: {KEY} {'x' * 500}", {"Location": "/search"})])
    with pytest.raises(KnowledgeError, match=rf"knowledge web \(env:SEARCH\): HTTP {status}.*no good: \[key\]") as said:
        ask(with_search, service)
    assert remedy in str(said.value)
    assert KEY not in str(said.value)
    assert len(service.asked) == times


def test_nobody_there_is_said_without_the_key() -> None:
    """Port 9 of loopback (discard) has no server here."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            search = Search("web", session, KEY, "SERPER_API_KEY", "http://127.0.0.1:9/search", sleep=sleep)
            assert KEY not in repr(search)
            await search.retrieve("who?", 1)

    with pytest.raises(KnowledgeError, match=r"no connection \(5 times\)") as said:
        asyncio.run(run())
    assert KEY not in str(said.value)
    assert waits == [1, 2, 4, 8]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "[]",
        "{}",
        '{"organic": 3}',
        '{"organic": ["x"]}',
        '{"organic": [{"snippet": 5}]}',
        '{"message": "k"}',
    ],
)
def test_garbage_is_an_error_and_no_empty_pool(with_search: Any, body: str) -> None:
    """None of these has a list of results, so that nothing is known about the question."""
    with pytest.raises(KnowledgeError, match="no search results"):
        ask(with_search, Service([(200, body, {})]))


def test_no_results_are_an_empty_pool(with_search: Any) -> None:
    """An empty list of results is an answer."""
    assert ask(with_search, Service([(200, '{"organic": []}', {})])) == ()


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel"])
def test_what_cannot_be_a_key_is_refused_without_showing_it(key: str) -> None:
    """A header takes printable ASCII alone; a key with a line end would come from a file read as it stands."""

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            Search("web", session, key, "SERPER_API_KEY")

    with pytest.raises(InputError, match="SERPER_API_KEY holds no usable key") as said:
        asyncio.run(run())
    assert not key or key not in str(said.value)


def test_what_is_no_address_is_refused() -> None:
    """An address without http:// can be posted to by nobody."""

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            Search("web", session, KEY, "SERPER_API_KEY", "google.serper.dev", "google.serper.dev")

    with pytest.raises(InputError, match=r"google\.serper\.dev is not an address"):
        asyncio.run(run())
