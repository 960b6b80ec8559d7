from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.errors import DataError
from cortexdsl.tasks.retrieval.corpus import Passage, corpus_of, hotpot_passages, read_corpus


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_both_formats_of_lines_are_read(tmp_path: Path) -> None:
    """`{id, title, text}` is ours, `{id, contents}` is pyserini's JsonCollection; numbers may be ids."""
    path = written(
        tmp_path / "passages.jsonl",
        {"id": 1, "title": "Iron", "text": " Fe "},
        {"id": "b", "contents": "gold\nis Au"},
    )
    assert read_corpus(path).passages == (Passage("1", "Iron", "Fe"), Passage("b", "", "gold\nis Au"))


def test_a_quoted_first_line_of_contents_is_the_title(tmp_path: Path) -> None:
    """The Wikipedia collections of DPR, as pyserini indexes them, write `"Aaron"\\nAaron is a prophet`."""
    path = written(tmp_path / "wiki.jsonl", {"id": "1", "contents": '"Aaron"\nAaron is a prophet'})
    assert read_corpus(path).passages == (Passage("1", "Aaron", "Aaron is a prophet"),)


def test_a_folder_is_read_by_file_name(tmp_path: Path) -> None:
    """A collection folder holds parts whose names give their order, as pyserini's does."""
    written(tmp_path / "docs01.jsonl", {"id": "b", "contents": "second"})
    written(tmp_path / "docs00.jsonl", {"id": "a", "contents": "first"})
    assert [passage.id for passage in read_corpus(tmp_path).passages] == ["a", "b"]


def test_the_digest_belongs_to_the_content_and_not_to_the_file(tmp_path: Path) -> None:
    """The same passage in either format and under any path is the same corpus; another text is another."""
    one = read_corpus(written(tmp_path / "one.jsonl", {"id": "a", "title": "", "text": "x"}))
    two = read_corpus(written(tmp_path / "two.jsonl", {"id": "a", "contents": "x"}))
    assert one.digest == two.digest
    assert one.digest != corpus_of([Passage("a", "", "y")]).digest


OFFICIAL = [
    {"question": "?", "context": [["Rome", ["A city.", " Old."]], ["Oslo", ["In Norway."]]]},
    {"question": "?", "context": [["Oslo", ["In Norway."]], ["Rome", ["An apple."]], ["Void", [" "]]]},
]


def test_contexts_become_passages_once(tmp_path: Path) -> None:
    """Sentences join as they stand (HotpotQA's begin with their space); a repeated context is one passage, a
    second text under one title gets a number, an empty one is left out: worked out by hand from the rows."""
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps(OFFICIAL), encoding="utf-8")
    expected = (
        Passage("Rome", "Rome", "A city. Old."),
        Passage("Rome (2)", "Rome", "An apple."),
        Passage("Oslo", "Oslo", "In Norway."),
    )
    assert read_corpus(path).passages == hotpot_passages(OFFICIAL) == expected


@pytest.mark.parametrize("key", ["sentences", "content"])
def test_contexts_as_columns_are_the_same(key: str) -> None:
    """Hubs keep the same contexts as columns: `sentences` for HotpotQA, `content` for 2WikiMultihopQA."""
    rows = [
        {"context": {"title": [title for title, _ in row["context"]], key: [said for _, said in row["context"]]}}
        for row in OFFICIAL
    ]
    assert hotpot_passages(rows) == hotpot_passages(OFFICIAL)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "not JSON"),
        ("[]", "a row is not an object"),
        ('{"text": "x"}', "`id`"),
        ('{"id": "b"}', "`text` or `contents`"),
        ('{"id": "b", "text": "  "}', "`text` or `contents`"),
        ('{"id": "b", "text": 3}', "`text` or `contents`"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    """The bad one is the second row, and the third line."""
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "a", "text": "x"}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"p.jsonl(:3|, row 2): .*{what}"):
        read_corpus(path)


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    """Missing, empty, doubled, of another encoding or of another format: each says so and names the file."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "a", "text": "caf\xe9"}\n')
    (tmp_path / "other.json").write_text('[{"question": "?"}]')
    (tmp_path / "none.json").write_text("{}")
    written(tmp_path / "twice.jsonl", {"id": 1, "text": "x"}, {"id": "1", "text": "y"})
    for name, what in {
        "absent.jsonl": "no such file",
        "absent.json": "no such file",
        "empty": "the corpus is empty",
        "latin.jsonl": "UTF-8",
        "other.json": "row 1 has no HotpotQA context",
        "none.json": "row 1 has no HotpotQA context",
        "twice.jsonl": "two passages have the id '1'",
    }.items():
        with pytest.raises(DataError, match=f"(?s){name}.*{what}"):
            read_corpus(tmp_path / name)
