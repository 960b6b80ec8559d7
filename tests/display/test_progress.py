"""How far a run is, worked out by hand from a few tallies; and how far trainings are."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cortexdsl.display.console import Display
from cortexdsl.display.expected import ExpectedRun, last_batch
from cortexdsl.display.progress import RunProgress, WatchedRun, progress, trainings
from cortexdsl.display.wording import in_a_line, plain_values, remarks
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import begin_run
from cortexdsl.records.tallies import Tallies, read_tally, total_of
from cortexdsl_train.fit.examples import write_progress
from tests.display.made import EXPECTED, said, write


def at(folder: Path, *tallies: dict[str, Any], now: float = 1021.0, expected: ExpectedRun = EXPECTED) -> RunProgress:
    return progress(expected, Tallies(write(folder, *tallies)).read(), now)


def test_a_row_adds_the_jobs_of_its_cell_up(tmp_path: Path) -> None:
    """Two jobs of `a`: 4 of 10 and 10 of 10 debates, 40 + 100 calls, half a dollar and one."""
    whole = said(shard="r1-s02", state="done", debates={"done": 10, "total": 10}, calls={"asked": 100}, dollars=1.0)
    shown = at(tmp_path, said(), whole)
    a, b = shown.rows
    assert (a.cell, a.state, a.done, a.total) == ("a", "running", 14, 20)
    assert (a.spent.calls["asked"], a.spent.usage.dollars, a.spent.retries) == (
        140,
        1.5,
        {"rate_limit": 4, "timeout": 2},
    )
    assert (b.cell, b.state, b.done, b.total) == ("b[keep=mean]", "waiting", 0, 20)
    assert (shown.all.done, shown.all.total, shown.all.state, shown.running) == (14, 40, "running", 1)


def test_time_left_is_debates_left_at_the_seconds_that_each_took(tmp_path: Path) -> None:
    """4 debates took 20 s, 5 s each: 16 are left in the cell (80 s); 36 in all (180 s), one job at a time."""
    shown = at(tmp_path, said())
    assert shown.rows[0].seconds_left == pytest.approx(80)
    assert shown.all.seconds_left == pytest.approx(180)
    assert shown.rows[0].rate == pytest.approx(2.0)  # 40 calls in 20 s


def test_two_jobs_at_once_halve_the_time_left(tmp_path: Path) -> None:
    """Both cells run: 16 debates at 5 s and 18 at 10 s, 260 job-seconds for two jobs."""
    other = said("b~keep=mean", debates={"done": 2, "total": 10})
    assert at(tmp_path, said(), other).all.seconds_left == pytest.approx((16 * 5 + 18 * 10) / 2)


@pytest.mark.parametrize(("now", "state"), [(1079.0, "running"), (1081.0, "silent")])
def test_a_job_without_news_for_a_minute_is_silent(tmp_path: Path, now: float, state: str) -> None:
    """Its last word was at 1,020; nobody can tell whether it lives, so nothing is predicted from it."""
    shown = at(tmp_path, said(), now=now)
    assert shown.rows[0].state == state
    assert shown.silent == (() if state == "running" else ("d~a~r1-s01",))
    assert (shown.all.seconds_left is None) == (state == "silent")


def test_an_unknown_price_makes_the_sum_unknown(tmp_path: Path) -> None:
    """Half a dollar and an unknown cost are not half a dollar."""
    shown = at(tmp_path, said(), said(shard="r1-s02", dollars=None))
    assert (shown.all.spent.usage.dollars, shown.all.spent.usage.is_priced) == (0.5, False)


def test_what_jobs_said_at_their_end_is_counted_by_message(tmp_path: Path) -> None:
    """Two jobs stopped at one limit, one failed otherwise."""
    stopped = {"state": "stopped", "message": "the limit of 10 calls is reached"}
    shown = at(
        tmp_path, said(**stopped), said(shard="r1-s02", **stopped), said("b~keep=mean", state="failed", message="401")
    )
    assert shown.messages == {"the limit of 10 calls is reached": 2, "401": 1}
    assert [row.state for row in shown.rows] == ["stopped", "failed"]


def test_jobs_of_no_cell_of_the_plan_are_counted_beside_it(tmp_path: Path) -> None:
    """A judge has no cell, and a cell of an earlier plan no row; both were paid for."""
    judge = said(job="judge~d", cell=None, shard=None, state="done", calls={"asked": 7})
    gone = said("gone", state="done", calls={"asked": 5})
    shown = at(tmp_path, said(), judge, gone)
    assert shown.others.calls["asked"] == 12
    assert shown.all.spent.calls["asked"] == 40


def test_a_job_that_this_run_does_again_begins_at_nothing(tmp_path: Path) -> None:
    """It was done in an earlier run; the other jobs, which this run does not need, are done."""
    expected = ExpectedRun("e", EXPECTED.jobs, frozenset({("d", "a", "r1-s01")}))
    tallies = Tallies(write(tmp_path, said(state="done", debates={"done": 10, "total": 10}))).read()
    before = progress(expected, tallies, now=2000.0, since=1500.0)
    assert [(row.done, row.state) for row in before.rows] == [(10, "waiting"), (20, "done")]
    tallies = Tallies(write(tmp_path, said(updated=1501.0))).read()
    assert progress(expected, tallies, now=1502.0, since=1500.0).rows[0].done == 14


def test_a_run_counts_its_own_calls(tmp_path: Path) -> None:
    """Before: 40 calls of one job, 30 of another, $0.50 each. The first goes on, to 52 calls and two more retried."""
    other = said(shard="r1-s02", state="done", calls={"asked": 30})
    folder = tmp_path / "results/e/spent"
    write(folder, said(), other)
    expected = ExpectedRun("e", EXPECTED.jobs, frozenset({("d", "a", "r1-s01")}), str(tmp_path / "results/e"))
    watched = WatchedRun(expected, since=1500.0, clock=lambda: 1502.0)
    more = {
        "calls": {"asked": 52, "shared": 6}, "tokens": {"input": 5200, "output": 520}, "dollars": 0.65, "seconds": 23.0,
        "retries": {"rate_limit": 4, "timeout": 1}, "updated": 1501.5,
    }  # fmt: skip
    write(folder, said(**more))
    shown = watched.look(is_last=True)
    spent = shown.all.spent
    assert (spent.calls["asked"], spent.calls["shared"], spent.calls["retried"]) == (12, 6, 2)
    assert (spent.usage.input_tokens, spent.usage.output_tokens, spent.usage.seconds) == (1200, 120, pytest.approx(3.0))
    assert (spent.usage.dollars, spent.retries, spent.failures) == (pytest.approx(0.15), {"rate_limit": 2}, {})
    assert ", 12 calls sent, 6 replies reused, 1,200 + 120 tokens, $0.15, 0 s, " in in_a_line(shown, 0.0)
    assert remarks(shown) == ["calls: 2 retried (rate limit)"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"calls": 5, "tokens": 1, "dollars": 0, "seconds": 1}', "[" * 5000, '{"state": "unheard of"}'],
)
def test_what_is_no_tally_counts_for_nothing(tmp_path: Path, text: str) -> None:
    """An older version's ledger, a half-written or a foreign file: no row is made of it, and nothing breaks."""
    (tmp_path / "x.json").write_text(text)
    assert Tallies(tmp_path).read() == ()
    assert read_tally(tmp_path / "absent.json") is None


