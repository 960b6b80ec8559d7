"""Parts of files that a killed process has left are removed by the next run."""

from __future__ import annotations

import os
import time
from pathlib import Path

from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import begin_run


def test_a_run_removes_parts_that_nobody_writes_any_more(tmp_path: Path) -> None:
    """A part that is written at the moment, a file of the user with such an ending, and the copy of results stay."""
    layout = Layout((tmp_path / "results").as_posix())
    folder = Path(layout.root, "debates", "d")
    folder.mkdir(parents=True)
    left, new, own = folder / ".r1-s01.jsonl.4711.part", folder / ".r1-s02.jsonl.4712.part", folder / "mine.part"
    for path in (left, new, own):
        path.write_text("half")
    hours_ago = time.time() - 2 * 3600
    for path in (left, own):
        os.utime(path, (hours_ago, hours_ago))
    begin_run(layout, [], "digest")
    assert [left.exists(), new.exists(), own.exists()] == [False, True, True]
