"""`cortexdsl whatif`: debates branched from their own records with one thing left out, and what that changes."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from cortexdsl.analysis.metrics.view import Grade, graded_at_once
from cortexdsl.analysis.units.scores import Row
from cortexdsl.analysis.whatif.branches import branch_rows, called, whole_rows
from cortexdsl.analysis.whatif.effects import Asked, effects
from cortexdsl.analysis.whatif.shapley import Coalition, shapley_table
from cortexdsl.cli.arguments import add_connections, add_spec
from cortexdsl.cli.jobs.debate import add_trust, shift_of, with_tools
from cortexdsl.cli.jobs.judge import judge_records
from cortexdsl.errors import InputError
from cortexdsl.models.door import Counts, Job, open_door
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.cost.rehearse import rehearse_whatifs
from cortexdsl.plan.jobs.toolbox import check_trust, open_tools
from cortexdsl.plan.kept.declaration import declaration_of
from cortexdsl.plan.kept.ledger import declare
from cortexdsl.plan.kept.looks import batches_of
from cortexdsl.plan.kept.store import read_plan
from cortexdsl.plan.kept.table_seals import seal_tables
from cortexdsl.plan.parts.judging import JUDGED
from cortexdsl.plan.parts.whatif import Whatif, slug_of, whatif_of
from cortexdsl.records import Record, read_debates
from cortexdsl.records.files import write_lines
from cortexdsl.run import debate_shard
from cortexdsl.spec.claims.metric_names import range_of
from cortexdsl.spec.grammar.sections.whatif import PermutationsForm, ShapleyText
from cortexdsl.tasks.grading.judgements import Judgements
from cortexdsl.tasks.text_scores import text_grade, text_scores
from cortexdsl.terms import Limits, Without


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser, "the spec, whose debates are finished")
    parser.add_argument("--of", action="append", metavar="CELL", help="the cell that is branched from; may be repeated")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="WHAT",
        help="agent, edge, round or step for each in turn; agent=NAME, edge=SPEAKER:LISTENER, round=2, step=NAME;"
        " may be repeated. What the spec's whatif: asks for is done in any case",
    )
    parser.add_argument(
        "--shapley",
        nargs="?",
        const="exact",
        metavar="ORDERS",
        help="also what each agent is worth; over all coalitions, or so many drawn orders in which agents come in",
    )
    parser.add_argument("--plan", action="store_true", help="only say what it will ask, and ask nothing")
    parser.add_argument("--json", action="store_true", help="print JSON: one row a line")
    add_trust(parser)
    add_connections(parser)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec, experiment=args.experiment)
    asked = _with_arguments(plan, args)
    if args.plan:
        print(_planned(plan, asked))
        return 0
    for one in asked:
        check_trust(plan, plan.cell_named(one.cell), args.trust)
        _check_finished(plan, one.cell)
    declare(plan.layout, declaration_of(plan))
    limits = replace(plan.limits, connections=args.connections or plan.limits.connections)
    counts = asyncio.run(_debate(plan, asked, limits))
    print(
        f"{sum(len(one.debated) for one in asked)} counterfactuals of {len(asked)} cells: {counts.asked} calls sent, "
        f"{counts.replayed} replayed, {counts.failed} failed",
        file=sys.stderr,
    )
    asyncio.run(_judge(plan, asked, limits))
    found, worth = _tables(plan, asked)
    _write(Path(plan.layout.effects), found)
    _write(Path(plan.layout.shapley), worth)
    seal_tables(plan.layout, [plan.layout.effects, plan.layout.shapley])
    for table in (found, worth):
        if args.json:
            sys.stdout.write(table.to_json(orient="records", lines=True, double_precision=15) if len(table) else "")
        elif len(table):
            print(_shown(table))
    return 0


def _with_arguments(plan: Plan, args: argparse.Namespace) -> list[Whatif]:
    """Return what the spec asks for, and what the command line asks for besides."""
    asked = {one.cell: one for one in plan.whatifs}
    if args.without or args.shapley:
        for name in args.of or _only_cell(plan):
            cell = plan.cell_named(name)
            more = whatif_of(cell, args.without, _shapley(args.shapley), plan.seed)
            known = asked.get(cell.name, Whatif(cell.name, ()))
            merged = tuple(dict.fromkeys([*known.without, *more.without]))
            asked[cell.name] = Whatif(cell.name, merged, more.coalitions or known.coalitions)
    elif args.of:
        raise InputError("--of names a cell, and nothing says what to leave out of it\n    add --without agent")
    if not asked:
        raise InputError(
            f"{args.spec}: nothing says what to leave out\n"
            "    add --without agent (or edge, round, step), or write whatif: {CELL: {without: [agent]}} into the spec"
        )
    return list(asked.values())


def _only_cell(plan: Plan) -> list[str]:
    """Return the cells that can be meant where none is named: the only one."""
    if len(plan.cells) > 1:
        names = ", ".join(cell.name for cell in plan.cells)
        raise InputError(f"{plan.spec_path} has several cells\n    say which: --of CELL; cells: {names}")
    return [plan.cells[0].name]


def _shapley(asked: str | None) -> ShapleyText:
    if asked is None or asked == "exact":
        return None if asked is None else "exact"
    if not asked.isdecimal() or int(asked) < 2:
        raise InputError(f"--shapley {asked}: this is no number of orders\n    write --shapley, or --shapley 20")
    return PermutationsForm(permutations=int(asked))


def _planned(plan: Plan, asked: Sequence[Whatif]) -> str:
    found = rehearse_whatifs(plan, asked)
    width = max(len(called(cell, str(without))) for cell, without in found)
    lines = [f"{'debates':{width}} {'calls':>12} {'of these asked':>16}"]
    for (cell, without), estimate in found.items():
        new = estimate.calls - estimate.shared_calls
        lines.append(f"{called(cell, str(without)):{width}} {estimate.calls:>12,} {new:>16,}")
    total = sum(estimate.calls - estimate.shared_calls for estimate in found.values())
    dollars = [estimate.dollars for estimate in found.values()]
    known = [value for value in dollars if value is not None]
    spent = sum(known, 0.0) if len(known) == len(dollars) else 0.0
    price = f", {spent:,.2f} dollars if none were shared" if spent else ""
    return "\n".join([*lines, f"at most {total:,} calls are asked{price}: no debate is taken to end early"])


def _check_finished(plan: Plan, name: str) -> None:
    """Refuse to branch from debates that are not there, or that were of another meaning of the spec."""
    cell = plan.cell_named(name)
    missing = [path for label in plan.tasks for path in _debates(plan, label, cell.slug) if not Path(path).exists()]
    if missing:
        raise InputError(
            f"{missing[0]}: the debates of {cell.name} are not there, to branch from\n"
            f"    run the experiment first: cortexdsl run {plan.spec_path}"
        )
    ran = {one["cell"]: one["digest"] for one in read_plan(Path(plan.layout.plan))["cells"]}
    if ran.get(cell.name) != cell.digest:
        raise InputError(
            f"{plan.spec_path}: {cell.name} means something else than when it was run\n"
            f"    run the experiment again first: cortexdsl run {plan.spec_path}"
        )


def _debates(plan: Plan, dataset: str, slug: str) -> list[str]:
    return plan.debates_of(dataset, slug, batches_of(plan, slug))


def _labels(plan: Plan, dataset: str, slug: str) -> list[str]:
    """The shards whose debates are there to branch from."""
    return [Path(path).stem for path in _debates(plan, dataset, slug)]


async def _debate(plan: Plan, asked: Sequence[Whatif], limits: Limits) -> Counts:
    """Debate every counterfactual: calls that were asked before come from the logs, the others are logged beside."""
    total = Counts()
    for dataset in plan.tasks:
        for one in asked:
            slug = plan.cell_named(one.cell).slug
            for label in _labels(plan, dataset, slug):
                done = await _shard(plan, one.debated, dataset, slug, label, limits)
                total.asked, total.replayed = total.asked + done.asked, total.replayed + done.replayed
                total.failed += done.failed
    return total


async def _shard(plan: Plan, debated: Sequence[Without], dataset: str, slug: str, label: str, limits: Limits) -> Counts:
    shift, log = shift_of(plan, dataset, slug, label, limits), Path(plan.layout.whatif_calls(dataset, slug, label))
    door_of_job = open_door(
        log,
        folder=log.parent,
        limits=limits,
        ledgers=Path(plan.layout.ledgers),
        job=Job(f"{dataset}~{slug}~{label}~whatif", dataset, slug, spec=plan.spec_name),
    )
    async with door_of_job as door:
        embedder = Embedder(door, plan.models)
        async with open_tools(plan, plan.cell(slug), door, embedder) as identities:
            shift = with_tools(shift, identities)
            for without in debated:
                branch = replace(shift, without=without, header=replace(shift.header, without=str(without)))
                await debate_shard(branch, door, embedder, plan.templates, _path(plan, dataset, slug, label, without))
        return door.counts


def _path(plan: Plan, dataset: str, slug: str, label: str, without: Without) -> Path:
    return Path(plan.layout.whatif_debates(dataset, slug_of(plan.cell(slug), without), label))


async def _judge(plan: Plan, asked: Sequence[Whatif], limits: Limits) -> None:
    """Have the answers judged of which the spec asks for judgements; what the judge has said before is not asked."""
    for dataset in filter(plan.is_judged, plan.tasks):
        for one in asked:
            slug = plan.cell_named(one.cell).slug
            whole, branches = _records(plan, dataset, one)
            records = [record for records in (whole, *branches) for record in records]
            out = Path(plan.layout.whatif_judgements(dataset, slug))
            await judge_records(plan, dataset, slug, records, out, limits, log=f"whatif~{slug}")


def _metrics(plan: Plan) -> list[str]:
    """The metrics of the spec that a counterfactual has: it is read in one way alone."""
    return [metric for metric in plan.metrics if not metric.startswith(("strict_", "lenient_"))] or ["accuracy"]


def _tables(plan: Plan, asked: Sequence[Whatif]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the effects of all that is left out, and what agents are worth."""
    declared = {one.cell: set(one.without) for one in plan.whatifs}
    correction, tables, worth = plan.analysis.get("correction", "holm"), [], []
    for one in asked:
        rows = _rows(plan, one)
        if one.without:
            left_out = [Asked(str(w), w in declared.get(one.cell, ())) for w in one.without]
            tables.append(effects(rows, one.cell, left_out, plan.seed, correction, metrics=_metrics(plan)))
        if one.coalitions:
            cells = {
                Coalition(names): called(one.cell, str(one.coalitions.without(names)))
                for names in one.coalitions.fewer
            }  # fmt: skip
            players, orders = one.coalitions.players, one.coalitions.orders
            worth.append(shapley_table(rows, one.cell, players, cells, orders, plan.seed, metrics=_metrics(plan)))
    return (*(pd.concat(found, ignore_index=True) if found else pd.DataFrame() for found in (tables, worth)),)  # type: ignore[return-value]


