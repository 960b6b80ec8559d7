"""A tournament over open questions: ballots of two judges, three tables, the report; replayed, and run again."""

from __future__ import annotations

import json

import pytest

from tests.workflow.bench import AFTER_SCORES, Bench

pytestmark = pytest.mark.workflow

SPEC = """\
title: Open
seed: 2
dataset: {file: open.jsonl, kind: open}
models:
  small: {model: builtin/solver, skill: 0.2}
  large: {model: builtin/solver, skill: 0.9}
  wise: {model: builtin/solver, skill: 1.0}
  careless: {model: builtin/solver, skill: 0.6, malformed: 0.3}
agents: [{name: one, model: small}, {name: two, model: large}]
methods:
  weak: {protocol: cot, agents: [one]}
  strong: {protocol: cot, agents: [two]}
  same: {protocol: voting, agents: [two]}
analysis: {tournament: [wise, careless]}
hypotheses: [calls(weak) <= calls(strong)]
"""
QUESTIONS = [f"What is the result of {k}+{k + 1}*3+{k + 2}-2*{k}?" for k in range(2, 22)]


def test_a_tournament_runs_from_its_ballots_to_its_report(fresh: Bench) -> None:
    fresh.write("specs/open.jsonl", "".join(f"{json.dumps({'question': one})}\n" for one in QUESTIONS))
    fresh.write("specs/open.yaml", SPEC)
    run = fresh.snakemake()
    assert run.status == 0, run.text
    assert run.finished == {
        "declare": 1, "debate": 3, "ballots": 2, "tournament": 1, "score": 3, "plan": 1, **AFTER_SCORES,
    }  # fmt: skip
    results = fresh.results("open")

    # The methods `strong` and `same` gave equal answers, so no judge was asked about them, and they are one group.
    rows = {(row["judge"], row["cell"]): row for row in fresh.rows("open", "tournament.csv")}
    ranking = [cell for judge, cell in rows if judge == "all"]
    assert ranking[2] == "weak"
    assert set(rows["all", "strong"]["groups"]) & set(rows["all", "same"]["groups"])
    assert float(rows["wise", "weak"]["ci_high"]) < float(rows["wise", "strong"]["ci_low"])
    duel = next(row for row in fresh.rows("open", "duels.csv")
                if row["judge"] == "wise" and {row["cell"], row["reference"]} == {"strong", "same"})  # fmt: skip
    assert (duel["ties"], duel["p"]) == ("20", "1")

    # Unreadable ballots are counted, and nobody has them.
    judges = {row["judge"]: row for row in fresh.rows("open", "judges.csv")}
    ballots = [json.loads(line) for line in (results / "ballots/open/careless.jsonl").read_text().splitlines()]
    unread = [one for one in ballots if None in one["verdicts"]]
    assert unread
    assert int(judges["careless"]["unread"]) == 2 * len(unread)  # `strong` and `same` share their answers
    assert int(judges["all"]["ballots"]) == 4 * len(ballots)
    of = [int(rows["careless", "weak"][name]) for name in ("wins", "ties", "losses")]
    assert sum(of) == 2 * (20 - len(unread))

    # Scores of questions without a right answer are empty; costs are there.
    for row in fresh.rows("open", "scores.csv"):
        assert row["score"] == row["never_found"] == ""
        assert row["calls"] == "1"
    page = (results / "report.html").read_text()
    assert "How far the ranking depends on the judge" in page
    assert "Tournament on open" in fresh.cortexdsl("report", "--text", "results/open").text

    # Replayed byte for byte; another judge asks again for itself alone; a deleted table is made without a call.
    assert "5 of 5 jobs replayed" in fresh.cortexdsl("replay", "specs/open.yaml").text
    assert "all as they were written" in " ".join(fresh.cortexdsl("verify", "results/open").text.split())
    (results / "tournament.csv").unlink()
    again = fresh.snakemake()
    assert again.status == 0, again.text
    assert "ballots" not in again.finished
    fresh.edit("specs/open.yaml", "skill: 1.0", "skill: 0.95")
    planned = fresh.snakemake("--dry-run").planned
    assert (planned["ballots"], planned["tournament"]) == (1, 1)
    assert "debate" not in planned
