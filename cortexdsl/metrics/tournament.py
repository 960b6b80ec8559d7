"""Tables of a tournament: strengths of cells, each two cells, and the judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from cortexdsl.metrics.rows import DuelRow, TournamentRow
from cortexdsl.stats.tables.agreement import interval_by_unit
from cortexdsl.stats.tournament import (
    LOSS,
    TIE,
    UNREAD,
    WIN,
    Ballots,
    Ranking,
    agreement_of_judges,
    rank_methods,
)
from cortexdsl.tasks.balloting import by_answers, outcome_of, read_ballots
from cortexdsl.tasks.reading import pair

ALL = "all"
"""The judge of rows that are about all judges together."""
TOURNAMENT, DUELS, JUDGES = "tournament", "duels", "judges"
_OUTCOMES: Mapping[str | None, int] = {pair.FIRST: WIN, pair.TIE: TIE, pair.SECOND: LOSS, None: UNREAD}


@dataclass(frozen=True, slots=True)
class Entrant:
    """A cell and its answers, by replicate and question."""

    cell: str
    answers: Mapping[tuple[int, str], str | None]


def tournament_tables(
    dataset: str, entrants: Sequence[Entrant], ballots: Mapping[str, Path], clusters: Mapping[str, str], alpha: float
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table of a tournament on one dataset.

    Parameters
    ----------
    dataset : str
    entrants : sequence of Entrant
    ballots : mapping of judge to path
        The file of each judge's ballots.
    clusters : mapping of question id to cluster
    alpha : float
        The level of the tests and intervals.

    Raises
    ------
    RecordError
        A file of ballots cannot be read, or lacks two answers.
    """
    voted, asked = _ballots(entrants, ballots, clusters)
    judges, names = list(ballots), [entrant.cell for entrant in entrants]
    several = [ALL, *judges] if len(judges) > 1 else judges
    of = {judge: voted if judge == ALL else voted.where(voted.judge == judges.index(judge)) for judge in several}
    tables: dict[str, list[dict[str, Any]]] = {TOURNAMENT: [], DUELS: [], JUDGES: []}
    for judge, own in of.items():
        ranking = rank_methods(own, len(names), alpha=alpha)
        tables[TOURNAMENT] += [asdict(row) for row in _strengths(dataset, judge, names, own, ranking)]
        tables[DUELS] += [asdict(row) for row in _duels(dataset, judge, names, own, ranking)]
        was_asked = asked if judge == ALL else asked[voted.judge == judges.index(judge)]
        agreed = agreement_of_judges(own.where(was_asked), level=1 - alpha) if judge == ALL else (None, None, None)
        split = own.is_split[was_asked].astype(float)
        share = float(split.mean()) if len(split) else np.nan
        ends = interval_by_unit(share, split - share, own.unit[was_asked], level=1 - alpha, lowest=0.0)
        tables[JUDGES].append({
            "dataset": dataset, "judge": judge, "ballots": int(was_asked.sum()),
            "unread": int((own.outcome == UNREAD).sum()), "ties": int((own.outcome[was_asked] == TIE).sum()),
            **_interval("position_bias", (share, *ends)), **_interval("alpha", agreed),
        })  # fmt: skip
    return tables


def _interval(name: str, values: tuple[float | None, float | None, float | None]) -> dict[str, float | None]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), map(_known, values), strict=True))


def _known(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


def _ballots(
    entrants: Sequence[Entrant], files: Mapping[str, Path], clusters: Mapping[str, str]
) -> tuple[Ballots, np.ndarray]:
    """Return the ballots of all judges on each two cells, and about which a judge was asked."""
    unit = {cluster: k for k, cluster in enumerate(dict.fromkeys(clusters.values()))}
    read = {judge: by_answers(read_ballots(path)) for judge, path in files.items()}
    rows, asked = [], []
    item = 0
    for (i, one), (j, other) in combinations(enumerate(entrants), 2):
        for place in sorted(one.answers.keys() & other.answers.keys()):
            item += 1
            for judge, (name, path) in enumerate(files.items()):
                decided = outcome_of(place[1], one.answers[place], other.answers[place], read[name], path)
                code = _OUTCOMES[decided.preference]
                rows.append((i, j, code, unit[clusters[place[1]]], judge, item, decided.is_split))
                asked.append(decided.is_asked)
    table = np.array(rows, dtype=np.int64).reshape(-1, 7)
    order = np.lexsort(table.T)  # the same bytes, whatever the order of the answers
    table = table[order]
    first, second, outcome, units, judges, items, is_split = table.T
    return Ballots(first, second, outcome, units, judges, items, is_split.astype(bool)), np.array(asked, dtype=bool)[
        order
    ]


def _counts(ballots: Ballots, method: int) -> tuple[int, int, int]:
    """Return wins, ties and losses of a method."""
    first, second = (ballots.outcome[side == method] for side in (ballots.first, ballots.second))
    wins, losses = (int((first == a).sum() + (second == b).sum()) for a, b in ((WIN, LOSS), (LOSS, WIN)))
    return wins, int((first == TIE).sum() + (second == TIE).sum()), losses


def _strengths(
    dataset: str, judge: str, names: Sequence[str], ballots: Ballots, ranking: Ranking | None
) -> list[TournamentRow]:
    rows = []
    for k, name in enumerate(names):
        wins, ties, losses = _counts(ballots, k)
        total = wins + ties + losses
        rows.append(TournamentRow(
            dataset=dataset,
            judge=judge,
            cell=name,
            rank=int(ranking.rank[k]) if ranking else None,
            strength=float(ranking.strength[k]) if ranking else None,
            ci_low=_known(ranking.low[k]) if ranking else None,
            ci_high=_known(ranking.high[k]) if ranking else None,
            groups=ranking.groups[k] if ranking else "",
            win_rate=(wins + ties / 2) / total if total else None,
            wins=wins,
            ties=ties,
            losses=losses,
            n_questions=ranking.units if ranking else 0,
        ))  # fmt: skip
    return sorted(rows, key=lambda row: row.rank or 0)


def _duels(dataset: str, judge: str, names: Sequence[str], ballots: Ballots, ranking: Ranking | None) -> list[DuelRow]:
    rows = []
    for duel in ranking.duels if ranking else ():
        own = ballots.where((ballots.first == duel.first) & (ballots.second == duel.second))
        counts = [int((own.outcome == one).sum()) for one in (WIN, TIE, LOSS, UNREAD)]
        cells = names[duel.first], names[duel.second]
        ends = _known(duel.low), _known(duel.high)
        rows.append(DuelRow(dataset, judge, *cells, duel.difference, *ends, duel.p, duel.adjusted, *counts))
    return rows
