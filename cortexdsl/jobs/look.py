"""Rule `look`: after a batch of questions, decide whether the next one is needed.

Reads the debates of the batch and the earlier looks. Writes the scores of the batch, and which claims are decided.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.checksums import write_lines
from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.values import one_line
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import JobVerb
from cortexdsl.jobs.score import cell_scores, check_cells
from cortexdsl.metrics.scores import Row, read_rows, write_scores
from cortexdsl.metrics.view import grade_together
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import most_of_question
from cortexdsl.plan.job_files import batch_files
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.plan.persistence.store import LOOK_VERSION
from cortexdsl.plan.persistence.verification import check_files
from cortexdsl.records import read_all
from cortexdsl.stats.sequential.sequential import evaluate_anytime
from cortexdsl.stats.tables.score_table import ScoreTable, read_table, score_table
from cortexdsl.stats.verdicts import withdrawn_claims

SHOWN = ["claim", "verdict", "estimate", "p_adjusted"]


def _work(plan: Plan, args: argparse.Namespace) -> None:
    if plan.stopping is None or not 1 <= args.batch <= plan.batches:
        raise InputError(f"{args.spec}: there is no look {args.batch}; looks are taken with stopping, after each batch")
    looks = range(1, args.batch)
    check_files(plan.layout, [of(batch) for batch in looks for of in (plan.layout.look, plan.layout.look_scores)])
    write_scores(Path(plan.layout.look_scores(args.batch)), _batch_scores(plan, args.batch))
    paths = [Path(plan.layout.look_scores(batch)) for batch in range(1, args.batch + 1)]
    check_cells(plan, [row for path in paths for row in read_rows(path)], args.batch)
    frame = pd.concat([read_table(path).frame for path in paths], ignore_index=True)
    table = score_table(frame, plan.layout.look_scores("*")).with_most(most_of_question(plan))
    declared, stopping = read_journal(plan.layout).claims, plan.stopping
    rule: dict[str, Any] = {
        "planned": {dataset: len(ids) for dataset, ids in plan.question_ids().items()},
        "alpha": stopping.alpha,
        "correction": plan.analysis["correction"],
    }
    verdicts = anytime_verdicts(table, plan.hypotheses, plan.arms, declared=declared, **rule)
    record = _record(plan, args.batch, table, verdicts)
    write_lines(Path(plan.layout.look(args.batch)), json.dumps(record, indent=1).splitlines())
    record_files(plan.layout, [plan.layout.look(args.batch), plan.layout.look_scores(args.batch)])
    decided = sum(claim["verdict"] != "undecided" for claim in record["claims"])
    print(f"look {args.batch} of at most {plan.batches}: {decided} of {len(record['claims'])} claims are decided")


JOB = JobVerb("--batch", _work)


def anytime_verdicts(
    scores: ScoreTable,
    claims: Sequence[str],
    arms: Sequence[CellNames],
    *,
    declared: Collection[str],
    planned: Mapping[str, int],
    alpha: float,
    correction: str,
) -> pd.DataFrame:
    """Test claims validly at any look: declared ones are adjusted among themselves, exploratory ones among all."""
    withdrawn = withdrawn_claims(claims, declared)
    how: dict[str, Any] = {"alpha": alpha, "correction": correction}

    def judge(these: Sequence[str]) -> pd.DataFrame:
        return evaluate_anytime(scores, these, arms, planned=planned, withdrawn=withdrawn, **how)

    verdicts = judge(claims)
    names = {one_line(claim) for claim in declared}
    early = verdicts["claim"].map(lambda claim: one_line(claim) in names).to_numpy(dtype=bool)
    if early.all() or not early.any():
        return verdicts.assign(exploratory=~early)
    mine = verdicts["claim"][early].tolist()
    own = judge(mine)
    verdicts.loc[early] = own.set_axis(verdicts.index[early])
    return verdicts.assign(exploratory=~early)


def _batch_scores(plan: Plan, batch: int) -> list[Row]:
    rows: list[Row] = []
    for dataset, task in plan.tasks.items():
        for cell in plan.cells:
            records = read_all(batch_files(plan, dataset, cell.slug, batch))
            rows += cell_scores(plan, dataset, cell.slug, records, grade_together(records, task.grade_all))
    return rows


def _record(plan: Plan, batch: int, table: ScoreTable, verdicts: pd.DataFrame) -> dict[str, Any]:
    """Return the result of a look, with the calls of the remaining questions if these cost as much as those before."""
    planned, asked = plan.question_ids(), plan.question_ids(batch)
    calls, left = 0.0, 0.0
    spent = table.column("calls")
    for dataset, ids in asked.items():
        here = float(spent[table.dataset == table.datasets.index(dataset)].sum())
        calls += here
        left += here * (len(planned[dataset]) / len(ids) - 1)
    return {
        "schema_version": LOOK_VERSION,
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
