"""The index beside the results: it follows the files, and is never believed over them."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.errors import InputError
from cortexdsl.explorer.experiment import OpenExperiment, search_query, words_of
from cortexdsl.explorer.folders import ResultsFolder, find_results
from cortexdsl.explorer.static_site import write_static
from tests.explorer.experiments import (
    CELLS,
    SAID,
    odd_records,
    records,
    with_words,
    write_cell,
    write_experiment,
    write_scores,
)


def columns(opened: OpenExperiment) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(opened.table()[1]))
    return found


def row(opened: OpenExperiment, question: str, cell: str, replicate: int = 1) -> dict[str, Any]:
    """One debate's facts as the list of debates has them."""
    table = columns(opened)
    debates = table["debates"]
    keys = zip(debates["question"], debates["cell"], debates["replicate"], strict=True)
    wanted = table["questions"].index(["sums", question, ""]), table["cells"].index(cell), replicate
    [place] = [place for place, key in enumerate(keys) if key == wanted]
    return {name: column[place] for name, column in debates.items()}


def test_every_debate_is_in_the_table_once_in_the_order_of_the_plan(indexed: OpenExperiment) -> None:
    table = columns(indexed)
    assert table["cells"] == list(CELLS)
    assert [question for _, question, _ in table["questions"]] == list(SAID)
    assert len(table["debates"]["id"]) == 4 * 3 * 2
    assert table["debates"]["question"] == sorted(table["debates"]["question"])


def test_facts_of_a_debate_are_those_that_were_made(indexed: OpenExperiment) -> None:
    right = row(indexed, "q-1", "full")  # cy went from 3 to 7, having heard two who said 7
    assert (right["score"], right["to_right"], right["to_wrong"], right["flips"], right["persuaded"]) == (1, 1, 0, 1, 1)
    wrong = row(indexed, "q-2", "full")  # ann went from 7 to 3
    assert (wrong["score"], wrong["to_right"], wrong["to_wrong"]) == (0, 0, 1)
    tied = row(indexed, "q-4", "sparse")  # bob could not be read twice
    assert (tied["tied"], tied["unread"], tied["failed"]) == (1, 2, 0)
    assert (right["input"], right["output"]) == (6 * 50, 6 * 10)


def test_a_second_look_at_the_same_files_finds_nothing_new(opened: OpenExperiment) -> None:
    before = opened.generation
    opened.catch_up()
    assert opened.generation == before


def test_records_that_are_replaced_are_read_again_and_their_scores_too(opened: OpenExperiment, made: Path) -> None:
    path = write_cell(made, "sparse", 1, records("sparse")[:2])
    os.utime(path, ns=(1, 1))
    opened.catch_up()
    table = columns(opened)
    assert len(table["debates"]["id"]) == 24 - 2
    assert None not in table["debates"]["score"]


def test_records_that_are_gone_leave_the_table(opened: OpenExperiment, made: Path) -> None:
    (made / "debates/sums/full/r2-s01.jsonl").unlink()
    opened.catch_up()
    assert len(columns(opened)["debates"]["id"]) == 20


def test_before_scores_come_nothing_is_right_or_wrong(tmp_path: Path) -> None:
    root = tmp_path / "e"
    write_cell(root, "sparse")
    opened = OpenExperiment(ResultsFolder("e", root))
    opened.catch_up()
    assert set(columns(opened)["debates"]["score"]) == {None}
    [first, *_] = columns(opened)["debates"]["id"]
    debate = opened.debate(first)
    assert debate is not None
    assert debate["turns"][0]["worth"] is None
    write_scores(root, "sparse", [1])
    opened.catch_up()
    assert None not in columns(opened)["debates"]["score"]
    opened.close()


def test_outcomes_of_replies_and_sources_of_confidences_are_kept(tmp_path: Path) -> None:
    """One debate each that was cut, refuses, came empty, calls a tool, was measured; a score that says two others."""
    root = tmp_path / "e"
    write_cell(root, "sparse", 1, odd_records())
    write_scores(root, "sparse", [1])
    path = root / "parts/sums/sparse/scores.csv"
    header, first, *others = path.read_text().splitlines()
    names, values = header.split(","), first.split(",")
    said = dict(zip(names, values, strict=True)) | {"repetitive": "1"}
    path.write_text("\n".join([",".join(said), ",".join(said.values()), *(f"{row},0" for row in others)]))
    opened = OpenExperiment(ResultsFolder("e", root))
    opened.catch_up()
    table = columns(opened)
    names = [{name for bit, name in enumerate(table["outcomes"]) if had >> bit & 1} for had in table["debates"]["had"]]
    assert names == [
        {"cut", "repetitive"}, {"refused"}, {"empty"}, {"tool_calls", "unmeasured"},
    ]  # fmt: skip
    assert [table["sources"][one] for one in table["debates"]["source"]] == ["stated"] * 3 + ["consistency"]
    opened.close()


def test_a_broken_line_is_said_and_its_neighbours_are_there(opened: OpenExperiment, made: Path) -> None:
    path = made / "debates/sums/full/r1-s01.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"round 1", b"round 2", 1)  # the seal no longer fits
    path.write_bytes(b"\n".join(lines))
    opened.catch_up()
    state = json.loads(opened.progress())["index"]
    assert state["faults"] == 1
    assert f"{path}:2" in state["messages"][0]
    assert len(columns(opened)["debates"]["id"]) == 23


def test_a_record_changed_behind_the_index_is_not_shown_as_what_it_was(opened: OpenExperiment, made: Path) -> None:
    path = made / "debates/sums/full/r1-s01.jsonl"
    found = row(opened, "q-1", "full")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(reversed(lines)))
    debate = opened.debate(found["id"])
    assert debate is not None
    assert "fault" in debate


