"""Scores from what a user names: tables, results folders, and logs of other tools, as one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cortexdsl.errors import DataError, InputError
from cortexdsl.jobs.arguments import warn_if_stopped
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.verification import check_files, check_own_files
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


def read_sources(sources: Sequence[str], *, score: str | None = None, cluster: str | None = None) -> ScoreSources:
    """Read scores from CSV files and results folders, from logs of other tools, or from both.

    Parameters
    ----------
    sources : sequence of str
        Files, folders, and patterns of logs.
    score : str or None
        Which score of logs is compared; see `cortexdsl.logs.pairing.pair_logs`.
    cluster : str or None
        What makes questions dependent: a column of tables, a fact of the samples of logs.

    Raises
    ------
    DataError, InputError
        A source cannot be read, or two sources have cells of the same name.
    """
    tables = [path for text in sources if (path := _table(Path(text))) is not None]
    logs = [text for text in sources if _table(Path(text)) is None]
    frames = [_frame(path, cluster) for path in tables]
    notes: tuple[str, ...] = ()
    if logs:
        # Only who compares logs waits for their readers.
        from cortexdsl.logs.pairing import pair_logs
        from cortexdsl.logs.sources import read_logs

        paired = pair_logs(read_logs(logs), score, cluster)
        frames, notes = [*frames, paired.frame], paired.notes
    elif score is not None:
        raise InputError("--score chooses a score of logs; the columns of a table are chosen with --metric")
    if len(frames) == 1:
        source = str(tables[0]) if tables else ", ".join(logs)
        return ScoreSources(score_table(frames[0], source), tables[0] if tables else None, notes, bool(logs))
    return ScoreSources(score_table(_joined(frames, sources), ", ".join(sources)), None, notes, bool(logs))


def _table(path: Path) -> Path | None:
    """Return the table of scores that a path means: a file of a table, or that of a results folder."""
    if path.is_dir():
        is_ours = any((path / name).exists() for name in ("scores.csv", "plan.json"))
        return opened_results(path / "scores.csv") if is_ours else None
    is_log = path.suffix in (".eval", ".json", ".jsonl") or any(mark in str(path) for mark in "*?[")
    return None if is_log else opened_results(path)


def _frame(path: Path, cluster: str | None) -> pd.DataFrame:
    warn_if_stopped(path.parent)
    check_own_files([path])
    check_files(Layout(path.parent.as_posix()), [])
    frame = read_table(path).frame
    if cluster is None:
        return frame
    if cluster not in frame:
        raise InputError(f"--cluster {cluster}: {path} has no such column\n    it has: {', '.join(map(str, frame))}")
    return frame.assign(cluster=frame[cluster])


def _joined(frames: Sequence[pd.DataFrame], sources: Sequence[str]) -> pd.DataFrame:
    """Return the rows of several sources; each cell is of one source alone."""
    cells = Counter(cell for frame in frames for cell in frame["cell"].astype(str).str.strip().unique())
    twice = [cell for cell, count in cells.items() if count > 1]
    if twice:
        raise DataError(
            f"{', '.join(sources)}: the cell {twice[0]!r} is in more than one of them\n"
            "    rename it in one of the tables, so that verdicts can name both"
        )
    return pd.concat(frames, ignore_index=True)
