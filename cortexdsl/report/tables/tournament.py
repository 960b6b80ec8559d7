"""Tables of a tournament: the ranking of the cells, and how far it depends on the judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cortexdsl.metrics.rows import JudgeRow, TournamentRow
from cortexdsl.metrics.tournament import ALL
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.report.tables.table import Table, group, measure, numbers, share, tabulate, text, value, whole

TOURNAMENT, JUDGES = "tournament", "judges"


def strengths(folder: Path) -> list[TournamentRow]:
    """Return the rows of tournament.csv; none without a tournament."""
    return list(read_frame(folder / "tournament.csv", TournamentRow))


def main_judge(rows: Sequence[TournamentRow | JudgeRow]) -> str:
    """Return the judge of the main ranking: all together, or the only one."""
    names = {row.judge for row in rows}
    return ALL if ALL in names else names.pop()


def tournament_tables(folder: Path) -> Iterator[Table]:
    """Yield the ranking and the judges, if there is a tournament."""
    rows = strengths(folder)
    if not rows:
        return
    judge = main_judge(rows)
    ranking = [
        text("Cell", "cell"),
        group("Dataset", "dataset"),
        value("Rank", "rank", whole),
        measure("Strength", ("strength", "ci_low", "ci_high"), "number"),
        text("Group", "groups"),
        share("Wins, ties half", "win_rate"),
        numbers(
            "Won, tied, lost", ("wins", "ties", "losses"),
            lambda row: f"{whole(row.wins)}, {whole(row.ties)}, {whole(row.losses)}",
        ),
    ]  # fmt: skip
    yield tabulate(
        TOURNAMENT,
        "Ranking of the cells by all ballots: the strength, in log-odds, against a cell of average strength.",
        ranking,
        [row for row in rows if row.judge == judge],
        "Cells that share a letter cannot be told apart (all pairs tested, corrected by Holm). A difference of 1 means "
        "2.7 wins for each loss. Equal answers tie without a judge.",
    )
    judges = read_frame(folder / "judges.csv", JudgeRow)
    places = {(row.dataset, row.judge, row.cell): row.rank for row in rows}
    cells = list(dict.fromkeys(row.cell for row in rows if row.judge == judge))
    yield tabulate(
        JUDGES,
        "How far the ranking depends on the judge.",
        [
            text("Judge", "judge", lambda row: "all judges" if row.judge == ALL else row.judge),
            group("Dataset", "dataset"),
            text(
                "Ranking", "ranking",
                lambda row: ", ".join(sorted(cells, key=lambda cell: places[row.dataset, row.judge, cell] or 0)),
            ),
            measure("Agreement (alpha)", ("alpha", "alpha_low", "alpha_high"), "number"),
            numbers(
                "Ballots, tied, unread", ("ballots", "ties", "unread"),
                lambda row: f"{whole(row.ballots)}, {whole(row.ties)}, {whole(row.unread)}",
            ),
            measure("Follow the position", ("position_bias", "position_bias_low", "position_bias_high"), "share"),
        ],
        judges,
        "A ballot is the verdicts on both orders of two answers. If they follow the position, it is a tie. Unreadable "
        "ballots count for nobody. Alpha: Krippendorff's, of the ballots.",
    )  # fmt: skip
