"""Labels from the debates to the verdict: logged, replayed, counted in the estimate, and made again alone."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.workflow.bench import AFTER_SCORES, OWN_STUB, Bench, Run, serving

pytestmark = pytest.mark.workflow

SPEC = """\
title: Labelled
seed: 2
dataset: {name: arithmetic, size: 8}
models:
  small: {model: builtin/solver, skill: 0.5}
  wise: {model: builtin/solver, skill: 1.0, malformed: 0.2}
agents: [{name: one, model: small}, {name: two, model: small}, {name: three, model: small}]
methods:
  vote: {protocol: voting}
  talk: {protocol: multi-llm, rounds: 1}
labels:
  adoption: built-in
  error_made: built-in
  own: changed and not heard
analysis: {judge: wise}
hypotheses:
  - turns_with_adoption(talk) > turns_with_adoption(vote)
  - debates_with_error_made(talk) < 0.5
"""
GOLD = "Reference answer:"


def test_turns_are_labelled_from_debates_to_verdicts(fresh: Bench) -> None:
    """Each turn has each label once; the judge's calls are in no log of debates; replay makes the same files."""
    fresh.write("specs/labelled.yaml", SPEC)
    run = fresh.snakemake()
    assert run.status == 0, run.text
    assert run.finished == {"declare": 1, "debate": 2, "label": 2, "labels": 1, "score": 2, "plan": 1, **AFTER_SCORES}
    results, rows = fresh.results("labelled"), fresh.rows("labelled", "labels.csv")
    debates = fresh.debates("labelled")
    turns = [(one["cell"], one["question_id"], turn["turn"]) for one in debates for turn in one["turns"]]
    keys = Counter((row["cell"], row["question_id"], int(row["turn"]), row["label"]) for row in rows)
    assert keys == Counter((*turn, label) for turn in turns for label in ("adoption", "error_made", "own"))
    assert {row["value"] for row in rows if row["label"] != "error_made"} == {"yes", "no"}
    assert {row["value"] for row in rows if row["label"] == "error_made"} == {"yes", "no", ""}

    # Scores count them, and claims are decided on the scores.
    scores = {(row["cell"], row["question_id"]): row for row in fresh.rows("labelled", "scores.csv")}
    for (cell, question), row in scores.items():
        mine = [one for one in rows if (one["cell"], one["question_id"]) == (cell, question)]
        adopted = [one["value"] == "yes" for one in mine if one["label"] == "adoption"]
        assert float(row["turns_with_adoption"]) == pytest.approx(sum(adopted) / len(adopted))
        read = [one["value"] == "yes" for one in mine if one["label"] == "error_made" and one["value"]]
        assert float(row["debates_with_error_made"]) == any(read)
    claims = [row["claim"] for row in fresh.rows("labelled", "hypotheses.csv")]
    assert claims[0] == "turns_with_adoption(talk) > turns_with_adoption(vote)"

    calls = results / "judgements" / "arithmetic" / "calls"
    # Openings are the same in both cells, so the log of the cell that is labelled second may be empty.
    asked = [line for path in calls.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    assert asked
    assert all(GOLD in line for line in asked)
    debating = list((results / "calls").rglob("*.jsonl"))
    assert debating
    assert not any(GOLD in path.read_text() for path in debating)
    assert "4 of 4 jobs replayed" in fresh.cortexdsl("replay", "specs/labelled.yaml").text
    assert fresh.cortexdsl("verify", "results/labelled").status == 0

    # The estimate is what can be sent at most: 24 turns of vote, 48 of talk.
    plan = fresh.cortexdsl("plan", "specs/labelled.yaml").text
    assert " 72 " in next(line for line in plan.splitlines() if line.startswith("(labels)"))

    # A copy of the table with other values is compared with it; the labels of the run stay.
    before = (results / "labels.csv").read_bytes()
    columns = list(rows[0])
    mine = [{**row, "value": row["value"] or "no"} for row in rows if row["label"] == "error_made"]

    def compared(table: list[dict[str, str]]) -> Run:
        lines = [",".join(columns), *(",".join(row[name] for name in columns) for row in table)]
        fresh.write("mine.csv", "\n".join(lines) + "\n")
        return fresh.cortexdsl("labels", "specs/labelled.yaml", "--human", "mine.csv")

    unread = sum(row["label"] == "error_made" and not row["value"] for row in rows)
    told = compared(mine)
    assert told.status == 0, told.text
    assert "error_made  kappa 1.00, equal 100.0%" in told.text
    assert f"{unread} unreadable" in told.text
    for wrong, said in (
        ([{**mine[0], "value": "maybe"}], "mine.csv:2: 'maybe' is not a value of error_made"),
        ([mine[0], mine[0]], "mine.csv:3: a second value for the same label"),
        ([{**mine[0], "turn": "99"}], "has no such label"),
        ([{**mine[0], "value": ""}], "no row has a value"),
    ):
        told = compared(wrong)
        assert told.status == 2
        assert said in told.text
    assert (results / "labels.csv").read_bytes() == before

    # Another rule makes labels and scores again, and asks no debater; a claim alone labels nothing.
    fresh.edit("specs/labelled.yaml", "own: changed and not heard", "own: changed and new")
    assert fresh.snakemake("--dry-run").planned == {"label": 2, "labels": 1, "score": 2, "plan": 1, **AFTER_SCORES}
    fresh.edit("specs/labelled.yaml", "own: changed and new", "own: changed and not heard")
    fresh.edit("specs/labelled.yaml", "< 0.5", "< 0.6")
    assert not {"label", "labels", "score", "debate"} & set(fresh.snakemake("--dry-run").planned)


def test_labels_of_the_judge_count_in_limits(fresh: Bench) -> None:
    """The calls about turns are counted with those of the debates: together they do not exceed the limit."""
    fresh.write("specs/labelled.yaml", SPEC + "limits: {calls: 60}\n")
    run = fresh.snakemake()
    assert run.status != 0
    assert "labels" not in run.finished
    results = fresh.results("labelled")
    logs = [*(results / "calls").rglob("*.jsonl"), *(results / "judgements").rglob("calls/*.jsonl")]
    assert sum(len(path.read_text().splitlines()) for path in logs) == 60
    assert any((results / "judgements").rglob("calls/*.jsonl"))


def test_labels_whose_calls_failed_are_asked_for_again_on_request(fresh: Bench) -> None:
    """Other turns keep their labels, and no debater is asked."""
    remote = "wise: {model: direct/judge, api_base: env:STUB_URL}"
    spec = SPEC.replace("wise: {model: builtin/solver, skill: 1.0, malformed: 0.2}", remote)
    fresh.write("specs/labelled.yaml", spec + "limits: {failed: 100%}\n")
    with serving(OWN_STUB, "--fault", "context=0.5") as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake("results/labelled/labels.csv")
        assert run.status == 0, run.text
    logs = sorted((fresh.results("labelled") / "judgements").rglob("calls/*.jsonl"))
    calls = [json.loads(line) for path in logs for line in path.read_text(encoding="utf-8").splitlines()]
    broken = {call["key"] for call in calls if call["error"]}
    assert broken
    with serving(OWN_STUB) as server:
        fresh.environment["STUB_URL"] = server.address
        again = fresh.snakemake("results/labelled/labels.csv", "--config", "errors_again=true")
        assert again.status == 0, again.text
        assert "label" in again.finished
        assert "debate" not in again.finished
        assert server.stats()["calls"] == len(broken)
