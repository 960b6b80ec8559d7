"""Verb `compare`: compare the cells of any table of scores, from any program."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from cortexdsl.claims.cells import cells_of, find_cell
from cortexdsl.claims.meaning import needs_answers
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Claim
from cortexdsl.core import Family
from cortexdsl.core.metrics import column_metric, described_columns, find_metric, is_share
from cortexdsl.errors import DataError, InputError
from cortexdsl.jobs.arguments import warn_if_stopped
from cortexdsl.numbers import THIN, counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import binding_changes
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.verification import check_files, check_own_files
from cortexdsl.report.frames import ClaimRow, read_row
from cortexdsl.report.phrasing.claims import answer
from cortexdsl.report.phrasing.comparisons import claims_tested, differences_tested
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.families import CORRECTIONS, compare_families, missing_bounds
from cortexdsl.stats.inference.joint import omnibus_families
from cortexdsl.stats.inference.rankings import critical_difference, rank_cells
from cortexdsl.stats.planning.planning import questions_needed
from cortexdsl.stats.sequential.sequential import Stopping, stopping_point
from cortexdsl.stats.tables.answers import answers_for, with_answers
from cortexdsl.stats.tables.score_table import ScoreTable, absent_in_words, absent_of, read_table
from cortexdsl.stats.verdicts import evaluate_claims
from cortexdsl.symlinks import opened_results
from cortexdsl.text_layout import wrapped

SHOWN = (
    "metric", "cell", "difference", "ci_low_simultaneous", "ci_high_simultaneous", "ci_low", "ci_high", "p",
    "p_adjusted", "discordant", "test",
)  # fmt: skip
COLUMNS_SAID = "all_low, all_high: that interval. low, high: the ordinary 95 % interval of one difference."
HEADS = {"ci_low_simultaneous": "all_low", "ci_high_simultaneous": "all_high", "ci_low": "low", "ci_high": "high"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "scores",
        type=Path,
        help="a CSV file with the columns cell, replicate, question_id and score, or a folder of results with "
        "scores.csv",
    )
    parser.add_argument("--to", required=True, metavar="CELL", help="the cell that the others are compared with")
    parser.add_argument("--cells", nargs="+", metavar="CELL", help="the cells to compare (default: all others)")
    parser.add_argument(
        "--metric", action="append", metavar="COLUMN", help="the column to compare (default: score); repeatable"
    )
    for option in ("lower", "higher"):
        parser.add_argument(
            f"--{option}", action="append", default=[], metavar="COLUMN",
            help=f"a column in which {option} values are better. Needed only for claims that ask which cell is better, "
                 "if the name of the column does not say it, as `tokens` does. Repeatable",
        )  # fmt: skip
    parser.add_argument(
        "--correction",
        default="holm",
        choices=[*CORRECTIONS, "none"],
        help="how p-values are corrected (default: holm)",
    )
    parser.add_argument("--claim", action="append", default=[], metavar="TEXT", help="also test a claim; repeatable")
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="a table with each agent's answers and confidences, for "
                                                     "claims about ece, brier, auroc or single agents. It has the"
                                                     " columns cell, question_id, right and stated. A folder of "
                                                     "results contains it already",
    )  # fmt: skip
    parser.add_argument(
        "--most", action="append", default=[], metavar="COLUMN=NUMBER",
        help="the largest value that a column can have, such as tokens=16000. The sample may have missed"
             " rare values of this size. If they could change the verdict of a claim, it is undecided. Repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--stopping",
        type=int,
        metavar="BATCH",
        help="also print after how many questions each --claim was decided, with a test after every BATCH questions",
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of Monte Carlo tests and bootstraps (default: 0)")
    parser.add_argument(
        "--draws", type=int, default=DRAWS, help=f"the number of permutations and resamples (default: {DRAWS})"
    )
    parser.add_argument("--out", type=Path, help="write the comparisons to this CSV file")
    parser.add_argument(
        "--json", action="store_true", help="print JSON: one comparison per line, then one claim per line"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.draws < 1 or args.seed < 0:
        raise InputError("--draws is at least 1, --seed at least 0")
    warn_if_stopped(args.scores if args.scores.is_dir() else args.scores.parent)
    table = _with_bounds(_table(args), args.most)
    numbers = _check_directions(table, args.lower, args.higher)
    with described_columns(args.lower, args.higher, numbers):
        return _compare(args, table, [parse_claim(text, "--claim") for text in args.claim])


def _compare(args: argparse.Namespace, table: ScoreTable, claims: Sequence[Claim]) -> int:
    """Compare the cells of one table, and test claims."""
    if not args.answers and any(needs_answers(claim) for claim in claims):
        path = _scores(args.scores)
        answers = answers_for(path)
        check_files(Layout(path.parent.as_posix()), answers)
        table = with_answers(table, answers) if answers else table
    arms = cells_of(table.cells)
    reference = find_cell(arms, args.to).cell
    cells = tuple(args.cells or (cell for cell in table.cells if cell != reference))
    families = [Family("comparison", cells, reference, args.correction)]
    metrics = tuple(dict.fromkeys(args.metric or ["score"]))
    comparisons = compare_families(table, families, metrics, args.seed, draws=args.draws)
    verdicts = evaluate_claims(
        table, claims, args.seed, declared=_declared(args), correction=args.correction, draws=args.draws
    )
    if args.out:
        _write(args.out, comparisons)
    if args.json:
        for rows in (comparisons, verdicts):
            sys.stdout.write(rows.to_json(orient="records", lines=True, double_precision=15) if len(rows) else "")
        return 0
    _print_comparisons(comparisons, reference, args.correction, several=len(table.datasets) > 1)
    if absent := absent_in_words(absent_of(table)):
        print(absent)
    for row in omnibus_families(table, families, metrics).itertuples():
        print(f"{row.test} of {row.metric} on {row.dataset}: {row.statistic:.4g}, p {row.p:.4g} ({row.cells} cells)")
    _print_bounds(missing_bounds(table, families, metrics, args.seed, draws=args.draws))
    _print_ranks(table, metrics)
    if args.stopping is not None:
        early = stopping_point(table, claims, batch=args.stopping, fewest=args.stopping, correction=args.correction)
        _print_stopping(early)
    named = [*metrics, *(metric for claim in claims for metric in claim.metrics)]
    for line in _directions(named, {*args.lower, *args.higher}):
        print(line)
    if args.claim:
        print(f"claims, p {how_adjusted(args.correction, len(claims))}:")
        columns = ["claim", "verdict", "exploratory", "estimate", *HEADS, "p_adjusted"]
        if not verdicts["exploratory"].any():
            columns.remove("exploratory")
        print(verdicts[columns].rename(columns=HEADS).to_string(index=False))
        needed = questions_needed(table, verdicts, arms, alpha=0.05, correction=args.correction)
        _print_notes(_claims_in_words(verdicts.assign(questions_needed=needed)))
        _print_wrapped(claims_tested(".05", len(claims), args.correction))
    return 0


def _claims_in_words(verdicts: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each claim with the report's sentences about it."""
    for values in verdicts.to_dict("records"):
        cells = {str(name): "" if pd.isna(value) else str(value) for name, value in values.items()}
        sentences = answer(read_row(ClaimRow, cells, Path("claims")))
        yield sentences.claim, " ".join(filter(None, [sentences.evidence, sentences.note]))


