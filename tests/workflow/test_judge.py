"""Judged answers: asked about once, replayed, compared with exact match, and out of every debater's reach."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.models.call_log.folder import CallLogs
from tests.workflow.bench import AFTER_SCORES, OWN_STUB, Bench, serving

pytestmark = pytest.mark.workflow

SPEC = """\
title: Judged
seed: 2
replicates: 2
dataset: {file: words.jsonl, kind: text, metric: f1}
models:
  small: {model: builtin/solver}
  wise: {model: builtin/solver, skill: 1.0}
agents: [{name: one, model: small}, {name: two, model: small}, {name: three, model: small}]
methods:
  vote: {protocol: voting}
  talk: {protocol: multi-llm, rounds: 1}
analysis:
  metrics: [f1, judged]
  judge: wise
  families: {main: {compare: [talk], to: vote}}
hypotheses: [judged(talk) > judged(vote)]
"""
GOLD = "only the judge is told this"
QUESTIONS = ["Sea or lake?", "Moon or Mars?", "Iron or gold?", "Seven or nine?", "Rome or Oslo?"]


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_experiment_is_judged_from_its_debates_to_its_report(fresh: Bench) -> None:
    """Two cells: two judge jobs; a golds' word stands nowhere but in the judge's calls."""
    rows = [{"question": q, "answer": [q.split()[0], GOLD]} for q in QUESTIONS]
    fresh.write("specs/words.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    fresh.write("specs/judged.yaml", SPEC)
    run = fresh.snakemake()
    assert run.status == 0, run.text
    assert run.finished == {
        "declare": 1,
        "debate": 4,
        "judge": 2,
        "score": 2,
        "plan": 1,
        **AFTER_SCORES,
    }
    results = fresh.results("judged")

    # Scores: 1 exactly where the judge, who makes no mistakes, found the gold's word in the answer.
    said = {cell: {(row["question_id"], row["answer"]): row["judgement"] for row in lines(path)}
            for cell in ("vote", "talk") for path in [results / "judgements" / "words" / f"{cell}.jsonl"]}  # fmt: skip
    answers = {(row["cell"], row["replicate"], row["question_id"]): row["answer"] for row in fresh.debates("judged")}
    scores = fresh.rows("judged", "scores.csv")
    assert len(scores) == 20
    for row in scores:
        answer = answers[row["cell"], int(row["replicate"]), row["question_id"]]
        assert row["judged"] == str(int(said[row["cell"]][row["question_id"], answer] == "correct"))
        assert float(row["em"]) <= float(row["f1"]) == float(row["score"])
    assert {row["metric"] for row in fresh.rows("judged", "comparisons.csv")} == {"f1", "judged"}
    assert {"em", "f1", "judged"} <= {row["metric"] for row in fresh.rows("judged", "metrics.csv")}
    assert fresh.rows("judged", "hypotheses.csv")[0]["claim"] == "judged(talk) > judged(vote)"

    # Each different answer once, over both cells and replicates; a judge without mistakes and one-word golds agree.
    logs = CallLogs(results / "judgements" / "words" / "calls")
    together = {answered for judged in said.values() for answered in judged}
    assert len(logs) == len(together)

    # The golds are in the judge's calls and in nothing that a debater was asked.
    # Whichever cell asks a call first has it in its log.
    asked = (results / "judgements" / "words" / "calls").glob("*.jsonl")
    assert any(GOLD in path.read_text() for path in asked)
    debating = [*(results / "calls").rglob("*"), *(results / "debates").rglob("*"), results / "plan.json"]
    assert not any(GOLD.encode() in path.read_bytes() for path in debating if path.is_file())

    # Replayed, debates and judgements come out byte for byte; another judge runs what is judged again, no debate.
    assert "6 of 6 jobs replayed" in fresh.cortexdsl("replay", "specs/judged.yaml").text
    fresh.edit("specs/judged.yaml", "skill: 1.0", "skill: 0.9")
    assert fresh.snakemake("--dry-run").planned == {
        "judge": 2, "score": 2, "plan": 1, **AFTER_SCORES
    }  # fmt: skip


def test_a_debater_cannot_be_asked_with_what_the_judge_is_told(fresh: Bench) -> None:
    """Golds are no variable of any step, so that the template does not render; the judge's own gives no format."""
    fresh.write("specs/words.jsonl", json.dumps({"question": "Sea or lake?", "answer": "sea"}) + "\n")
    fresh.write("specs/prompts/told.j2", "{{ question.text }} It is {{ golds[0] }}. {{ answer_format }}\n")
    for prompt, said in (("told.j2", "no variable golds"), ("common/judge.j2", "{{ answer_format }}")):
        fresh.write("specs/judged.yaml", SPEC.replace("voting}", f"voting, prompts: {{answer: {prompt}}}}}"))
        run = fresh.cortexdsl("check", "specs/judged.yaml")
        assert run.status == 2
        assert said in run.text


def test_a_judge_s_calls_that_failed_are_asked_again_on_request(fresh: Bench) -> None:
    """Where failures are allowed, an answer that nobody judged counts as not correct: it once did so for ever."""
    rows = [{"question": q, "answer": [q.split()[0]]} for q in QUESTIONS]
    fresh.write("specs/words.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    remote = "wise: {model: direct/judge, api_base: env:STUB_URL}"
    spec = SPEC.replace("wise: {model: builtin/solver, skill: 1.0}", remote).replace(
        "  talk: {protocol", "  cot: {protocol"
    )
    spec = (
        spec.replace("multi-llm, rounds: 1", "cot, agents: [one]").replace("talk", "cot") + "limits: {failed: 100%}\n"
    )
    fresh.write("specs/judged.yaml", spec)
    results = fresh.results("judged")

    def failed() -> set[str]:
        kept: dict[str, list[object]] = {}
        for path in sorted((results / "judgements" / "words" / "calls").glob("*.jsonl")):
            for call in lines(path):
                kept.setdefault(str(call["key"]), []).append(call["error"])
        return {key for key, errors in kept.items() if None not in errors}

    with serving(OWN_STUB, "--fault", "context=0.5") as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake("results/judged/scores.csv")
        assert run.status == 0, run.text
    broken = failed()
    assert broken
    with serving(OWN_STUB) as server:
        fresh.environment["STUB_URL"] = server.address
        again = fresh.snakemake("results/judged/scores.csv", "--config", "errors_again=true")
        assert "judge" in again.finished
        assert "debate" not in again.finished
        assert again.status == 0, again.text
        assert server.stats()["calls"] == len(broken)
    assert not failed()
