"""agents.csv: what each debater of each cell did, over all its debates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

import pandas as pd

from cortexdsl.analysis.metrics.measures.calibration import Kind, brier_score, expected_calibration_error, spoken_pairs
from cortexdsl.analysis.metrics.measures.persuasion import Occasion, exposures, occasions
from cortexdsl.analysis.metrics.measures.usage import made, total
from cortexdsl.analysis.metrics.view import Grade, Graded, graded
from cortexdsl.records import Record
from cortexdsl.terms import Turn

KINDS: tuple[Kind, ...] = get_args(Kind)

COLUMNS = (
    "dataset", "cell", "agent", "model", "debated", "opening_accuracy", "last_accuracy", "hears", "is_heard",
    "wrong_to_right", "right_to_wrong", "wrong_to_wrong", "conformity", "stubbornness", "answers", "unparsed",
    "brier_stated", "ece_stated", "brier_recalibrated", "ece_recalibrated", "calls", "input_tokens", "output_tokens",
    "influence", "brier_raw", "ece_raw",
)  # fmt: skip


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
        NaN where nothing is known.
    """
    cells: dict[tuple[str, str], dict[str, list[Deeds]]] = {}
    for record in records:
        agents = cells.setdefault((record.header.dataset, record.header.cell), {})
        for agent, deeds in _deeds(graded(record.debate, grade)).items():
            agents.setdefault(agent, []).append(deeds)
    rows = [
        dict(zip(COLUMNS, [*cell, agent, *_described(found)], strict=True))
        for cell, agents in cells.items()
        for agent, found in agents.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(slots=True)
class Deeds:
    """What one debater did in one debate."""

    model: str
    opening: float = 0.0
    last: float = 0.0
    hears: int = 0
    is_heard: int = 0
    flips: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    occasions: list[Occasion] = field(default_factory=list)
    persuaded: list[bool] = field(default_factory=list)
    answers: list[str | None] = field(default_factory=list)
    judged: dict[Kind, list[tuple[float, bool]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    turns: list[Turn] = field(default_factory=list)


def _deeds(view: Graded) -> dict[str, Deeds]:
    """Go through a debate once, for all its debaters."""
    models = {agent.name: agent.model.model for agent in view.debate.agents}
    deeds = {name: Deeds(models[name]) for name in view.debaters}
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


def _described(debates: Sequence[Deeds]) -> list[object]:
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
        sum(1 for _ in made(turns)) / n,
        _per(total(turns, "prompt_tokens"), n),
        _per(total(turns, "completion_tokens"), n),
        _mean([float(adopted) for deeds in debates for adopted in deeds.persuaded]),
        *calibrated["raw"],
    ]


def _calibration(judged: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    confidence, right = [c for c, _ in judged], [y for _, y in judged]
    return brier_score(confidence, right), expected_calibration_error(confidence, right)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _per(value: float | None, n: int) -> float:
    return float("nan") if value is None else value / n
