"""Verb `compare`: compare the cells of any table of scores, and runs of other tools by their logs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cortexdsl.claims.cells import cells_of, find_cell
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Claim
from cortexdsl.cli.score_sources import ScoreSources, add_reading, declared_claims, read_sources, with_own_answers
from cortexdsl.core import Family
from cortexdsl.core.columns import column_metric, described_columns, is_share
from cortexdsl.core.metrics import find_metric
from cortexdsl.errors import InputError
from cortexdsl.files import write_text
from cortexdsl.jobs.options import FLAG, REPEATABLE, VerbParser
from cortexdsl.metrics.estimates import metrics_table
from cortexdsl.metrics.rows import MetricRow
from cortexdsl.numbers import NOTHING, THIN, counted, difference, interval, p_value
from cortexdsl.plan.record import PlanRecord
from cortexdsl.report.csv_rows import rows_of
from cortexdsl.report.data import ALPHA, ReportData
from cortexdsl.report.phrasing.claims import answer, details_in_words
from cortexdsl.report.phrasing.comparisons import (
    ORDINARY,
    TESTED,
    ComparisonWords,
    changes_in_words,
    claims_decided,
    comparison_notes,
    correction_in_words,
    family_in_words,
    intervals,
)
from cortexdsl.report.phrasing.names import wording
from cortexdsl.report.terminal import claim_lines
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.families import CORRECTIONS, compare_families
from cortexdsl.stats.inference.groups import changed_questions, equal_groups
from cortexdsl.stats.planning.planning import questions_needed
from cortexdsl.stats.tables.rows import ClaimRow, ComparisonRow
from cortexdsl.stats.tables.score_table import ScoreTable, absent_in_words, absent_of
from cortexdsl.stats.verdicts import evaluate_claims
from cortexdsl.text_layout import aligned, wrapped

INTERVAL, ALONE, ADJUSTED = "95 % interval", "alone", "adjusted p"
TOGETHER = "The intervals hold for all differences together. "
EXAMPLES = 5
"""Questions that a sentence names."""


def add_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    columns = "cell, replicate, question_id and score"
    line = "logs of Inspect, lm-evaluation-harness, promptfoo, HELM and others; folders and patterns of them"
    parser.add("sources", f"a CSV file with the columns {columns}; a folder of results; {line}", nargs="+")
    parser.add("--to", "the cell that the others are compared with (default: the first one)", metavar="CELL")
    add_reading(parser)
    parser.add("--cells", "the cells to compare (default: all others)", nargs="+", metavar="CELL")
    parser.add("--metric", "the column to compare (default: score); repeatable", metavar="COLUMN", action="append")
    for option in ("lower", "higher"):
        line = f"a column in which {option} is better, if neither its name nor the metrics say it; repeatable"
        parser.add(f"--{option}", line, metavar="COLUMN", **REPEATABLE)
    kinds = [*CORRECTIONS, "none"]
    parser.add("--correction", "how p-values are corrected (default: holm)", default="holm", choices=kinds)
    parser.add("--claim", "also test a claim; repeatable", metavar="TEXT", **REPEATABLE)
    line = "the largest value that a column can have, such as tokens=16000, also if the sample has none; repeatable"
    parser.add("--most", line, metavar="COLUMN=NUMBER", **REPEATABLE)
    parser.add("--seed", "the seed of Monte Carlo tests and bootstraps (default: 0)", type=int, default=0)
    parser.add("--draws", f"the number of permutations and resamples (default: {DRAWS})", type=int, default=DRAWS)
    parser.add("--out", "write the comparisons to this CSV file", type=Path)
    parser.add("--report", "write a page with tables and figures to this HTML file", type=Path, metavar="FILE.html")
    parser.add("--how", "also print how it was tested, and which questions changed in each cell", **FLAG)
    parser.add("--json", "print JSON: one comparison per line, then one claim per line", **FLAG)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.draws < 1 or args.seed < 0:
        raise InputError("--draws is at least 1, --seed at least 0")
    for option, path in {"--out": args.out, "--report": args.report}.items():
        if path and not path.parent.is_dir():
            raise InputError(f"{option} {path}: its folder does not exist")
    if args.report:
        _check_report(args.report)
    found = read_sources(args.sources, score=args.score, cluster=args.cluster, answers=args.answers)
    table = _with_bounds(found.table, args.most)
    numbers = _check_directions(table, args.lower, args.higher)
    with described_columns(args.lower, args.higher, numbers):
        return _compare(args, replace(found, table=table), [parse_claim(text, "--claim") for text in args.claim])


def _compare(args: argparse.Namespace, found: ScoreSources, claims: Sequence[Claim]) -> int:
    """Compare the cells of one table, and test claims."""
    table = with_own_answers(found, claims)
    arms = cells_of(table.cells)
    reference = find_cell(arms, args.to).cell if args.to else table.cells[0]
    cells = tuple(args.cells or (cell for cell in table.cells if cell != reference))
    if not cells:
        raise InputError(
            f"{', '.join(args.sources)}: {reference} is the only cell\n    give another log or table to compare it with"
        )
    families = [Family("comparison", cells, reference, args.correction)]
    metrics = tuple(dict.fromkeys(args.metric or ["score"]))
    comparisons = compare_families(table, families, metrics, args.seed, draws=args.draws)
    verdicts = evaluate_claims(
        table,
        claims,
        args.seed,
        declared=declared_claims(found, args.claim),
        correction=args.correction,
        draws=args.draws,
    )
    if args.out:
        comparisons.to_csv(args.out, index=False, lineterminator="\n")
    if args.json:
        for rows in (comparisons, verdicts):
            sys.stdout.write(rows.to_json(orient="records", lines=True, double_precision=15) if len(rows) else "")
        if not args.report:
            return 0
    if args.claim:
        verdicts["questions_needed"] = questions_needed(table, verdicts, arms, alpha=ALPHA, correction=args.correction)
    compared = rows_of(comparisons, ComparisonRow, alpha=ALPHA)
    answers = [answer(row) for row in rows_of(verdicts, ClaimRow)]
    absent = absent_in_words(absent_of(table))
    named = [*metrics, *(metric for claim in claims for metric in claim.metrics)]
    words = ComparisonWords(
        {name: len(ids) for name, ids in zip(table.datasets, table.questions, strict=True)},
        reference,
        (
            TESTED,
            *([claims_decided(".05", len(claims), args.correction)] if claims else []),
            *details_in_words(answers),
        ),
        (*found.notes, *([absent] if absent else [])),
        {cell: changed_questions(table, metrics[0], cell, reference) for cell in cells},
        (
            *_groups(table, metrics[0], (reference, *cells), args),
            *comparison_notes(compared),
        ),
        tuple(_directions(named, {*args.lower, *args.higher})),
    )
    if args.report:
        means = metrics_table(table, metrics)
        means["metric"] = means["metric"].replace({table.metric(name).name: name for name in metrics})
        data = ReportData(
            PlanRecord(),
            metrics=tuple(rows_of(means, MetricRow)),
            comparisons=tuple(compared),
            claims=tuple(rows_of(verdicts, ClaimRow)),
        )
        _write_report(args, data, words, has_logs=found.has_logs)
        print(f"page: {args.report}", file=sys.stderr)
    if args.json:
        return 0
    print(*claim_lines(answers), sep="\n", end="\n" * bool(answers))
    print(family_in_words(compared), *_difference_lines(compared, has_how=args.how), sep="\n")
    is_named = args.how or len(cells) == 1
    changed = (
        changes_in_words(cell, reference, ids, named=EXAMPLES)
        for cell, ids in words.changes.items()
        if is_named or ids.left_out
    )
    how = (*words.tested, f"{intervals({row.correction for row in compared})} {ALONE.capitalize()}: {ORDINARY}")
    has_several = len(compared) > 1 and args.correction != "none"
    last = how if args.how else [f"{TOGETHER * has_several}How this was tested: --how."]
    for sentence in (*changed, *words.findings, *words.pairing, *words.directions, *last):
        _print_wrapped(sentence)
    return 0


def _check_directions(table: ScoreTable, lower: Sequence[str], higher: Sequence[str]) -> list[str]:
    """Check the columns of `--lower` and `--higher`; return the shares by name whose values are not in [0, 1].

    Raises
    ------
    InputError
        A column has both directions, or is a metric of debates.
    DataError
        There is no such column.
    """
    for name in (*lower, *higher):
        table.metric(name)
        if known := find_metric(name):
            raise InputError(f"{name} is a metric whose better direction is known: {known.better}")
        if name in lower and name in higher:
            raise InputError(f"{name} is both --lower and --higher")
    others = [name for name in table.metrics if find_metric(name) is None and is_share(name)]
    values = {name: table.column(name) for name in others}
    return [name for name in others if ((values[name] < 0) | (values[name] > 1)).any()]


def _directions(names: Iterable[str], described: Collection[str]) -> Iterator[str]:
    """Yield how each column that is not a metric of debates is read."""
    for name in dict.fromkeys(names):
        if find_metric(name) is not None:
            continue
        better = column_metric(name).better
        if better == "neither":
            yield f"{name}: which direction is better is not known (--lower {name} or --higher {name} says it)"
        else:
            yield f"{name}: {better} is better{'' if name in described else ', by its name'}"


def _with_bounds(table: ScoreTable, stated: Sequence[str]) -> ScoreTable:
    """Return the table with the most that one question can have of some columns.

    Raises
    ------
    InputError
        Not written as COLUMN=NUMBER, or an unknown column.
    """
    bounds: dict[str, float] = {}
    for text in stated:
        name, _, number = text.partition("=")
        try:
            bounds[table.metric(name.strip()).name] = float(number)
        except ValueError:
            raise InputError(f"--most {text}: write COLUMN=NUMBER, such as tokens=16000") from None
    most = {cell: {**table.most.get(cell, {}), **bounds} for cell in table.cells}
    return table.with_most(most) if bounds else table


def _groups(table: ScoreTable, metric: str, cells: Sequence[str], args: argparse.Namespace) -> Iterator[str]:
    """Yield which of three cells or more cannot be told apart."""
    if len(cells) > 2:
        groups = equal_groups(table, metric, cells, args.seed, alpha=ALPHA, draws=args.draws)
        listed = "; ".join(" = ".join(group) for group in groups)
        yield f"Cells that cannot be told apart, the best first (all pairs, Holm's correction): {listed}."


def _difference_lines(rows: Sequence[ComparisonRow], *, has_how: bool) -> Iterator[str]:
    """Yield the table; a dataset, metric or test that all rows share stands above it."""
    texts = [_texts(row, has_how=has_how) for row in rows]
    same = [name for name in ("dataset", "metric", "test") if len({text.get(name) for text in texts}) == 1]
    yield "; ".join(f"{name}: {texts[0][name]}" for name in same if name in texts[0])
    if all(text["p"] == text[ADJUSTED] and text[ALONE] == text[INTERVAL] for text in texts):
        same += [ADJUSTED, ALONE]
    elif not has_how:
        same += ["p", ALONE]
    shown = [name for name in texts[0] if name not in same]
    yield from aligned([shown, *([text[name] for name in shown] for text in texts)])


def _texts(row: ComparisonRow, *, has_how: bool) -> dict[str, str]:
    """Return the texts of a comparison by the headings of their columns."""
    kind = wording(row.metric).kind
    alone = interval(row.ci_low, row.ci_high, kind, signed=True) or NOTHING
    together = interval(row.ci_low_simultaneous, row.ci_high_simultaneous, kind, signed=True)
    return {
        "cell": row.cell,
        "dataset": row.dataset,
        "metric": f"{row.metric} (points)" if kind == "share" else row.metric,
        "difference": difference(row.difference, kind, unit=False),
        INTERVAL: together or alone,
        ALONE: alone,
        "p": p_value(row.p),
        ADJUSTED: p_value(row.p_adjusted),
        "discordant": NOTHING if row.discordant is None else f"{row.discordant:g}",
        **({"test": row.test} if has_how else {}),
    }


def _print_wrapped(text: str, indent: int = 0) -> None:
    """Print a paragraph; narrow spaces, which do not break lines, become plain ones."""
    if text:
        print("\n".join(wrapped(text, indent, 2 * indent)).replace(THIN, " "))


def _check_report(path: Path) -> None:
    """Check the name of a page before anything is computed, so that no log is overwritten.

    Raises
    ------
    InputError
        The name does not end in .html, or it is a folder.
    """
    if path.suffix.lower() != ".html":
        raise InputError(f"--report {path}: a page is written to a file that ends in .html, such as page.html")
    if path.is_dir():
        raise InputError(f"--report {path}: this is a folder; name a file, such as {path / 'page.html'}")


def _write_report(args: argparse.Namespace, data: ReportData, words: ComparisonWords, *, has_logs: bool) -> None:
    """Write the page of a comparison."""
    from cortexdsl.report.comparison_page import comparison_page  # it loads the drawing library

    settings = {
        "Sources": ", ".join(args.sources),
        "Compared with": words.reference,
        "p-values": correction_in_words(args.correction),
        "Seed": str(args.seed),
        "Permutations and resamples": counted(args.draws, "draw"),
    }
    write_text(args.report, comparison_page(data, words, settings, has_logs=has_logs), durable=False)
