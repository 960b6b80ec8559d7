"""Debates that say how sure they are and hand questions on, and beliefs, run job by job with the built-in solver."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest

from cortexdsl.metrics.calibration import debate_confidence
from cortexdsl.metrics.view import view_debate
from cortexdsl.records import Record, debate_files, read_debates
from tests.jobs.experiment import run_jobs, write_spec

SPEC = """\
seed: 3
dataset: {name: arithmetic, size: 12}
models:
  weak: {model: builtin/solver, skill: 0.4, price: {input: 0.1, output: 0.4}}
  able: {model: builtin/solver, skill: 0.95, price: {input: 1, output: 4}}
agents: [{name: a, model: weak}, {name: b, model: weak}, {name: c, model: weak}, {name: d, model: able}]
teams: {small: [a, b, c]}
methods:
  vote: {protocol: multi-llm, agents: small, rounds: 1}
  expert: {protocol: cot, agents: [d]}
  handing: {extends: vote, debate_confidence: weighted, defer: {below: 0.7, to: expert}}
  beliefs: {protocol: believing, agents: small}
protocols:
  believing:
    steps:
      answer: {role: debater, reads: belief, prompt: common/belief.j2}
      revise: {role: debater, hears: {weight: 1 - belief, keep: {top: 1}}, prompt: multi-llm/revise.j2}
    schedule: [answer, revise]
    decide: weighted
analysis: {metrics: [accuracy, deferred, debate_confidence, brier_debate, ece_debate, dollars]}
hypotheses: ["ece_debate(handing) < 0.9", "ece_debate(vote) < 1"]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished experiment."""
    folder = tmp_path_factory.mktemp("defer")
    with chdir(folder):
        run_jobs(write_spec(SPEC))
    return folder / "results" / "small"


@pytest.fixture(scope="module")
def scores(results: Path) -> pd.DataFrame:
    return pd.read_csv(results / "scores.csv").set_index(["cell", "question_id"])


@pytest.fixture(scope="module")
def records(results: Path) -> dict[str, dict[str, Record]]:
    found: dict[str, dict[str, Record]] = {}
    for path in debate_files(results):
        for record in read_debates(path):
            found.setdefault(record.header.cell, {})[record.debate.question_id] = record
    return found


def test_unsure_questions_are_answered_by_the_expert_and_cost_both(
    scores: pd.DataFrame, records: dict[str, dict[str, Record]]
) -> None:
    """Calls, tokens, dollars and answers are those of both cells, question by question."""
    handed = [name for name, record in records["handing"].items() if record.debate.deferred is not None]
    assert 0 < len(handed) < 12
    for name, record in records["handing"].items():
        own, vote, expert = (scores.loc[(cell, name)] for cell in ("handing", "vote", "expert"))
        sure = record.debate.confidence
        assert sure is not None
        assert (name in handed) == (sure.confidence is None or sure.confidence < 0.7) == bool(own["deferred"])
        for column in ("calls", "total_tokens", "dollars"):
            assert own[column] == pytest.approx(vote[column] + (expert[column] if name in handed else 0))
        assert record.debate.answer == records["expert" if name in handed else "vote"][name].debate.answer
        assert own["score"] == (expert if name in handed else vote)["score"]


def test_other_records_are_as_they_were(records: dict[str, dict[str, Record]], results: Path) -> None:
    """And the share of votes is computed from them."""
    lines = (results / "debates/arithmetic/vote/r1-s01.jsonl").read_text().splitlines()
    assert all(not {"confidence", "deferred"} & json.loads(line).keys() for line in lines)
    record = next(iter(records["vote"].values()))
    view = view_debate(record.debate, lambda question, answer: 0.0)
    last = [turn.answer for turn in view.answers[-1]]
    assert debate_confidence(view) == pytest.approx(last.count(record.debate.answer) / 3)


def test_the_metrics_are_in_the_tables(results: Path, scores: pd.DataFrame) -> None:
    metrics = pd.read_csv(results / "metrics.csv").set_index(["cell", "metric"])["estimate"]
    vote = scores.loc["vote"]
    brier = ((vote["debate_confidence"] - vote["score"]) ** 2).mean()
    assert metrics["vote", "brier_debate"] == pytest.approx(brier)
    assert metrics["handing", "deferred"] == pytest.approx(scores.loc["handing"]["deferred"].mean())
    verdicts = pd.read_csv(results / "hypotheses.csv")
    assert verdicts["estimate"].iloc[1] == pytest.approx(metrics["vote", "ece_debate"])


def test_beliefs_are_read_and_weigh_edges(records: dict[str, dict[str, Record]]) -> None:
    """All solvers' distributions can be read; an edge weighs what its listener finds improbable of its speaker."""
    for record in records["beliefs"].values():
        opening = {turn.speaker: turn for turn in record.debate.turns if turn.round == 0}
        assert all(turn.belief for turn in opening.values())
        assert all(turn.confidence == turn.belief[turn.answer or ""] for turn in opening.values())
        (graph,) = [graph for graph in record.debate.graphs if graph.weight is not None]
        belief = graph.factors["belief"]
        for row, speaker in enumerate(graph.speakers):
            for column, listener in enumerate(graph.listeners):
                expected = opening[listener].belief.get(opening[speaker].answer or "", 0.0)
                assert belief[row, column] == pytest.approx(expected)
        assert record.debate.votes
