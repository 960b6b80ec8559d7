"""`cortexdsl look`: ask, after a batch of questions, whether every claim is decided. The workflow calls it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.analysis.claims.hypotheses import withdrawn_claims
from cortexdsl.analysis.metrics.view import graded_at_once
from cortexdsl.analysis.sequential.sequential import judge_anytime
from cortexdsl.analysis.units.arms import Arm
from cortexdsl.analysis.units.scores import Row, check_complete, read_rows, write_scores
from cortexdsl.analysis.units.table import ScoreTable, read_table, score_table
from cortexdsl.cli.score import cell_scores
from cortexdsl.errors import InputError
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.ledger import read_ledger
from cortexdsl.plan.looks import SCHEMA_VERSION
from cortexdsl.records import read_debates
from cortexdsl.records.files import write_lines

SHOWN = ["claim", "verdict", "estimate", "p_adjusted"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec, which has stopping")
    parser.add_argument("--experiment", help="name of the experiment; by default that of the spec")
    parser.add_argument("--batch", required=True, type=int, help="the batch of questions that is finished, from 1")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec, experiment=args.experiment)
    if plan.stopping is None or not 1 <= args.batch <= plan.batches:
        raise InputError(f"{args.spec}: there is no look {args.batch}; looks are taken with stopping, after each batch")
    write_scores(Path(plan.layout.look_scores(args.batch)), _batch_scores(plan, args.batch))
    paths = [Path(plan.layout.look_scores(batch)) for batch in range(1, args.batch + 1)]
    table = score_table(pd.concat([read_table(path).frame for path in paths]), plan.layout.look_scores("*"))
    rows = [row for path in paths for row in read_rows(path)]
    check_complete(rows, [cell.name for cell in plan.cells], plan.replicates, plan.question_ids(args.batch))
    verdicts = anytime_verdicts(
        table,
        plan.hypotheses,
        [Arm(cell.name, cell.method, cell.aliases, cell.axes) for cell in plan.cells],
        declared=read_ledger(plan.layout).claims,
        planned={dataset: len(ids) for dataset, ids in plan.question_ids().items()},
        alpha=plan.stopping.alpha,
        correction=plan.analysis["correction"],
    )
    record = _record(plan, args.batch, table, verdicts)
    write_lines(Path(plan.layout.look(args.batch)), json.dumps(record, indent=1).splitlines())
    decided = sum(claim["verdict"] != "undecided" for claim in record["claims"])
    print(f"look {args.batch} of at most {plan.batches}: {decided} of {len(record['claims'])} claims are decided")
    return 0


def anytime_verdicts(
    scores: ScoreTable,
    claims: Sequence[str],
    arms: Sequence[Arm],
    *,
    declared: Collection[str],
    planned: Mapping[str, int],
    alpha: float,
    correction: str,
) -> pd.DataFrame:
    """Answer claims validly at any look: declared ones adjusted among themselves, exploratory ones among all."""
    withdrawn = withdrawn_claims(claims, declared)
    judge = partial(
        judge_anytime, scores, arms=arms, planned=planned, alpha=alpha, correction=correction, withdrawn=withdrawn
    )
    found = judge(claims)
    early = found["claim"].isin(set(declared)).to_numpy()
    if early.all() or not early.any():
        return found.assign(exploratory=~early)
    mine = found["claim"][early].tolist()
    own = judge(mine)
    found.loc[early] = own.set_axis(found.index[early])
    return found.assign(exploratory=~early)


def _batch_scores(plan: Plan, batch: int) -> list[Row]:
    rows: list[Row] = []
    for dataset, task in plan.tasks.items():
        for cell in plan.cells:
            paths = plan.batch_of(dataset, cell.slug, batch)
            records = [record for path in paths for record in read_debates(Path(path))]
            rows += cell_scores(plan, dataset, cell.slug, records, graded_at_once(records, task.grade_all))
    return rows


def _record(plan: Plan, batch: int, table: ScoreTable, verdicts: pd.DataFrame) -> dict[str, Any]:
    """What the look found; what the questions that are left would cost, if they cost what those before did."""
    asked, planned = plan.question_ids(batch), plan.question_ids()
    calls, left = 0.0, 0.0
    spent = table.column("calls")
    for code, dataset in enumerate(table.datasets):
        here = float(spent[table.dataset == code].sum())
        calls += here
        left += here * (len(planned[dataset]) / len(asked[dataset]) - 1)
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": plan.experiment,
        "batch": batch,
        "batches": plan.batches,
        "questions": {dataset: len(ids) for dataset, ids in asked.items()},
        "planned": {dataset: len(ids) for dataset, ids in planned.items()},
        "calls": round(calls),
        "calls_left": round(left),
        "decided": bool((verdicts["verdict"] != "undecided").all()),
        "claims": json.loads(verdicts[SHOWN].to_json(orient="records", double_precision=15)),
    }
