"""Tables that describe debates: agents.csv, calibration.csv, reliability.csv, persuasion.csv.

They need no statistics, so that the job that scores a cell starts fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import pandas as pd

from cortexdsl.core import Turn
from cortexdsl.metrics.calibration import (
    ConfidenceKind,
    brier_score,
    expected_calibration_error,
    pairs,
    reliability_bins,
    spoken_pairs,
)
from cortexdsl.metrics.influence import Occasion, exposures, occasions
from cortexdsl.metrics.replies import calls_of, total
from cortexdsl.metrics.rows import AgentRow, BinRow, CalibrationRow, PersuasionRow
from cortexdsl.metrics.view import DebateView, Grade, view_debate
from cortexdsl.records import Record
from cortexdsl.stats.tables.calibration import BINS
from cortexdsl.stats.tables.rows import columns_of

KINDS: tuple[ConfidenceKind, ...] = get_args(ConfidenceKind)


def agent_table(records: Iterable[Record], grade: Grade) -> pd.DataFrame:
    """Describe the debaters of one dataset's records.

    Returns
    -------
    DataFrame
        One row for each cell and debater, in order of appearance. `debated`: debates it took part in; accuracies
        of its own first and last answers; `hears` and `is_heard`: kept edges into and out of it a debate (Table 4
        of CortexDebate); flips by kind, calls and tokens a debate; `influence`: of its answers that another debater
        heard and did not share, the share taken over; `conformity` and `stubbornness` as shares of
        their occasions; `unparsed` of its `answers`; Brier scores and calibration errors of its confidences.
        NaN if nothing is known.
    """
    cells: dict[tuple[str, str], dict[str, list[AgentDebate]]] = {}
    for record in records:
        agents = cells.setdefault((record.header.dataset, record.header.cell), {})
        for agent, deeds in _agent_debates(view_debate(record.debate, grade)).items():
            agents.setdefault(agent, []).append(deeds)
    rows = [
        AgentRow(*cell, agent, *_agent_values(found))
        for cell, agents in cells.items()
        for agent, found in agents.items()
    ]
    return pd.DataFrame(rows, columns=columns_of(AgentRow))


@dataclass(slots=True)
class AgentDebate:
    """The answers, edges and confidences of one debater in one debate."""

    model: str
    opening: float = 0.0
    last: float = 0.0
    hears: int = 0
    is_heard: int = 0
    flips: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    occasions: list[Occasion] = field(default_factory=list)
    persuaded: list[bool] = field(default_factory=list)
    answers: list[str | None] = field(default_factory=list)
    judged: dict[ConfidenceKind, list[tuple[float, bool]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    turns: list[Turn] = field(default_factory=list)


def _agent_debates(view: DebateView) -> dict[str, AgentDebate]:
    """Go through a debate once, for all its debaters."""
    models = {agent.name: agent.model.model for agent in view.debate.agents}
    deeds = {name: AgentDebate(models[name]) for name in view.debaters}
    for turn in view.debate.turns:
        if turn.speaker in deeds:
            deeds[turn.speaker].turns.append(turn)
    for turn in view.given():
        mine = deeds[turn.speaker]
        if not mine.answers:
            mine.opening = view.worth(turn.answer)
        mine.last = view.worth(turn.answer)
        mine.answers.append(turn.answer)
    for talk in view.talks:
        for name, heard in zip(talk.listeners, talk.heard.sum(axis=0).tolist(), strict=True):
            deeds[name].hears += heard
        for name, spoken in zip(talk.speakers, talk.heard.sum(axis=1).tolist(), strict=True):
            if name in deeds:
                deeds[name].is_heard += spoken
    for old, new in view.revisions():
        if old.answer != new.answer:
            deeds[new.speaker].flips[view.is_right(old.answer), view.is_right(new.answer)] += 1
    for occasion in occasions(view):
        deeds[occasion.speaker].occasions.append(occasion)
    for exposure in exposures(view):
        if exposure.speaker in deeds:
            deeds[exposure.speaker].persuaded.append(exposure.adopted)
    for kind in KINDS:
        for speaker, confidence, right in spoken_pairs(view, kind):
            deeds[speaker].judged[kind].append((confidence, right))
    return deeds


def _agent_values(debates: Sequence[AgentDebate]) -> list[Any]:
    """Return the fields of an agent's row after its name."""
    n = len(debates)
    flips: Counter[tuple[bool, bool]] = sum((deeds.flips for deeds in debates), Counter())
    met = [occasion for deeds in debates for occasion in deeds.occasions]
    answers = [answer for deeds in debates for answer in deeds.answers]
    turns = [turn for deeds in debates for turn in deeds.turns]
    calibrated = {kind: _calibration([pair for deeds in debates for pair in deeds.judged[kind]]) for kind in KINDS}
    return [
        debates[0].model,
        n,
        _mean([deeds.opening for deeds in debates]),
        _mean([deeds.last for deeds in debates]),
        sum(deeds.hears for deeds in debates) / n,
        sum(deeds.is_heard for deeds in debates) / n,
        flips[False, True] / n,
        flips[True, False] / n,
        flips[False, False] / n,
        _mean([float(occasion.conformed) for occasion in met if occasion.faced_majority]),
        _mean([float(occasion.held) for occasion in met if occasion.faced_difference]),
        len(answers),
        answers.count(None),
        *calibrated["stated"],
        *calibrated["recalibrated"],
        sum(1 for _ in calls_of(turns)) / n,
        _per(total(turns, "prompt_tokens"), n),
        _per(total(turns, "completion_tokens"), n),
        _mean([float(adopted) for deeds in debates for adopted in deeds.persuaded]),
        *calibrated["raw"],
    ]


