"""A report of a run that stopped: one line says so, why, and what was not done; it takes no other report's place."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from cortexdsl.errors import DataError
from cortexdsl.plan.record import read_plan
from cortexdsl.records.tallies import Tallies
from cortexdsl.report.build import build_report
from cortexdsl.report.terminal import terminal_report
from cortexdsl.report.unfinished import read_unfinished
from tests.display.made import said, write

PLAN = {
    "schema_version": 1,
    "experiment": "e",
    "title": "Small",
    "cells": [{"cell": "a", "slug": "a"}, {"cell": "b[keep=mean]", "slug": "b~keep=mean"}],
    "shards": {"d": [{"label": "r1-s01", "replicate": 1, "first": 0, "end": 10, "number": 1}]},
}
LIMIT = "the limit of 60 calls is reached (60 spent): raise `limits: calls` in the spec and run again to go on"
LINE = (
    "Not finished: 14 of 20 debates are done. The limit of 60 calls is reached (60 spent): raise `limits: calls` in "
    "the spec and run again to go on. Not done: b[keep=mean] 6 of 10."
)


def stopped_run(folder: Path, **changes: object) -> Path:
    """Cell a is done, cell b stopped after four of ten debates."""
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(PLAN | changes))
    done = said(state="done", debates={"done": 10, "total": 10}, calls={"asked": 0, "shared": 50}, dollars=None)
    left = said("b~keep=mean", state="stopped", message=LIMIT, retries={"rate_limit": 2}, failures={"malformed": 1})
    write(folder / "spent", done, left)
    return folder


def test_a_run_that_stopped_at_a_limit_has_a_report_that_says_so_in_one_line(tmp_path: Path) -> None:
    """Why, how much is done, what is not, and what it cost; there is no answer before every cell is done."""
    folder = stopped_run(tmp_path / "results" / "e")
    made = build_report(folder)
    assert made == folder / "stopped.html"
    assert not (folder / "report.html").exists()  # which is Snakemake's target: it would have nothing to do
    page = made.read_text()
    assert LINE in page
    assert "There is no answer yet" in page
    assert "were tried again (rate limit" in " ".join(page.split())
    text = " ".join(terminal_report(folder).split())
    assert LINE in text
    assert "2 attempts failed for good (content filter 1, malformed 1)." in text


def test_what_was_wrong_and_its_remedy_are_sentences_of_their_own(tmp_path: Path) -> None:
    """A provider's words may end with a full stop or without; the command for the other messages can be typed."""
    folder = stopped_run(tmp_path / "results" / "e")
    refused = said(state="failed", message="no model answers there: Refused.\n    see that it is up")
    unknown = said("b~keep=mean", state="failed", message="no. See https://x\n    correct it")
    write(folder / "spent", refused, unknown)
    text = " ".join(terminal_report(folder).split())
    first = "No model answers there: Refused. See that it is up (and 1 other message: cortexdsl status e). Not done: "
    other = "No. See https://x. Correct it (and 1 other message: cortexdsl status e). Not done: "
    assert first in text or other in text


def test_a_finished_run_and_one_at_work_are_not_called_stopped(tmp_path: Path) -> None:
    """What is missing then is the tables, and the report says so as ever."""
    done = stopped_run(tmp_path / "done", cells=[{"cell": "a", "slug": "a"}])
    working = stopped_run(tmp_path / "working")
    write(working / "spent", said("b~keep=mean", updated=time.time()))
    for folder in (done, working):
        with pytest.raises(DataError):
            build_report(folder)
        assert not (folder / "report.html").exists()


def test_a_race_of_an_earlier_version_was_finished(tmp_path: Path) -> None:
    """Its cells ended by themselves, so that debates of a plan that has results were not left out by a stop."""
    racing = {"fewest": 5, "batch": 5, "alpha": 0.05, "rule": "racing"}
    folder = stopped_run(tmp_path / "results" / "e", stopping=racing)
    plan = read_plan(folder / "plan.json")
    tallies = tuple(Tallies(folder / "spent").read())
    assert read_unfinished(folder, plan, tallies) is not None
    (folder / "metrics.csv").write_text("dataset,cell\n")
    assert read_unfinished(folder, plan, tallies) is None
