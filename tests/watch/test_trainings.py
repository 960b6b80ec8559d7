"""How far trainings are, from their files alone."""

from __future__ import annotations

import json
from pathlib import Path

from cortexdsl.plan import Layout
from cortexdsl.train.fit.progress import write_progress
from cortexdsl.watch.trainings import trainings


def test_phases_that_have_begun_are_shown_in_order(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path))
    assert trainings(layout) == []
    write_progress(Path(layout.phase("acc", "1-critic")), state="done", step=8, steps=8, loss=0.5)
    write_progress(Path(layout.phase("acc", "1-actor")), state="training", step=3, steps=8, loss=0.6931471)
    assert [each.line() for each in trainings(layout)] == [
        "acc 1-actor: training, step 3 of 8, loss 0.6931",
        "acc 1-critic: done, step 8 of 8, loss 0.5",
    ]


def test_a_training_that_says_nothing_for_ten_minutes_is_silent_and_half_a_file_is_passed_over(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path))
    folder = Path(layout.phase("acc", "1-critic"))
    write_progress(folder, state="merging", step=8, steps=8, loss=None)
    updated = json.loads((folder / "progress.json").read_text())["updated"]
    assert [each.line() for each in trainings(layout, updated + 601)] == ["acc 1-critic: silent, step 8 of 8"]
    assert trainings(layout, updated + 599)[0].state == "merging"
    (folder / "progress.json").write_text('{"state"')
    assert trainings(layout) == []
