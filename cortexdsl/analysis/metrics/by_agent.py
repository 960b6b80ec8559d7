"""agents.csv: what each debater of each cell did, over all its debates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import pandas as pd

from cortexdsl.analysis.metrics.calibration import Kind, brier_score, expected_calibration_error, pairs
from cortexdsl.analysis.metrics.persuasion import occasions
from cortexdsl.analysis.metrics.usage import total
from cortexdsl.analysis.metrics.view import Grade, Graded, graded
from cortexdsl.records import Record

COLUMNS = (
    "dataset", "cell", "agent", "model", "debated", "opening_accuracy", "last_accuracy", "hears", "is_heard",
    "wrong_to_right", "right_to_wrong", "wrong_to_wrong", "conformity", "stubbornness", "answers", "unparsed",
    "brier_stated", "ece_stated", "brier_recalibrated", "ece_recalibrated", "calls", "input_tokens", "output_tokens",
)  # fmt: skip


def agent_table(records: Iterable[Record], grade: Grade) -> pd.DataFrame:
    """Describe the debaters of one dataset's records.

    Returns
    -------
    DataFrame
        One row for each cell and debater, in order of appearance. `debated`: debates it took part in; accuracies
        of its own first and last answers; `hears` and `is_heard`: kept edges into and out of it a debate (Table 4
        of CortexDebate); flips by kind, calls and tokens a debate; `conformity` and `stubbornness` as shares of
        their occasions; `unparsed` of its `answers`; Brier scores and calibration errors of its confidences.
        NaN where nothing is known.
    """
    seen: dict[tuple[str, str, str], list[Graded]] = {}
    for record in records:
        view = graded(record.debate, grade)
        for agent in view.debaters:
            seen.setdefault((record.header.dataset, record.header.cell, agent), []).append(view)
    rows = [dict(zip(COLUMNS, [*key, *_describe(key[2], views)], strict=True)) for key, views in seen.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _describe(agent: str, views: Sequence[Graded]) -> list[object]:
    n = len(views)
    own = [[turn for turns in view.answers for turn in turns if turn.speaker == agent] for view in views]
    turns = [turn for view in views for turn in view.debate.turns if turn.speaker == agent]
    edges = [edge for view in views for graph in view.graphs() for edge in view.edges(graph)]
    met = [occasion for view in views for occasion in occasions(view) if occasion.speaker == agent]
    flips = [
        (view.is_right(old.answer), view.is_right(new.answer))
        for view in views
        for old, new in view.revisions()
        if new.speaker == agent and old.answer != new.answer
    ]
    return [
        next(a.model.model for a in views[0].debate.agents if a.name == agent),
        n,
        _mean([view.worth(answers[0].answer) for view, answers in zip(views, own, strict=True)]),
        _mean([view.worth(answers[-1].answer) for view, answers in zip(views, own, strict=True)]),
        sum(listener == agent for _, listener in edges) / n,
        sum(speaker == agent for speaker, _ in edges) / n,
        flips.count((False, True)) / n,
        flips.count((True, False)) / n,
        flips.count((False, False)) / n,
        _mean([float(occasion.conformed) for occasion in met if occasion.faced_majority]),
        _mean([float(occasion.held) for occasion in met if occasion.faced_difference]),
        sum(map(len, own)),
        sum(turn.answer is None for answers in own for turn in answers),
        *_calibration(agent, views),
        len(turns) / n,
        _per(total(turns, "prompt_tokens"), n),
        _per(total(turns, "completion_tokens"), n),
    ]


def _calibration(agent: str, views: Sequence[Graded]) -> list[float]:
    found = []
    for kind in get_args(Kind):
        judged = [pair for view in views for pair in pairs(view, kind, agent)]
        confidence, right = [c for c, _ in judged], [y for _, y in judged]
        found += [brier_score(confidence, right), expected_calibration_error(confidence, right)]
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _per(value: float | None, n: int) -> float:
    return float("nan") if value is None else value / n
