"""`cortexdsl verdict`: test the families and claims of an experiment."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.analysis.claims.hypotheses import judge_claims
from cortexdsl.analysis.metrics.table import metrics_table
from cortexdsl.analysis.planning.needed import questions_needed
from cortexdsl.analysis.sequential.sequential import look_ends
from cortexdsl.analysis.tests.compare import compare_families, missing_bounds
from cortexdsl.analysis.tests.datasets import rank_table
from cortexdsl.analysis.tests.omnibus import omnibus_families
from cortexdsl.analysis.units.answer_table import answers_beside, with_answers
from cortexdsl.analysis.units.table import ScoreTable, read_table
from cortexdsl.cli.jobs.history import families_with_history, with_history
from cortexdsl.cli.jobs.look import anytime_verdicts
from cortexdsl.plan.kept.ledger import read_ledger, record_verdicts
from cortexdsl.plan.kept.store import families_of, fixed_in, most_in, read_plan
from cortexdsl.plan.kept.table_seals import check_parts, check_tables, seal_tables
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.spec.claims.checks import needs_answers
from cortexdsl.spec.claims.language import parse_claim


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("results", help="folder of the experiment's results, with plan.json and scores.csv")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    layout = Layout(args.results.rstrip("/"))
    plan = read_plan(Path(layout.plan))
    check_tables(layout, [layout.table("scores")])
    scores = replace(read_table(Path(layout.table("scores"))), most=most_in(plan), fixed=fixed_in(plan))
    history = read_ledger(layout)
    arms = [Arm.of(cell) for cell in plan["cells"]]
    seed, metrics = plan["seed"], plan["metrics"]
    metrics_table(scores, seed=seed).to_csv(layout.metrics, index=False)
    families, stopping, alpha = families_of(plan), plan.get("stopping"), plan["analysis"].get("alpha", 0.05)
    compared = compare_families(scores, families, metrics, seed, arms)
    together = omnibus_families(scores, families, metrics, arms)
    if stopping:
        for tested in (compared, together):
            tested["test"] = tested["test"].map(_fixed_sample)
    families_with_history(compared, history).to_csv(layout.comparisons, index=False)
    together.to_csv(layout.omnibus, index=False)
    missing_bounds(scores, families, metrics, seed, arms, alpha=alpha).to_csv(layout.bounds, index=False)
    rank_table(scores, metrics, alpha).to_csv(layout.ranks, index=False)
    claims = plan["hypotheses"]
    declared = history.claims if history.entries or history.faults else claims  # a table from elsewhere has neither
    correction = plan["analysis"].get("correction", "holm")
    if any(needs_answers(parse_claim(claim)) for claim in claims):
        answers = answers_beside(Path(layout.table("scores")))
        check_parts(layout, answers)
        scores = with_answers(scores, answers)
    if stopping:
        alpha = stopping["alpha"]
        planned = {dataset: len(ids) for dataset, ids in plan["questions"].items()}
        looks = look_ends(max(planned.values()), stopping["batch"], stopping["fewest"])
        rule: dict[str, Any] = {"planned": planned, "alpha": alpha, "correction": correction, "looks": looks}
        found = anytime_verdicts(scores, claims, arms, declared=declared, **rule)
    else:
        how = {"alpha": alpha, "correction": correction, "finished": True}
        found = judge_claims(scores, claims, seed, arms, declared=declared, **how)
    history = record_verdicts(layout, seed, _lines(found), _asked(scores))
    judged = with_history(found, history, arms)
    if not stopping:
        judged["questions_needed"] = questions_needed(scores, found, arms, alpha=alpha, correction=correction)
    judged.to_csv(layout.hypotheses, index=False)
    made = (layout.metrics, layout.comparisons, layout.omnibus, layout.bounds, layout.ranks, layout.hypotheses)
    seal_tables(layout, made)
    return 0


def _fixed_sample(test: str) -> str:
    """Say that a test takes the number of questions as fixed, which it is not where one may stop early."""
    return test if test.startswith("none") else f"{test} (fixed sample: exploratory)"


def _lines(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Verdicts as the ledger keeps them: six digits, so that no platform's last bit is news."""
    shown = found[["claim", "verdict", "estimate", "p_adjusted"]]
    records = json.loads(shown.to_json(orient="records", double_precision=6))
    return [dict(record) for record in records]


def _asked(scores: ScoreTable) -> str:
    sizes = [f"{len(ids)} of {name}" for name, ids in zip(scores.datasets, scores.questions, strict=True)]
    return f"questions: {', '.join(sizes)}"