def _rows(plan: Plan, one: Whatif) -> list[Row]:
    """Score the debates of a cell and all that branch from them."""
    rows: list[Row] = []
    for dataset, task in plan.tasks.items():
        slug = plan.cell_named(one.cell).slug
        clusters = {question.id: question.cluster for question in task.questions}
        whole, branches = _records(plan, dataset, one)
        also: dict[str, Grade] = {name: text_grade(task, name) for name in text_scores(task)}
        if plan.is_judged(dataset):
            also[JUDGED] = Judgements(Path(plan.layout.whatif_judgements(dataset, slug)))
        grade = graded_at_once([*whole, *(record for branch in branches for record in branch)], task.grade_all)
        rows += whole_rows(whole, grade, clusters, also)
        rows += [row for branch in branches for row in branch_rows(whole, branch, grade, clusters, also)]
    return rows


def _records(plan: Plan, dataset: str, one: Whatif) -> tuple[list[Record], list[list[Record]]]:
    """The debates of a cell on a dataset, and all that branch from them."""
    slug = plan.cell_named(one.cell).slug
    labels = _labels(plan, dataset, slug)
    whole = _read([Path(path) for path in _debates(plan, dataset, slug)])
    return whole, [_read([_path(plan, dataset, slug, label, w) for label in labels]) for w in one.debated]


