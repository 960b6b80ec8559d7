from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Question
from cortexdsl.errors import KnowledgeError, RecordError
from cortexdsl.tasks.retrieval.corpus import Passage
from cortexdsl.tasks.retrieval.pools import build_pool, merge, read_pools
from tests.tasks.retrieval.service import Service


@dataclass
class Echo:
    """Finds the question itself, `top` times; fails on questions that it was told to."""

    name: str
    identity: str = "echo"
    bad: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        self.asked.append(question)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if question in self.bad:
            raise KnowledgeError(f"no {question}")
        return tuple(Passage(f"{question}{n}", "T\u2028", f"{question} {n}", self.name, float(-n)) for n in range(top))


QUESTIONS = [Question("q1", "who\n is  it?"), Question("q2", "where?"), Question("q3", "where?")]


def build(sources: Sequence[tuple[Echo, int]], **more: Any) -> tuple[str, ...]:
    return asyncio.run(build_pool(QUESTIONS, sources, **more))


def test_lines_come_by_question_then_source() -> None:
    """Three questions, two sources, six lines; the query is the question's text with single spaces."""
    lines = [json.loads(line) for line in build([(Echo("wiki"), 1), (Echo("web", "other"), 2)])]
    assert [(line["question_id"], line["source"]) for line in lines] == [
        (question, source) for question in ("q1", "q2", "q3") for source in ("wiki", "web")
    ]
    assert lines[1] == {
        "schema_version": 1,
        "question_id": "q1",
        "source": "web",
        "query": "who is it?",
        "passages": [
            {"id": "who is it?0", "title": "T\u2028", "text": "who is it? 0", "source": "web", "score": 0.0},
            {"id": "who is it?1", "title": "T\u2028", "text": "who is it? 1", "source": "web", "score": -1.0},
        ],
    }


def test_the_same_search_is_made_once() -> None:
    """q2 and q3 ask the same, and so do two entries of one identity that want as much."""
    one, two = Echo("wiki"), Echo("again")
    lines = [json.loads(line) for line in build([(one, 2), (two, 2)])]
    assert sorted(one.asked + two.asked) == ["where?", "who is it?"]
    assert {passage["source"] for passage in lines[1]["passages"]} == {"again"}
    more = Echo("wiki")
    build([(one, 2), (more, 3)])
    assert sorted(more.asked) == ["where?", "who is it?"]


def test_after_a_failure_nothing_is_asked_again() -> None:
    """One of two searches fails: the other was kept, and the second run asks only for what failed; its lines are
    those of a run that never failed."""
    kept: list[Mapping[str, Any]] = []
    with pytest.raises(KnowledgeError, match="no where"):
        build([(Echo("web", bad=frozenset({"where?"})), 2)], keep=kept.append)
    assert [record["query"] for record in kept] == ["who is it?"]
    second = Echo("web")
    lines = build([(second, 2)], kept=json.loads(json.dumps(kept)), keep=kept.append)
    assert second.asked == ["where?"]
    assert lines == build([(Echo("web"), 2)])
    third = Echo("web")
    assert build([(third, 2)], kept=kept) == lines
    assert third.asked == []


def test_what_was_kept_belongs_to_the_source_and_the_number() -> None:
    """Another corpus (identity) or another `top` is another search."""
    kept: list[Mapping[str, Any]] = []
    build([(Echo("web"), 2)], keep=kept.append)
    for source, top in ((Echo("web", "other"), 2), (Echo("web"), 3)):
        build([(source, top)], kept=kept)
        assert len(source.asked) == 2


def test_no_more_queries_at_once_than_allowed() -> None:
    """Twenty different questions and three places."""
    source = Echo("web")
    questions = [Question(str(n), f"q {n}") for n in range(20)]
    asyncio.run(build_pool(questions, [(source, 1)], gate=asyncio.Semaphore(3)))
    assert source.most_at_once == 3


def written(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_pools_are_read_and_numbered(tmp_path: Path) -> None:
    """The ablations of MADKE: wiki, web, both in this order, none; a line separator inside a title ends no line."""
    wiki = written(tmp_path / "wiki.jsonl", build([(Echo("wiki"), 2)]))
    web = written(tmp_path / "web.jsonl", build([(Echo("web"), 3)]))
    alone = read_pools([wiki])
    assert list(alone) == ["q1", "q2", "q3"]
    assert [(p.text, p.source, p.score) for p in alone["q2"]] == [("where? 0", "wiki", 0.0), ("where? 1", "wiki", -1.0)]
    assert alone["q2"][0].title == "T\u2028"
    both = read_pools([wiki, web])["q2"]
    assert [(p.text, p.source) for p in both] == [("where? 0", "wiki"), ("where? 1", "wiki"), ("where? 2", "web")]
    assert {p.source for p in read_pools([web, wiki])["q2"]} == {"web"}
    assert read_pools([]) == {}
    joint = written(tmp_path / "joint.jsonl", build([(Echo("wiki"), 2), (Echo("web"), 3)]))
    assert read_pools([joint]) == read_pools([wiki, web])


def test_identical_passages_are_kept_once() -> None:
    """The second differs from the first in white space and title alone; the third in a letter's case."""
    one, two, three = Passage("1", "A", "some text"), Passage("2", "B", "some\n text "), Passage("3", "", "Some text")
    assert merge([[one, three], [two, one]]) == (one, three)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=3))
def test_merging_keeps_every_text_once_in_order(pools: list[list[str]]) -> None:
    """`dict.fromkeys` keeps first occurrences in order."""
    merged = merge([[Passage("", "", text) for text in pool] for pool in pools])
    assert [p.text for p in merged] == list(dict.fromkeys(text for pool in pools for text in pool))


def test_broken_pools_are_refused(tmp_path: Path) -> None:
    """Missing, garbled, of another version, with a foreign field, or without a question that another file has."""
    good = build([(Echo("wiki"), 1)])
    wiki = written(tmp_path / "wiki.jsonl", good)
    for name, lines, what in [
        ("garbled", [good[0], good[1][:40]], "garbled:2: not a line of pools"),
        ("newer", [good[0].replace('"schema_version": 1', '"schema_version": 2')], "schema_version is 2, not 1"),
        ("foreign", [good[0].replace('"score"', '"rank"')], "foreign:1: not a line of pools"),
        ("list", ["[]"], "list:1: not a line of pools"),
        ("short", good[:2], r"short: no line for question q3 \(1 in all\)"),
    ]:
        with pytest.raises(RecordError, match=what) as said:
            read_pools([wiki, written(tmp_path / name, lines)])
        assert "cortexdsl pool" in str(said.value)
    with pytest.raises(RecordError, match=r"absent.*cannot be read"):
        read_pools([tmp_path / "absent"])


def test_a_pool_from_a_search_service(with_search: Any) -> None:
    """Two different queries reach the service, though three questions are asked."""
    service = Service([(200, '{"organic": [{"title": "T", "link": "L", "snippet": "S"}]}', {})])
    lines = with_search(service, lambda search, _: build_pool(QUESTIONS, [(search, 5)]))
    assert sorted(query["q"] for query in service.asked) == ["where?", "who is it?"]
    assert json.loads(lines[0])["passages"] == [{"id": "L", "title": "T", "text": "S", "source": "web", "score": None}]