def test_a_damaged_index_is_made_anew(opened: OpenExperiment, made: Path) -> None:
    opened.store.path.write_bytes(b"SQLite format 3\0 and then nothing of the kind")
    again = OpenExperiment(ResultsFolder("made", made))
    again.catch_up()
    assert len(columns(again)["debates"]["id"]) == 24
    again.close()


def test_an_index_of_another_version_is_made_anew(opened: OpenExperiment, made: Path) -> None:
    with sqlite3.connect(opened.store.path) as db:
        db.execute("PRAGMA user_version = 999")
    again = OpenExperiment(ResultsFolder("made", made))
    again.catch_up()
    assert len(columns(again)["debates"]["id"]) == 24
    again.close()


def test_words_are_found_by_their_beginnings_all_of_them(indexed: OpenExperiment) -> None:
    every = len(columns(indexed)["debates"]["id"])
    assert len(indexed.search("see thus")) == every
    assert len(indexed.search("CANNOT say")) == 6  # bob on q-4
    assert len(indexed.search("canno")) == 6
    assert indexed.search("cannot nowhere") == []


@pytest.mark.parametrize("text", ["", '"', "a AND (b", "said:*", "NEAR(", "' OR 1=1 --", "\0", "\ud800", "*", "-see"])
def test_a_search_takes_any_text_for_words(indexed: OpenExperiment, text: str) -> None:
    assert isinstance(indexed.search(text), list)


def test_words_are_without_accents_and_capitals() -> None:
    assert words_of("Énergie, l'ÉTÉ 3.5") == ["energie", "l", "ete", "3", "5"]
    assert search_query(["a", "b"]) == '"a"* AND "b"*'


def test_changes_say_who_followed_whom(indexed: OpenExperiment) -> None:
    debate = indexed.debate(row(indexed, "q-2", "full")["id"])
    assert debate is not None
    [change] = debate["changes"]
    assert change == {
        "agent": "ann", "round": 1, "before": 0, "after": 3, "was_right": True, "is_right": False,
        "heard": [1, 2], "followed": [1, 2],
    }  # fmt: skip
    assert [turn["worth"] for turn in debate["turns"]] == [1, 0, 0, 0, 0, 0]


def test_weights_are_lists_with_nothing_where_there_is_no_edge(indexed: OpenExperiment) -> None:
    debate = indexed.debate(row(indexed, "q-1", "sparse")["id"])
    assert debate is not None
    [graph] = debate["graphs"]
    assert graph["weight"] == [[None, 0.25, 0.25], [0.25, None, 0.25], [0.25, 0.25, None]]


def test_a_prompt_comes_from_the_call_log_and_what_was_never_logged_is_none(indexed: OpenExperiment) -> None:
    calls = indexed.calls(row(indexed, "q-1", "sparse")["id"])
    assert calls is not None
    assert calls[f"{4:032x}"]["messages"][0]["content"] == "What is 3 + 4? This is prompt 4."
    other = indexed.calls(row(indexed, "q-1", "sparse", 2)["id"])
    assert other is not None
    assert set(other.values()) == {None}


def test_hostile_names_and_words_come_through_as_they_are(tmp_path: Path) -> None:
    words = "<script>alert(1)</script>\0\u202e {{x}} \ud800"
    root = tmp_path / "e"
    hostile = [with_words(record, words) for record in records("sparse")]
    write_cell(root, "sparse", 1, hostile)
    opened = OpenExperiment(ResultsFolder("e", root))
    opened.catch_up()
    found = opened.debate(columns(opened)["debates"]["id"][0])
    assert found is not None
    assert found["turns"][0]["text"] == words
    assert len(opened.search("alert 1")) == 4
    opened.close()


def test_results_that_cannot_be_written_to_are_indexed_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_experiment(tmp_path / "results" / "made")
    monkeypatch.setattr("cortexdsl.explorer.store.os.access", lambda path, mode: False)
    monkeypatch.setattr("cortexdsl.explorer.store.tempfile.gettempdir", lambda: str(tmp_path))
    opened = OpenExperiment(ResultsFolder("made", root))
    opened.catch_up()
    assert not list(root.glob(".explorer*"))
    assert len(columns(opened)["debates"]["id"]) == 24
    opened.close()


def test_places_are_named_as_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_experiment(tmp_path / "results" / "examples" / "a")
    write_experiment(tmp_path / "elsewhere" / "a")
    monkeypatch.chdir(tmp_path)
    assert [place.name for place in find_results([])] == ["examples/a"]
    assert [place.name for place in find_results(["examples/a", "results/examples/a/", "elsewhere/a"])] == [
        "examples/a",
        "a",
    ]
    with pytest.raises(InputError, match=r"begun here: examples/a"):
        find_results(["b"])


def test_two_explorers_that_make_the_index_at_once_make_one(made: Path) -> None:
    both = [OpenExperiment(ResultsFolder("made", made)), OpenExperiment(ResultsFolder("made", made))]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(OpenExperiment.catch_up, both))
    for opened in both:
        assert len(columns(opened)["debates"]["id"]) == 24
        assert len(opened.search("cannot")) >= 6
        opened.close()


def test_a_folder_with_other_files_is_never_written_over(made: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "data").mkdir(parents=True)
    (mine / "index.html").write_text("my own page")
    with pytest.raises(InputError, match="holds other files"):
        write_static([ResultsFolder("made", made)], mine)
    assert (mine / "index.html").read_text() == "my own page"
