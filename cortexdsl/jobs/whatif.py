"""Rule and verb `whatif`: debates branched from finished ones with one thing left out, and their effects.

Reads the debates, their labels and plan.json. Writes the effects, and how often labelled turns change the answer. Its
calls are logged next to those of the run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from cortexdsl.checksums import write_lines
from cortexdsl.claims.values import range_of
from cortexdsl.core import Ablation, Method, Turn
from cortexdsl.core.metrics import find_metric
from cortexdsl.engine.ablation import without_agents
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import ClientOptions, add_shared, add_spec, plan_of_results
from cortexdsl.jobs.debate import debate_shard, shard_work, with_tools
from cortexdsl.jobs.judge import judge_records
from cortexdsl.jobs.score import decided_by
from cortexdsl.metrics.counterfactuals import branch_rows, whole_rows
from cortexdsl.metrics.labels import read_labels
from cortexdsl.metrics.rows import LabelRow
from cortexdsl.metrics.scores import Row
from cortexdsl.metrics.view import Grade, grade_together
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.jobs.toolbox import open_tools
from cortexdsl.plan.parts import JUDGED, Whatif
from cortexdsl.plan.persistence.declaration import declaration_of
from cortexdsl.plan.persistence.fits import fitted_methods
from cortexdsl.plan.persistence.recording import declare, record_files, seal_manifest
from cortexdsl.plan.persistence.store import batches_run
from cortexdsl.plan.record import read_plan
from cortexdsl.plan.whatif import whatif_slug
from cortexdsl.records import Record, read_all
from cortexdsl.stats.causes import LeftOutTurn, cause_of
from cortexdsl.stats.tables.rows import CauseRow, columns_of
from cortexdsl.stats.whatif import effects
from cortexdsl.tasks.judging import Judgements, text_grades


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser, "a spec with finished debates")
    parser.add_argument("--json", action="store_true", help="print JSON: one row per line")
    add_shared(parser, "--trust --connections")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_results(args)
    if not plan.whatifs:
        raise InputError(
            f"{args.spec}: nothing says what to leave out\n    write whatif: {{CELL: [agent]}} into the spec"
        )
    check_consent(plan, args.trust)
    for one in plan.whatifs:
        _check_finished(plan, one.cell)
    declare(plan.layout, declaration_of(plan))
    options = ClientOptions.of(plan, args)
    counts = asyncio.run(_debate(plan, options))
    cells, parts = len(plan.whatifs), sum(len(one.without) for one in plan.whatifs)
    print(f"{counted(parts, 'counterfactual')} of {counted(cells, 'cell')}: {counts}", file=sys.stderr)
    asyncio.run(_judge(plan, options))
    table = _effects(plan)
    causes = pd.DataFrame(_causes(plan), columns=columns_of(CauseRow))
    tables = {plan.layout.effects: table}
    if plan.labelling is not None:
        tables[plan.layout.causes] = causes
    for path, rows in tables.items():
        # In pandas' own lines: to_csv writes floats so that they are read back exactly.
        write_lines(Path(path), rows.to_csv(index=False, lineterminator="\n").splitlines())
    record_files(plan.layout, list(tables))
    seal_manifest(plan.layout)
    for note in _handed_on(plan):
        print(note, file=sys.stderr)
    print(table.to_json(orient="records", lines=True, double_precision=15).rstrip() if args.json else _shown(table))
    if len(causes) and not args.json:
        print(f"\nTurns by label, and how many change the answer when left out ({plan.layout.causes}):")
        print(causes.to_string(index=False, float_format=lambda value: f"{value:.3f}"))
    return 0


def _handed_on(plan: Plan) -> Iterator[str]:
    """Yield a line for each cell that hands unsure questions on: the other method debates them complete."""
    for one in plan.whatifs:
        rule = plan.cell_named(one.cell).debate.defer
        if rule is not None:
            yield f"{one.cell}: questions that it hands on to {rule.to} are debated there with nothing left out"


def _check_finished(plan: Plan, name: str) -> None:
    """Refuse to branch from debates that do not exist, or that ran with other settings of the cell."""
    cell = plan.cell_named(name)
    missing = [path for label in plan.tasks for path in _debates(plan, label, cell.slug) if not Path(path).exists()]
    if missing:
        raise InputError(
            f"{missing[0]}: the debates of {cell.name} are not there, to branch from\n"
            f"    run the experiment first: cortexdsl run {plan.spec_path}"
        )
    ran = {one.name: one.digest for one in read_plan(Path(plan.layout.plan)).cells}
    if ran.get(cell.name) != cell.digest:
        raise InputError(
            f"{plan.spec_path}: {cell.name} means something else than when it was run\n"
            f"    run the experiment again first: cortexdsl run {plan.spec_path}"
        )


def _debates(plan: Plan, dataset: str, slug: str) -> list[str]:
    return debate_files(plan, dataset, slug, batches_run(plan))


def _labels(plan: Plan, dataset: str, slug: str) -> list[str]:
    """Return the shards with debates to branch from."""
    return [Path(path).stem for path in _debates(plan, dataset, slug)]


async def _debate(plan: Plan, options: ClientOptions) -> CallCounts:
    """Debate every counterfactual; replies to known calls come from the logs."""
    total = CallCounts()
    for dataset in plan.tasks:
        for one in plan.whatifs:
            slug = plan.cell_named(one.cell).slug
            for label in _labels(plan, dataset, slug):
                done = await _shard(plan, one.without, dataset, slug, label, options)
                total.asked, total.replayed = total.asked + done.asked, total.replayed + done.replayed
                total.failed += done.failed
    return total


async def _shard(
    plan: Plan, debated: Sequence[Ablation], dataset: str, slug: str, label: str, options: ClientOptions
) -> CallCounts:
    shift, log = shard_work(plan, dataset, slug, label), Path(plan.layout.whatif_calls(dataset, slug, label))
    async with options.open(plan, log, JobInfo(f"{dataset}~{slug}~{label}~whatif", dataset, slug)) as client:
        embedder = Embedder(client, plan.models)
        async with open_tools(plan, plan.cell(slug), client, embedder) as identities:
            shift = with_tools(shift, identities)
            for without in debated:
                branch = replace(shift, without=without, header=replace(shift.header, without=str(without)))
                await debate_shard(branch, client, embedder, plan.templates, _path(plan, dataset, slug, label, without))
    record_files(plan.layout, [*(_path(plan, dataset, slug, label, without) for without in debated), log])
    return client.counts


def _path(plan: Plan, dataset: str, slug: str, label: str, without: Ablation) -> Path:
    return Path(plan.layout.whatif_debates(dataset, whatif_slug(plan.cell(slug), without), label))


async def _judge(plan: Plan, options: ClientOptions) -> None:
    """Have answers judged if the spec asks for judgements; known judgements come from the logs."""
    for dataset in filter(plan.is_judged, plan.tasks):
        for one in plan.whatifs:
            slug = plan.cell_named(one.cell).slug
            whole, branches = _records(plan, dataset, one)
            records = [record for records in (whole, *branches) for record in records]
            out = Path(plan.layout.whatif_judgements(dataset, slug))
            await judge_records(plan, dataset, slug, records, out, options, log=f"whatif~{slug}")


def _metrics(plan: Plan) -> list[str]:
    """Return the metrics of the spec that counterfactuals have: no columns of a group."""
    return [name for name in plan.metrics if not ((metric := find_metric(name)) and metric.group)] or ["accuracy"]


def _effects(plan: Plan) -> pd.DataFrame:
    """Return the effects of everything that is left out."""
    correction, tables = plan.analysis.get("correction", "holm"), []
    for one in plan.whatifs:
        left_out = [str(without) for without in one.without]
        tables.append(effects(_rows(plan, one), one.cell, left_out, plan.seed, correction, metrics=_metrics(plan)))
    return pd.concat(tables, ignore_index=True)


def _rows(plan: Plan, one: Whatif) -> list[Row]:
    """Score the debates of a cell and all counterfactuals of them."""
    rows: list[Row] = []
    for dataset, task in plan.tasks.items():
        slug = plan.cell_named(one.cell).slug
        whole, branches = _records(plan, dataset, one)
        also: dict[str, Grade] = text_grades(task)
        if plan.is_judged(dataset):
            also[JUDGED] = Judgements(Path(plan.layout.whatif_judgements(dataset, slug)))
        grade = grade_together([*whole, *(record for branch in branches for record in branch)], task.grade_all)
        method_of = fitted_methods(plan, plan.cell(slug).debate)
        rows += whole_rows(whole, grade, task.clusters, also, decided_by(method_of, plan.seed))
        for without, branch in zip(one.without, branches, strict=True):
            decided = decided_by(partial(_without, method_of, without), plan.seed)
            rows += branch_rows(whole, branch, grade, task.clusters, also, decided)
    return rows


def _without(method_of: Callable[[int], Method], without: Ablation, replicate: int) -> Method:
    return without_agents(method_of(replicate), without)


def _records(plan: Plan, dataset: str, one: Whatif) -> tuple[list[Record], list[list[Record]]]:
    """Return the debates of a cell on a dataset, and all counterfactuals of them."""
    slug = plan.cell_named(one.cell).slug
    labels = _labels(plan, dataset, slug)
    whole = read_all(_debates(plan, dataset, slug))
    return whole, [read_all([_path(plan, dataset, slug, label, w) for label in labels]) for w in one.without]


def _causes(plan: Plan) -> list[CauseRow]:
    """Compare turns that have a label with turns that do not: how many change the answer when they are left out."""
    labels = [] if plan.labelling is None else [name for label in plan.labelling.labels for name in label.counted]
    causes = []
    for one in plan.whatifs:
        turns = [turn for dataset in plan.tasks for turn in _left_out_turns(plan, dataset, one)] if labels else []
        causes += [cause_of(one.cell, name, turns) for name in labels if any(name in turn.known for turn in turns)]
    return causes


def _left_out_turns(plan: Plan, dataset: str, one: Whatif) -> Iterator[LeftOutTurn]:
    """Yield each turn that a counterfactual of a cell leaves out of a debate; several calls of a round are one turn."""
    assert plan.labelling is not None
    slug, clusters = plan.cell_named(one.cell).slug, plan.task(dataset).clusters
    counted = {label.name: label.counted for label in plan.labelling.labels}
    known: dict[tuple[int, str, str], dict[str, bool]] = defaultdict(dict)
    for row in read_labels(Path(plan.layout.part("labels", dataset, slug))):
        of_turn = known[row.replicate, row.question_id, _place(row)]
        for name, value in counted[row.label].items() if row.value is not None else ():
            of_turn[name] = of_turn.get(name, False) or row.value == value
    whole, branches = _records(plan, dataset, one)
    originals = {(record.header.replicate, record.debate.question_id): record.debate for record in whole}
    for without, branch in zip(one.without, branches, strict=True):
        for record in branch if len(without.turns) == 1 else ():
            replicate, question = record.header.replicate, record.debate.question_id
            original = originals[replicate, question]
            if (turn := without.turns[0]) in {_place(each) for each in original.turns}:
                given = known[replicate, question, turn]
                yield LeftOutTurn(
                    question=f"{dataset}/{clusters.get(question) or question}",
                    debate=f"{dataset}/{question}/{replicate}",
                    place=f"{dataset}/{without}",
                    labels=frozenset(name for name, holds in given.items() if holds),
                    known=frozenset(given),
                    changed=record.debate.answer != original.answer,
                )


def _place(turn: Turn | LabelRow) -> str:
    return f"{turn.speaker}@{turn.round}"


def _shown(table: pd.DataFrame) -> str:
    """Return a table for a terminal, with shares in percent, and the metric if there are several."""
    shares = ["whole", "left_out", "effect", "ci_low", "ci_high", "changed"]
    named = ("dataset", "cell", "without", "metric")
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
