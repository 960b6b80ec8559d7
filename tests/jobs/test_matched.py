"""Matched budgets, run job by job with the built-in solver, and what the report says of them."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest

from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.job_digests import score_digest
from cortexdsl.report.build import build_report
from tests.jobs.experiment import call, run_jobs, write_spec

SPEC = """\
seed: 3
dataset: {name: arithmetic, size: 40}
models:
  weak: {model: builtin/solver, skill: 0.5, parameters: 0.5e9, tokens: 1e12, price: {input: 0.1, output: 0.4}}
  mixture: {model: builtin/solver, skill: 0.7, parameters: 30e9, active_parameters: 3e9, tokens: 1e12, price: {input: 1, output: 4}}
agents: [{name: a, model: weak}, {name: b, model: weak}, {name: c, model: mixture}]
methods:
  full: {protocol: multi-llm, rounds: 2}
  priced: {protocol: self-consistency, agents: [c], budget: dollars(full)}
  rounds: {protocol: multi-llm, agents: [a, b], budget: tokens(full), grow: rounds}
  layered: {protocol: moa, budget: compute(full), grow: {layers: [2, 3, 4, 5]}}
  agreed: {protocol: cortexdebate, budget: tokens(full), grow: rounds}
analysis: {metrics: [accuracy, depth, critical_path, pass_at_1]}
hypotheses: ["priced on front of accuracy, dollars", "depth(priced) < depth(full)"]
"""  # noqa: E501


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished experiment, with its report but no figures."""
    folder = tmp_path_factory.mktemp("matched")
    with chdir(folder):
        run_jobs(write_spec(SPEC))
        build_report(Path("results/small"), has_figures=False)
    return folder / "results" / "small"


@pytest.fixture(scope="module")
def scores(results: Path) -> pd.DataFrame:
    return pd.read_csv(results / "scores.csv")


@pytest.mark.parametrize(
    ("cell", "metric"), [("priced", "dollars"), ("rounds", "total_tokens"), ("layered", "compute")]
)
def test_a_matched_cell_spends_its_budget(results: Path, scores: pd.DataFrame, cell: str, metric: str) -> None:
    """Within 10 % on 40 questions, and exactly as the table says."""
    means = scores.groupby("cell")[metric].mean()
    reached = means[cell] / means["full"]
    assert reached == pytest.approx(1.0, abs=0.1)
    row = pd.read_csv(results / "matches.csv").set_index("cell").loc[cell]
    assert row["ratio"] == pytest.approx(reached)
    assert row["ci_low"] < row["ratio"] < row["ci_high"]


def test_a_debate_that_ends_by_itself_is_said_to_miss_its_budget(results: Path) -> None:
    """CortexDebate stops on consensus, whatever rounds it may have."""
    page = " ".join((results / "report.html").read_text(encoding="utf-8").split())
    assert "Budgets missed by more than 10%: agreed spent 0." in page
    assert "times the tokens per question of full" in page


def test_a_mixture_computes_with_its_active_parameters(results: Path, scores: pd.DataFrame) -> None:
    """Self-consistency of one agent alone: 2 x 3e9 for each token."""
    own = scores[scores["cell"] == "priced"]
    assert (own["compute"] == 2 * 3e9 * own["total_tokens"]).all()
    agents = json.loads((results / "debates/arithmetic/priced/r1-s01.jsonl").read_text().splitlines()[0])["agents"]
    assert "active_parameters" not in agents[0]


def test_seconds_come_from_the_call_log(results: Path, scores: pd.DataFrame) -> None:
    """The chain of a debate of depth three lasts as long as three of its calls at least, and not longer than all."""
    logged = {}
    for path in (results / "calls/arithmetic/r1-s01").glob("*.jsonl"):
        logged |= {line["key"]: line["seconds"] for line in map(json.loads, path.read_text().splitlines())}
    own = scores[scores["cell"] == "full"].set_index("question_id")
    for line in (results / "debates/arithmetic/full/r1-s01.jsonl").read_text().splitlines():
        debate = json.loads(line)
        rounds = [[logged[turn["call"]] for turn in debate["turns"] if turn["round"] == number] for number in range(3)]
        expected = sum(max(seconds) for seconds in rounds)
        assert own.loc[debate["question_id"], "critical_path"] == pytest.approx(expected)
    assert (own["depth"] == 3).all()


def test_replayed_debates_and_scores_are_the_same_bytes(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Growth, rounding and seconds follow from the call logs and the seed alone."""
    monkeypatch.chdir(results.parents[1])
    plan = compile_spec("specs/small.yaml")
    for cell in ("priced", "layered"):
        out = Path(plan.layout.debates("arithmetic", cell, "r1-s01"))
        part = Path(plan.layout.part("scores", "arithmetic", cell))
        before = out.read_bytes(), part.read_bytes()
        out.unlink()
        at = ["specs/small.yaml", "--dataset", "arithmetic", "--cell", cell]
        call("debate", *at, "--shard", "r1-s01", "--out", out.as_posix())
        call("score", *at)
        assert (out.read_bytes(), part.read_bytes()) == before


def test_the_depth_that_the_plan_fixes_is_certain(results: Path) -> None:
    """Full debate has three calls one after another; that of a matched cell is not fixed, but never differs."""
    plan = json.loads((results / "plan.json").read_text(encoding="utf-8"))
    fixed = {cell["cell"]: cell["fixed"] for cell in plan["cells"]}
    assert fixed["full"] == {"rounds": 2.0, "calls": 9.0, "depth": 3.0}
    assert fixed["priced"] == {}


def test_only_what_a_spec_names_changes_how_it_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A price changes no score; the size of a model does, once its operations are counted; records never depend."""
    monkeypatch.chdir(tmp_path)
    plain = SPEC.replace(", depth, critical_path, pass_at_1", "").split("hypotheses")[0]
    for cell in ("priced", "rounds", "layered", "agreed"):
        plain = "\n".join(line for line in plain.splitlines() if not line.startswith(f"  {cell}:"))

    def digests(text: str) -> tuple[str, str]:
        plan = compile_spec(write_spec(text))
        return score_digest(plan, "arithmetic", "full"), plan.cell("full").digest

    sized = plain.replace("active_parameters: 3e9", "active_parameters: 4e9")
    assert digests(plain) == digests(sized)
    asked, bigger = (text.replace("[accuracy]", "[accuracy, compute]") for text in (plain, sized))
    assert digests(asked)[0] not in (digests(plain)[0], digests(bigger)[0])
    assert digests(asked)[1] == digests(plain)[1]
