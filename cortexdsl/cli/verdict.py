"""`cortexdsl verdict`: test the families and claims of an experiment."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.analysis.arms import Arm
from cortexdsl.analysis.compare import compare_families
from cortexdsl.analysis.hypotheses import judge_claims
from cortexdsl.analysis.metrics.table import metrics_table
from cortexdsl.analysis.table import read_table
from cortexdsl.plan.declared import declared_claims
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.store import families_of, read_plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("results", help="folder of the experiment's results, with plan.json and scores.csv")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    layout = Layout(args.results.rstrip("/"))
    plan = read_plan(Path(layout.plan))
    scores = read_table(Path(layout.table("scores")))
    arms = [Arm.of(cell) for cell in plan["cells"]]
    seed, metrics = plan["seed"], plan["metrics"]
    metrics_table(scores, seed=seed).to_csv(layout.metrics, index=False)
    compare_families(scores, families_of(plan), metrics, seed, arms).to_csv(layout.comparisons, index=False)
    judge_claims(
        scores,
        plan["hypotheses"],
        seed,
        arms,
        declared=declared_claims(layout, plan["hypotheses"]),
        alpha=plan["analysis"].get("alpha", 0.05),
        correction=plan["analysis"].get("correction", "holm"),
    ).to_csv(layout.hypotheses, index=False)
    return 0