def test_a_tally_is_read_again_when_it_was_replaced(tmp_path: Path) -> None:
    """Jobs replace the file whole: another inode, even where clock and size stay the same."""
    tallies = Tallies(write(tmp_path, said()))
    assert total_of(tallies.read()).done == 4
    path = tmp_path / "d~a~r1-s01.json"
    times = path.stat().st_mtime_ns, path.stat().st_mtime_ns
    write(tmp_path / "next", said(debates={"done": 5, "total": 10}))
    (tmp_path / "next" / path.name).replace(path)
    os.utime(path, ns=times)
    assert total_of(tallies.read()).done == 5


def test_what_a_look_found_unneeded_is_not_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of 10: if the first look decides, 20 debates are expected, not 40."""
    monkeypatch.chdir(tmp_path)
    expected = ExpectedRun("e", tuple(replace(job, batch=int(job.shard[-1])) for job in EXPECTED.jobs))
    whole = {"state": "done", "debates": {"done": 10, "total": 10}}
    tallies = Tallies(write(tmp_path / "spent", said(**whole), said("b~keep=mean", **whole))).read()
    assert last_batch(expected) is None
    path = tmp_path / "results/e/looks/1.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"schema_version": 1, "batch": 1, "decided": false}')
    assert last_batch(expected) is None
    assert progress(expected, tallies, 1021.0).all.total == 40
    path.write_text('{"schema_version": 1, "batch": 1, "decided": true}')
    shown = progress(expected, tallies, 1021.0, end=last_batch(expected))
    assert (shown.all.state, shown.all.done, shown.all.total) == ("done", 20, 20)


def test_a_step_that_was_not_read_is_said_at_the_end(tmp_path: Path) -> None:
    """Of the judge's replies in `a`, 9 of 10 and 0 of 2: 9 of 12. Tallies of earlier versions count nothing."""
    watched = WatchedRun(replace(EXPECTED, root=str(tmp_path)), since=1000.0, clock=lambda: 1021.0)
    write(
        tmp_path / "spent",
        said(unread=[["judge", "verdict", 9, 10], ["answer", "answer", 0, 20]]),
        said(shard="r1-s02", unread=[["judge", "verdict", 0, 2]]),
        said("b~keep=mean"),
    )
    console = Console(record=True, width=200)
    Display([watched], console).stop()
    assert "  Most replies of step judge could not be read as a verdict: a (9 of 12). See" in console.export_text()