def _calibration(judged: Sequence[tuple[float, bool]], bins: int = BINS) -> tuple[float, float]:
    """Return the Brier score and the calibration error of some confidences."""
    confidence, right = [c for c, _ in judged], [y for _, y in judged]
    return brier_score(confidence, right), expected_calibration_error(confidence, right, bins)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _per(value: float | None, n: int) -> float:
    return float("nan") if value is None else value / n


def calibration_tables(records: Iterable[Record], grade: Grade, bins: int = BINS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judge the confidences of debaters' answers, in all rounds.

    Parameters
    ----------
    records : iterable of Record
        Of one dataset.
    grade : callable
        (question id, answer) -> score.
    bins : int
        Equally wide bins of the reliability diagram and of ECE.

    Returns
    -------
    calibration : DataFrame
        For each cell, `stated` and `recalibrated` confidence, and before that the one that it measures, by its source
        (`logprob`, `consistency`, `verifier`): how many `answers` there are and how many of them
        state a confidence, its mean, the accuracy of those that do, Brier score and ECE.
    reliability : DataFrame
        The bins: [low, high), answers in it, their mean confidence and accuracy.
    """
    found: dict[tuple[str, str], tuple[int, dict[ConfidenceKind, list[tuple[float, bool]]], str]] = {}
    for record in records:
        view = view_debate(record.debate, grade)
        key = (record.header.dataset, record.header.cell)
        answers, by_kind, source = found.get(key, (0, {kind: [] for kind in get_args(ConfidenceKind)}, ""))
        for kind in by_kind:
            by_kind[kind] += pairs(view, kind)
        source = next((turn.measured.source for turn in view.given() if turn.measured is not None), source)
        found[key] = answers + len(view.given()), by_kind, source
    summary, diagram = [], []
    for (dataset, cell), (answers, by_kind, source) in found.items():
        if not source:
            del by_kind["raw"]  # the stated ones again
        for kind, judged in ((source if kind == "raw" else kind, judged) for kind, judged in by_kind.items()):
            confidence, right = [c for c, _ in judged], [y for _, y in judged]
            means = _mean(confidence), _mean(right)
            summary.append((dataset, cell, kind, answers, len(judged), *means, *_calibration(judged, bins)))
            diagram += [
                (dataset, cell, kind, b.low, b.high, b.answers, b.confidence, b.accuracy)
                for b in reliability_bins(confidence, right, bins)
            ]
    return pd.DataFrame(summary, columns=columns_of(CalibrationRow)), pd.DataFrame(diagram, columns=columns_of(BinRow))


def persuasion_table(records: Iterable[Record], grade: Grade) -> pd.DataFrame:
    """Count, edge by edge, what the debaters of one dataset's records heard that was not their own answer.

    Returns
    -------
    DataFrame
        One row for each cell, speaker and listener between whom that ever happened, in order of appearance; the
        speaker need not be a debater (an adversary from outside). `faced`: revisions before which the listener heard an
        answer of the speaker that was not its own; `adopted`: those that took it over; `right_faced`: those in which
        the answer heard was right and the listener's own was wrong; `wrong_faced`: the other way round. If both
        were wrong, or both right in other words, a revision counts in the first two alone. An answer that two
        speakers gave counts for both.
    """
    counts: dict[tuple[str, str, str, str], Counter[str]] = {}
    for record in records:
        for each in exposures(view_debate(record.debate, grade)):
            pair = record.header.dataset, record.header.cell, each.speaker, each.listener
            kinds = ["faced"]
            if each.said_right != each.held_right:
                kinds.append("right_faced" if each.said_right else "wrong_faced")
            adopted = [kind.replace("faced", "adopted") for kind in kinds] if each.adopted else []
            counts.setdefault(pair, Counter()).update([*kinds, *adopted])
    columns = columns_of(PersuasionRow)
    rows = [[*pair, *(found[name] for name in columns[4:])] for pair, found in counts.items()]
    return pd.DataFrame(rows, columns=columns)


TABLES = ("agents", "calibration", "reliability", "persuasion")


def debate_tables(records: Sequence[Record], grade: Grade) -> dict[str, pd.DataFrame]:
    """Describe the records of one dataset: a table under each of the names in `TABLES`, in this order.

    Tables of several datasets or cells are joined by concatenation.
    """
    tables = (
        agent_table(records, grade),
        *calibration_tables(records, grade),
        persuasion_table(records, grade),
    )
    return dict(zip(TABLES, tables, strict=True))
