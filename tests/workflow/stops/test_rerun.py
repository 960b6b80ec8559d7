"""What runs again after an edit: what depends on it, and nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.workflow.bench import AFTER_SCORES, ALONE, Bench, Run

pytestmark = pytest.mark.workflow


def test_the_first_run_runs_one_debate_job_for_each_cell_and_replicate_and_ends_in_a_report(original: Bench) -> None:
    """Five cells (`sparse`, its grid point, `full`, `near`, `matched`), two replicates: ten debate jobs."""
    status, _, text = (original.folder / "run.txt").read_text().partition("\n")
    assert status == "0", text
    assert Run(0, text).finished == Counter({"declare": 1, "debate": 10, "score": 5, "plan": 1, **AFTER_SCORES})
    assert "report: results/small/report.html" in text


def test_a_second_run_has_nothing_to_do_also_after_spec_and_prompt_were_touched(bench: Bench) -> None:
    """Neither is an input: its age says nothing, what it means does."""
    os.utime(bench.folder / "specs" / "small.yaml")
    os.utime(bench.folder / "prompts" / "own" / "answer.j2")
    bench.edit("specs/small.yaml", "seed: 3", "seed: 3    # said otherwise")
    run = bench.snakemake()
    assert run.status == 0
    assert "Nothing to be done" in run.text
    assert run.finished == Counter()


@pytest.mark.parametrize("hours", [1, -1])
def test_results_whose_times_lie_an_hour_off_have_nothing_to_do(bench: Bench, hours: int) -> None:
    """As a clock leaves them that was set back or forward during the run: inputs are newer than their outputs."""
    files = [path for path in bench.results("small").rglob("*") if path.is_file()]
    chance = random.Random(hours)
    for path in files:
        if chance.random() < 0.5:
            state = path.stat()
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + hours * 3_600_000_000_000))
    run = bench.snakemake()
    assert run.status == 0
    assert "Nothing to be done" in run.text
    assert run.finished == Counter()


def test_a_run_goes_on_after_the_clock_was_set_back(bench: Bench) -> None:
    """What is there lies an hour ahead of what is made now: the deleted cell and its tables are made, and no more."""
    before = bench.records("small")
    for path in bench.results("small").rglob("*"):
        if path.is_file():
            state = path.stat()
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 3_600_000_000_000))
    (bench.results("small") / "debates/arithmetic/near/r1-s01.jsonl").unlink()
    run = bench.snakemake()
    assert run.status == 0, run.text
    assert run.finished == Counter({"debate": 1, "score": 1, **AFTER_SCORES})
    assert bench.records("small") == before
    assert "Nothing to be done" in bench.snakemake("--dry-run").text


def test_an_edited_setting_runs_its_cell_again_and_what_is_made_of_it(bench: Bench) -> None:
    """Two replicates of `near`, its scores, the plan, and the tables of all cells."""
    before = bench.records("small")
    bench.edit("specs/small.yaml", "near:    {protocol: neighbor, rounds: 1", "near:    {protocol: neighbor, rounds: 2")
    expected = Counter({"debate": 2, "score": 1, "plan": 1, **AFTER_SCORES})
    assert bench.snakemake("--dry-run").planned == expected
    run = bench.snakemake()
    assert run.finished == expected
    after = bench.records("small")
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {"debates/arithmetic/near/r1-s01.jsonl", "debates/arithmetic/near/r2-s01.jsonl"}
    assert "Nothing to be done" in bench.snakemake("--dry-run").text


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "keep: [mean, {top: 1}]",
            "keep: [mean, median, {top: 1}]",
            {"debate": 2, "score": 1, "plan": 1, **AFTER_SCORES},
        ),
        ("title: Small", "title: Another", {"plan": 1, "verdict": 1, "report": 1, **ALONE}),
    ],
    ids=["a value in the grid", "the title"],
)
def test_an_edit_runs_what_depends_on_it(bench: Bench, old: str, new: str, expected: dict[str, int]) -> None:
    """A new arm has debates of its own; words for readers change no debate and no score."""
    bench.edit("specs/small.yaml", old, new)
    assert bench.snakemake("--dry-run").planned == Counter(expected)


def test_work_without_debates_is_shown_while_it_happens(bench: Bench) -> None:
    """A claim that is added needs no debate: the run says that it tests and draws, and does not look as if it hangs."""
    bench.edit("specs/small.yaml", "hypotheses:", "hypotheses:\n  - accuracy(near) > 0.01")
    run = bench.cortexdsl("run", "small", "--cores", "2")
    assert run.status == 0, run.text
    lines = run.text.splitlines()
    assert [line for line in lines if line in ("scoring", "testing", "drawing")] == ["testing", "drawing"]


def test_an_edited_prompt_runs_the_cells_that_use_it_again(bench: Bench) -> None:
    """Of the five cells `near` alone has a prompt of its own; what a prompt includes counts like its own text."""
    bench.edit("prompts/own/answer.j2", "Solve it alone.", "Solve it all alone.")
    expected = Counter({"debate": 2, "score": 1, "plan": 1, **AFTER_SCORES})
    assert bench.snakemake("--dry-run").planned == expected


def test_a_moved_and_edited_spec_debates_again_and_keeps_the_declared_claims(bench: Bench) -> None:
    """The path of the spec is a param of every job: all run again (from their logs), with the edit, in one go."""
    declared = bench.results("small") / "declared.json"
    before = declared.read_bytes()
    (bench.folder / "specs" / "small.yaml").rename(bench.folder / "small.yaml")
    bench.edit("small.yaml", "rounds: 3", "rounds: 2")
    bench.edit("small.yaml", "accuracy(sparse) > accuracy(full)", "accuracy(full) > accuracy(sparse)")
    planned = bench.snakemake("--dry-run", "--config", "spec=small.yaml").planned
    assert planned == Counter({"declare": 1, "debate": 10, "score": 5, "plan": 1, **AFTER_SCORES})
    run = bench.snakemake("results/small/declared.json", "--config", "spec=small.yaml")
    assert run.status == 0, run.text
    assert declared.read_bytes() == before


def without_snakemakes_records(bench: Bench) -> None:
    """Results as they come from another folder: there is no `.snakemake`."""
    shutil.rmtree(bench.folder / ".snakemake")


def test_moved_results_show_no_claims_of_before_an_edit(bench: Bench) -> None:
    """Claim and alpha are edited where Snakemake knows nothing of the results: no debate runs, the verdict does."""
    without_snakemakes_records(bench)
    bench.edit("specs/small.yaml", "accuracy(sparse) > accuracy(full)", "accuracy(full) > accuracy(sparse)")
    bench.edit("specs/small.yaml", "analysis:\n", "analysis:\n  alpha: 0.2\n")
    run = bench.snakemake()
    assert run.status == 0, run.text
    assert run.finished == Counter({"score": 5, "plan": 1, **AFTER_SCORES})
    assert [row["claim"] for row in bench.rows("small", "hypotheses.csv")] == ["accuracy(full) > accuracy(sparse)"]
    assert "alpha: 0.05, then 0.2" in (bench.results("small") / "report.html").read_text()
    run = bench.snakemake()
    assert "Nothing to be done: all results are there, and fit the spec\nreport: results/small/report.html" in run.text


@pytest.mark.parametrize("has_digests", [True, False], ids=["digests in tallies", "tallies of an earlier version"])
def test_moved_results_are_debated_again_where_the_spec_is_another(bench: Bench, has_digests: bool) -> None:
    """An edited cell debates again, the others do not: by the digests that lie beside the records."""
    without_snakemakes_records(bench)
    if not has_digests:
        for path in (bench.results("small") / "spent").glob("*.json"):
            tally = {
                name: value
                for name, value in json.loads(path.read_text()).items()
                if name not in ("digest", "checksum")
            }
            path.write_text(json.dumps(tally))
    before = bench.records("small")
    bench.edit("specs/small.yaml", "near:    {protocol: neighbor, rounds: 1", "near:    {protocol: neighbor, rounds: 2")
    run = bench.snakemake()
    assert run.finished == Counter({"debate": 2, "score": 5, "plan": 1, **AFTER_SCORES}), run.text
    after = bench.records("small")
    assert {path for path in after if after[path] != before[path]} == {
        "debates/arithmetic/near/r1-s01.jsonl",
        "debates/arithmetic/near/r2-s01.jsonl",
    }


def test_an_edit_whose_run_was_stopped_is_known_from_the_results_alone(bench: Bench, tmp_path: Path) -> None:
    """One of two edited jobs was made again, plan.json is of the edited spec, and the results were then moved."""
    bench.edit("specs/small.yaml", "near:    {protocol: neighbor, rounds: 1", "near:    {protocol: neighbor, rounds: 2")
    record = "debates/arithmetic/near/r1-s01.jsonl"
    assert bench.snakemake("results/small/plan.json", f"results/small/{record}").status == 0
    without_snakemakes_records(bench)
    run = bench.snakemake()
    assert run.finished["debate"] == 1, run.text
    assert {debate["rounds"] for debate in bench.debates("small") if debate["cell"] == "near"} == {2}


LOST = {
    "scores.csv": "verdict",
    "hypotheses.csv": "verdict",
    "metrics.csv": "verdict",
    "plan.json": "plan",
    "view.html": "report",
    "figures": "report",
    "debates/arithmetic/near/r1-s01.jsonl": "debate",
    "parts/arithmetic/near/answers.csv": "score",
}


def test_what_was_deleted_is_made_again(bench: Bench, original: Bench) -> None:
    """Each by its rule; and all of them at once, by the same command, as they were."""
    results = bench.results("small")
    for lost, rule in LOST.items():
        (results / lost).rename(results / "away")
        assert bench.snakemake("--dry-run").planned[rule] == 1, lost
        (results / "away").rename(results / lost)
    for lost in LOST:
        shutil.rmtree(results / lost) if (results / lost).is_dir() else (results / lost).unlink()
    run = bench.snakemake()
    assert run.status == 0, run.text
    for lost in LOST:
        if (results / lost).is_dir():
            assert list((results / lost).iterdir())
        else:
            assert (results / lost).read_bytes() == (original.results("small") / lost).read_bytes()