def test_cached_tokens_are_added_up_and_told_to_programs(tmp_path: Path) -> None:
    """600 and 50 of two jobs; a tally of an older version has none."""
    write(tmp_path, said(tokens={"input": 4000, "output": 400, "cached": 600}))
    write(tmp_path, said(shard="r1-s02", tokens={"input": 4000, "output": 400, "cached": 50}), said("b~keep=mean"))
    shown = plain_values(progress(EXPECTED, Tallies(tmp_path).read(), now=1021.0))
    assert shown["all"]["tokens"] == {"input": 12_000, "output": 1200, "cached": 650}


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


def test_the_round_of_files_that_was_written_last_is_shown_with_what_its_engine_has_written(tmp_path: Path) -> None:
    """Round 5 is of an earlier run. Of round 1 three requests have replies, one line has none, and one is torn."""
    layout = Layout(tmp_path.as_posix())
    expected = replace(EXPECTED, root=layout.root)
    watched = WatchedRun(expected, since=1000.0, clock=lambda: 2000.0)
    assert watched.look().round is None
    begin_run(layout, [layout.replies(number, "tiny", 1) for number in range(1, 8)], "digest")
    for number, part, written in ((5, 1, 100), (1, 1, 200), (1, 2, 201)):
        path = Path(layout.requests(number, "tiny", part))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n" * 4, encoding="utf-8")
        os.utime(path, (written, written))
    replies = '{"custom_id":"a","response":{}}\n'
    Path(layout.replies(1, "tiny", 1)).write_text(f'{replies}{{"custom_id":"b","response":null}}\n', encoding="utf-8")
    new = Path(layout.rounds, "1", ".tiny-2.replies.jsonl.new")
    new.write_text(f"{replies}{replies[:9]}", encoding="utf-8")
    first = watched.look(is_last=True)
    assert remarks(first) == ["round 1 of at most 7: 2 of 8 requests answered"]
    new.write_text(replies * 2, encoding="utf-8")
    log = Path(layout.root, "logs", "rounds", "1-tiny-2.engine.log")
    log.parent.mkdir(parents=True)
    log.write_text("batch_1: 4 requests are sent\nbatch_1: in_progress, 1 of 4 are done\r50 %\n", encoding="utf-8")
    assert plain_values(watched.look(is_last=True))["round"] == {
        "number": 1, "rounds": 7, "requests": 8, "replies": 3, "engines": ("tiny-2: 50 %",),
    }  # fmt: skip
    console = Console(file=StringIO(), width=200)
    times = iter((0.0, 30.0, 30.0))
    Display([watched], console, clock=lambda: next(times)).step("1 of 2 steps done")
    assert "  round 1 of at most 7: 3 of 8 requests answered\n" in console.file.getvalue()  # type: ignore[attr-defined]
