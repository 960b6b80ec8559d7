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
from cortexdsl.plan.persistence.store import LOOK_VERSION, batches_by_cell, live_in
from cortexdsl.plan.persistence.verification import check_files
from cortexdsl.records import read_all
from cortexdsl.stats.sequential.sequential import evaluate_anytime, live_cells
from cortexdsl.stats.tables.score_table import ASKED_COLUMN, ScoreTable, read_table, score_table
from cortexdsl.stats.verdicts import withdrawn_claims

SHOWN = ["claim", "verdict", "estimate", "p_adjusted"]


def _work(plan: Plan, args: argparse.Namespace) -> None:
    if plan.stopping is None or not 1 <= args.batch <= plan.batches:
        raise InputError(f"{args.spec}: there is no look {args.batch}; looks are taken with stopping, after each batch")
    looks = range(1, args.batch)
    check_files(plan.layout, [of(batch) for batch in looks for of in (plan.layout.look, plan.layout.look_scores)])
    live = live_in(plan, args.batch)
    write_scores(Path(plan.layout.look_scores(args.batch)), _batch_scores(plan, args.batch, live))
    paths = [Path(plan.layout.look_scores(batch)) for batch in range(1, args.batch + 1)]
    batches = batches_by_cell(plan, args.batch)
    check_cells(plan, [row for path in paths for row in read_rows(path)], batches)
    frame = pd.concat([read_table(path).frame for path in paths], ignore_index=True)
    questions_asked = _questions_asked(plan, batches)
    keys = zip(frame["dataset"], frame["cell"], strict=True)
    table = score_table(
        frame.assign(**{ASKED_COLUMN: [questions_asked[key] for key in keys]}), plan.layout.look_scores("*")
    )
    table = table.with_most(most_of_question(plan))
    declared, stopping = read_journal(plan.layout).claims, plan.stopping
    rule: dict[str, Any] = {
        "planned": {dataset: len(ids) for dataset, ids in plan.question_ids().items()},
        "alpha": stopping.alpha,
        "correction": plan.analysis["correction"],
    }
    verdicts = anytime_verdicts(table, plan.hypotheses, plan.arms, declared=declared, **rule)
    if stopping.rule == "racing":
        among, withdrawn = [plan.cell(slug).name for slug in live], withdrawn_claims(plan.hypotheses, declared)
        named = set(live_cells(table, plan.hypotheses, plan.arms, among=among, withdrawn=withdrawn, **rule))
        budgets = {plan.cell_named(cell.match.cell).name for cell in plan.cells if cell.match and cell.name in named}
        live = [slug for slug in live if plan.cell(slug).name in named | budgets]
    record = _record(plan, args.batch, table, verdicts, questions_asked, live)
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


def _questions_asked(plan: Plan, batches: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Return how many questions of each dataset each cell was asked."""
    return {
        (dataset, plan.cell(slug).name): len(ids)
        for slug, batch in batches.items()
        for dataset, ids in plan.question_ids(batch).items()
    }


def _batch_scores(plan: Plan, batch: int, live: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for dataset, task in plan.tasks.items():
        for slug in live:
            paths = batch_files(plan, dataset, slug, batch)
            records = read_all(paths)
            rows += cell_scores(plan, dataset, slug, records, grade_together(records, task.grade_all))
    return rows


def _record(
    plan: Plan, batch: int, table: ScoreTable, verdicts: pd.DataFrame, questions_asked: Mapping[tuple[str, str], int],
    live: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the result of a look, with the calls of the remaining questions if these cost as much as those before."""
    planned = plan.question_ids()
    calls, left = 0.0, 0.0
    spent = table.column("calls")
    for (dataset, cell), count in questions_asked.items():
        mine = (table.dataset == table.datasets.index(dataset)) & (table.cell == table.cells.index(cell))
        here = float(spent[mine].sum())
        calls += here
        left += here * (len(planned[dataset]) / count - 1)
    return {
        "schema_version": LOOK_VERSION,
        "experiment": plan.experiment,
        "batch": batch,
        "batches": plan.batches,
        "questions": {dataset: len(ids) for dataset, ids in plan.question_ids(batch).items()},
        "planned": {dataset: len(ids) for dataset, ids in planned.items()},
        "calls": round(calls),
        "calls_left": round(left),
        "decided": bool((verdicts["verdict"] != "undecided").all()) or not live,
        "live": list(live),
        "asked": {
            cell: sum(n for (_, name), n in questions_asked.items() if name == cell) for _, cell in questions_asked
        },
        "claims": json.loads(verdicts[SHOWN].to_json(orient="records", double_precision=15)),
    }