def _read(paths: Sequence[Path]) -> list[Record]:
    return [record for path in paths for record in read_debates(path)]


def _write(path: Path, table: pd.DataFrame) -> None:
    """Write a table atomically; an empty one as an empty file, so that a workflow finds it."""
    write_lines(path, table.to_csv(index=False, lineterminator="\n").splitlines() if len(table) else [])


def _shown(table: pd.DataFrame) -> str:
    """Return a table for a terminal, shares in points of a hundred; the metric is named where there are several."""
    shares = ["whole", "left_out", "effect", "value", "ci_low", "ci_high", "order_error", "changed"]
    named = ("dataset", "cell", "without", "agent", "metric")
    columns = [
        name
        for name in (*named, *shares, "p", "p_adjusted", "asked", "n_questions")
        if name in table and table[name].notna().any() and (name != "metric" or table[name].nunique() > 1)
    ]  # fmt: skip
    shown = table[columns].astype(object)
    is_share = [range_of(metric) == (0.0, 1.0) for metric in table["metric"]]
    for name in set(shares) & set(columns):
        in_percent = [share or name == "changed" for share in is_share]
        values = zip(table[name], in_percent, strict=True)
        shown[name] = [f"{100 * value:.1f}" if share else f"{value:.4g}" for value, share in values]
    return shown.to_string(index=False, float_format=lambda value: f"{value:.4g}")
