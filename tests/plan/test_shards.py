"""How questions are cut into jobs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortexdsl.plan.shards import cut, find, previous_size, read_previous_shards, shard_size, write_cut


@settings(deadline=None)
@given(st.integers(1, 500), st.integers(1, 4), st.integers(1, 600))
def test_every_question_is_in_one_shard_of_each_replicate_in_order(questions: int, replicates: int, size: int) -> None:
    """None is lost, none is twice, none comes early; labels are unique."""
    shards = cut(questions, replicates, size)
    for replicate in range(1, replicates + 1):
        mine = [shard for shard in shards if shard.replicate == replicate]
        assert [k for shard in mine for k in range(shard.first, shard.end)] == list(range(questions))
        assert all(0 < shard.end - shard.first <= size for shard in mine)
        assert [shard.number for shard in mine] == list(range(1, len(mine) + 1))
    assert len({shard.label for shard in shards}) == len(shards)
    assert all(find(shards, shard.label) is shard for shard in shards)
    assert find(shards, "r9-s01") is None


def test_more_questions_leave_earlier_full_shards_as_they_were() -> None:
    """250 questions in hundreds, then 300: the first two shards are the same jobs."""
    assert cut(250, 1, 100)[:2] == cut(300, 1, 100)[:2]


def test_an_automatic_shard_is_long_enough_that_its_start_is_a_twentieth() -> None:
    """3 s to start, 16 connections, 15 calls of 1 s a question: 20 * 3 * 16 / 15 = 64 questions."""
    assert shard_size("auto", is_local=False, connections=16, calls_per_question=15) == 64
    assert shard_size("auto", is_local=False, connections=1, calls_per_question=50) == 20
    assert shard_size("auto", is_local=True, connections=16, calls_per_question=15) == 100
    assert shard_size(7, is_local=True, connections=16, calls_per_question=15) == 7


@pytest.mark.parametrize(("number", "label"), [(1, "r1-s01"), (100, "r1-s100")])
def test_labels_sort_as_they_count_up_to_99(number: int, label: str) -> None:
    """Two digits, more where they are needed."""
    assert cut(100, 1, 1)[number - 1].label == label


def test_a_dataset_that_was_cut_keeps_its_cut_and_one_in_one_piece_stays_in_one() -> None:
    """45 questions were cut in twenties, 40 not at all: call logs lie by shard, and another cut would ask again."""
    parts, piece = [asdict(shard) for shard in cut(45, 2, 20)], [asdict(shard) for shard in cut(40, 1, 100)]
    assert previous_size([parts], 107) == 20
    assert previous_size([piece], 107) == 107
    assert previous_size([piece], 27) == 40
    assert previous_size([], 27) == 27


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"datasets": {"a": [{"first": 0}]}, "trainings": {}}', '{"datasets": 7}']
)
def test_what_cannot_be_read_says_nothing_of_an_earlier_cut(tmp_path: Path, text: str) -> None:
    """The automatic size is taken then, and also for a training that had no job yet."""
    path = tmp_path / "cut.json"
    assert read_previous_shards(path).size(33) == 33
    path.write_text(text)
    assert read_previous_shards(path).size(33) == 33
    write_cut(path, {"a": cut(45, 2, 20)}, {"learned": cut(45, 1, 15)})
    assert [
        read_previous_shards(path).size(33),
        read_previous_shards(path).size_of("learned", 33),
        read_previous_shards(path).size_of("t", 33),
    ] == [
        20,
        15,
        33,
    ]
