"""Scores from what a user names: tables, results folders, and logs of other tools, as one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from cortexdsl.claims.meaning import needs_answers
from cortexdsl.claims.values import Claim, one_line
from cortexdsl.errors import DataError, InputError
from cortexdsl.jobs.arguments import warn_if_stopped
from cortexdsl.jobs.options import VerbParser
from cortexdsl.logs.pairing import pair_logs
from cortexdsl.logs.sources import is_log, read_logs
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import binding_changes
from cortexdsl.plan.persistence.history import plan_changes
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.verification import check_files, check_own_files
from cortexdsl.plan.record import PlanRecord, plan_or_empty
from cortexdsl.stats.tables.answers import answers_for, with_answers
from cortexdsl.stats.tables.score_table import ScoreTable, read_table, score_table
from cortexdsl.symlinks import opened_results


@dataclass(frozen=True, slots=True)
class ScoreSources:
    """Scores, and where they come from.

    Attributes
    ----------
    table : ScoreTable
    own : Path or None
        The scores of an experiment or a table, if it is the only source: its folder may hold answers and a ledger.
    notes : tuple of str
        How logs were paired.
    has_logs : bool
        Whether some scores come from logs: of these no declaration is known.
    """

    table: ScoreTable
    own: Path | None
    notes: tuple[str, ...] = ()
    has_logs: bool = False


def add_reading(parser: VerbParser) -> None:
    """Add the options that say how sources are read; see `read_sources`."""
    parser.add("--score", "which score of logs is compared, if they have several", metavar="NAME")
    parser.add("--cluster", "what makes questions dependent: a column, or a fact of the samples", metavar="NAME")
    line = "the columns cell, question_id, right and stated, for claims about ece, brier, auroc or single agents"
    parser.add("--answers", f"a table of agents' answers: {line}", type=Path, metavar="FILE")


def read_sources(
    sources: Sequence[str], *, score: str | None = None, cluster: str | None = None, answers: Path | None = None
) -> ScoreSources:
    """Read scores from CSV files and results folders, from logs of other tools, or from both.

    Parameters
    ----------
    sources : sequence of str
        Files, folders, and patterns of logs.
    score : str or None
        Which score of logs is compared; see `cortexdsl.logs.pairing.pair_logs`.
    cluster : str or None
        What makes questions dependent: a column of tables, a fact of the samples of logs.
    answers : Path or None
        A table of agents' answers.

    Raises
    ------
    DataError, InputError
        A source cannot be read, or two sources have cells of the same name.
    """
    logs = [text for text in sources if _is_log(Path(text))]
    paths = [_scores(Path(text)) for text in sources if text not in logs]
    tables = [_table(path, cluster) for path in paths]
    notes: tuple[str, ...] = ()
    if logs:
        paired = pair_logs(read_logs(logs), score, cluster)
        tables.append(score_table(paired.frame, ", ".join(logs)))
        notes = paired.notes
    elif score is not None:
        raise InputError("--score chooses a score of logs; the columns of a table are chosen with --metric")
    table, own = tables[0], paths[0] if paths else None
    if len(tables) > 1:
        table, own = _joined(tables, ", ".join(sources)), None
    if answers is not None:
        table = with_answers(table, [answers], as_said=False)
    return ScoreSources(table, own, notes, bool(logs))


def with_own_answers(found: ScoreSources, claims: Sequence[Claim]) -> ScoreTable:
    """Return the scores, with the answers of the experiment that they are from if a claim needs them and has none."""
    if found.table.answers is not None or found.own is None or not any(needs_answers(claim) for claim in claims):
        return found.table
    answers = answers_for(found.own)
    check_files(Layout(found.own.parent.as_posix()), answers)
    return with_answers(found.table, answers) if answers else found.table


def declared_claims(found: ScoreSources, claims: Sequence[str]) -> list[str] | None:
    """Return those claims that were declared before the first call; None for a table without a history."""
    if found.own is None:
        return [] if found.has_logs else None
    journal = read_journal(Layout(found.own.parent.as_posix()))
    if not journal.is_kept:
        return None
    is_unsure = journal.faults or binding_changes(journal.since)
    return [] if is_unsure else [claim for claim in claims if one_line(claim) in journal.claims]


def _is_log(path: Path) -> bool:
    """Return whether an argument names logs, by a file, a pattern, or a folder that is not of an experiment."""
    if path.is_dir():
        return not any((path / name).exists() for name in ("scores.csv", "plan.json"))
    return is_log(path) or any(mark in str(path) for mark in "*?[")


def _scores(path: Path) -> Path:
    """Return the table of scores that a path means: the file itself, or that of a results folder."""
    return opened_results(path / "scores.csv" if path.is_dir() else path)


def _table(path: Path, cluster: str | None) -> ScoreTable:
    """Read a table, with a column as its clusters if one is named."""
    warn_if_stopped(path.parent)
    check_own_files([path])
    table = read_table(path)
    if cluster is not None:
        frame = table.frame
        if cluster not in frame:
            had = ", ".join(map(str, frame))
            raise InputError(f"--cluster {cluster}: {path} has no such column\n    it has: {had}")
        table = score_table(frame.assign(cluster=frame[cluster]), str(path))
    layout = Layout(path.parent.as_posix())
    plan = plan_or_empty(layout) if path == Path(layout.table("scores")) else PlanRecord()
    now = read_journal(layout).now if plan else None
    if now is None or plan_changes(now, plan):
        return table  # another plan may have other limits
    return replace(table, most=plan.most, fixed=plan.fixed)


def _joined(tables: Sequence[ScoreTable], sources: str) -> ScoreTable:
    """Return the rows of several tables as one; each cell is of one of them alone."""
    cells = Counter(cell for table in tables for cell in table.cells)
    twice = [cell for cell, count in cells.items() if count > 1]
    if twice:
        raise DataError(
            f"{sources}: the cell {twice[0]!r} is in more than one of them\n"
            "    rename it in one of the tables, so that verdicts can name both"
        )
    joined = score_table(pd.concat([table.frame for table in tables], ignore_index=True), sources)
    most = {cell: bounds for table in tables for cell, bounds in table.most.items()}
    fixed = {cell: counts for table in tables for cell, counts in table.fixed.items()}
    return replace(joined, most=most, fixed=fixed)