def _table(args: argparse.Namespace) -> ScoreTable:
    """Read the scores, and the answers of `--answers`."""
    path = _scores(args.scores)
    check_own_files([path])
    check_files(Layout(path.parent.as_posix()), [])
    table = read_table(path)
    return with_answers(table, [args.answers], as_said=False) if args.answers else table


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


def _declared(args: argparse.Namespace) -> list[str] | None:
    """Return those claims that were declared before the first call; None for tables of other programs."""
    layout = Layout(_scores(args.scores).parent.as_posix())
    journal = read_journal(layout)
    ledger = journal.ledger
    if not ledger.entries and not ledger.faults:
        return None
    is_unsure = journal.faults or binding_changes(ledger.since)
    return [] if is_unsure else [claim for claim in args.claim if " ".join(claim.split()) in ledger.claims]


def _scores(path: Path) -> Path:
    return opened_results(path / "scores.csv" if path.is_dir() else path)


def how_adjusted(correction: str, tests: int) -> str:
    """Return how p-values were adjusted, or that they were not."""
    if correction == "none":
        return f"not corrected: of {tests} tests each errs by itself" if tests > 1 else "of one test"
    return f"adjusted by {correction} over {tests} test{'' if tests == 1 else 's'}"


def _print_comparisons(comparisons: pd.DataFrame, reference: str, correction: str, *, several: bool) -> None:
    """Print the table, and below it the meaning of its columns and the notes of its rows."""
    shown = (("dataset",) if several else ()) + SHOWN
    count = f"{len(comparisons)} comparison{'' if len(comparisons) == 1 else 's'}"
    print(f"compared with {reference}: {count}, p {how_adjusted(correction, len(comparisons))}")
    numbers = comparisons[list(shown)].rename(columns=HEADS)
    print(numbers.to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    _print_wrapped(f"{differences_tested([correction])} {COLUMNS_SAID}")
    _print_notes((f"{row.cell}, {row.metric}, {row.dataset}", str(row.note)) for row in comparisons.itertuples())


def _print_notes(notes: Iterable[tuple[str, str]]) -> None:
    for what, note in notes:
        if note:
            _print_wrapped(f"{what}: {note}", 2)


def _print_wrapped(text: str, indent: int = 0) -> None:
    """Print a paragraph; narrow spaces, which do not break lines, become plain ones."""
    print("\n".join(wrapped(text, indent, 2 * indent)).replace(THIN, " "))


def _write(path: Path, table: pd.DataFrame) -> None:
    if not path.parent.is_dir():
        raise InputError(f"{path}: its folder does not exist")
    table.to_csv(path, index=False, lineterminator="\n")


def _print_ranks(table: ScoreTable, metrics: Sequence[str]) -> None:
    """Print the ranks of methods over several datasets, and whether they differ."""
    for metric in metrics if len(table.datasets) > 1 and len(table.cells) > 2 else ():
        try:
            ranking = rank_cells(table, metric, higher_is_better=table.metric(metric).better != "lower")
        except DataError as error:  # a cell lacks the metric: its comparisons report that
            print(f"no ranks of {metric}: {error}")
            continue
        ranks = ", ".join(f"{cell} {rank:.2f}" for cell, rank in ranking.ranks.sort_values().items())
        print(
            f"ranks of {metric} over {counted(ranking.datasets, 'dataset')} (the unit is the dataset): {ranks}; "
            f"Iman-Davenport F {ranking.iman_davenport:.4g}, p {ranking.p:.4g}; differences of ranks above "
            f"{critical_difference(len(ranking.ranks), ranking.datasets):.2f} are significant (Nemenyi)"
        )


def _print_stopping(stopping: Stopping) -> None:
    decided = int(stopping.looks["decided"].iloc[-1])
    questions, planned = stopping.questions, stopping.planned
    each = (
        "; ".join(f"{count} of {planned[name]} on {name}" for name, count in questions.items())
        if len(questions) > 1
        else ""
    )
    print(
        f"stopping early: {decided} of {counted(len(stopping.verdicts), 'claim is', 'claims are')} "
        f"decided after {sum(questions.values())} of "
        f"{counted(sum(planned.values()), 'question')}{f' ({each})' if each else ''}, "
        f"{stopping.saved:.0%} of calls saved; "
        "verdicts that hold at any time:"
    )
    print(stopping.verdicts[["claim", "verdict", "estimate", "p_adjusted", "test"]].to_string(index=False))
    _print_notes(stopping.verdicts[["claim", "note"]].astype(str).itertuples(index=False, name=None))


def _print_bounds(bounds: pd.DataFrame) -> None:
    """Print which comparisons missing or unreadable answers could change."""
    if bounds.empty:
        return
    rows = int(bounds[["missing", "unparsed"]].to_numpy().sum())
    print(
        f"missing or unreadable answers in {counted(len(bounds), 'comparison')} ({counted(rows, 'row')}, counted as 0)",
        end="",
    )
    if not bounds["changes"].any():
        print("; none could change whether a difference is significant")
        return
    print("; these could change:")
    for row in bounds[bounds["changes"]].itertuples():
        print(
            f"  {row.cell} on {row.dataset}, {row.metric}: difference {row.difference:.4g}, from "
            f"{row.worst_difference:.4g} (p {row.worst_p_adjusted:.3g}) to {row.best_difference:.4g} "
            f"(p {row.best_p_adjusted:.3g})"
        )
