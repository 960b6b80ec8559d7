"""Files of a results folder are not written through links that somebody has put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortexdsl.core import Limits
from cortexdsl.errors import RecordError
from cortexdsl.models.budget import Budget
from cortexdsl.models.call_log.append_log import AppendLog
from cortexdsl.models.call_log.call_locks import CallLocks
from cortexdsl.models.job_tally import CallCounts, JobInfo, TallyWriter
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.recording import declare
from cortexdsl.worker.run import lock_experiment
from tests.faults.small_run import DECLARATION

DIARY = "a diary\n"


def _ledger(folder: Path) -> None:
    declare(Layout(str(folder)), DECLARATION)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("own.jsonl", lambda folder: AppendLog(folder / "own.jsonl")),
        (".ledger", lambda folder: Budget(Limits(calls=1), folder)),
        (".claims", CallLocks),
        (".run", lock_experiment),
        ("ledger.jsonl", _ledger),
    ],
)
def test_a_link_is_refused(tmp_path: Path, name: str, write: object) -> None:
    """The file that it points to stays as it was, and the error names the link."""
    diary = tmp_path / "diary"
    diary.write_text(DIARY)
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / name).symlink_to(diary)
    with pytest.raises(RecordError, match=rf"{name}: .*(not written through links|this is a symbolic link)"):
        write(folder)  # type: ignore[operator]
    assert diary.read_text() == DIARY


@pytest.mark.parametrize("name", ["job.json", ".job.json.{pid}.part"])
def test_a_link_is_replaced_where_a_whole_file_is_written(tmp_path: Path, name: str) -> None:
    diary = tmp_path / "diary"
    diary.write_text(DIARY)
    (tmp_path / name.format(pid=os.getpid())).symlink_to(diary)
    TallyWriter(tmp_path, JobInfo("job"), CallCounts()).publish()
    assert diary.read_text() == DIARY
    assert not (tmp_path / "job.json").is_symlink()
