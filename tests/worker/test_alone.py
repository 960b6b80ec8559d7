"""The lock of an experiment's folder: who holds it, and what is said where it cannot be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortexdsl.errors import RecordError
from cortexdsl.worker.alone import hold, is_at_work


def test_asking_whether_a_run_is_at_work_does_not_get_in_its_way(tmp_path: Path) -> None:
    """`is_at_work` has the lock for a moment: a run that begins then tries again."""
    taken = hold(tmp_path)
    assert taken is not None

    def given_back(_: float) -> None:
        os.close(taken)

    mine = hold(tmp_path, given_back)
    assert mine is not None
    assert is_at_work(tmp_path)
    os.close(mine)
    assert not is_at_work(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_sentence_with_its_remedy(tmp_path: Path) -> None:
    """Here `results` is a file, which no user can write below, root included."""
    (tmp_path / "results").write_text("")
    with pytest.raises(RecordError) as refused:
        hold(tmp_path / "results" / "e")
    said = str(refused.value).splitlines()
    assert said[0].endswith("results/e: cannot be written (Not a directory)")
    assert said[1] == "    give yourself the right to write there and free some space, or run in another folder"
