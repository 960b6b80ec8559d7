"""Rows of the tables that describe cells, their rounds and their debaters: one class for the writer and the readers.

The fields of a class are the columns of its file, in their order. The site has them (docs/site/file_pages.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A row of metrics.csv."""

    dataset: str
    cell: str
    metric: str
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    n_questions: int | None
    n_replicates: int | None


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A row of rounds.csv: accuracy, consensus and listening after one round."""

    dataset: str
    cell: str
    round: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    consensus: float | None
    consensus_low: float | None
    consensus_high: float | None
    agent_accuracy: float | None
    improvement: float | None
    debating: float | None
    density: float | None
    reciprocity: float | None
    n_questions: int | None
    n_replicates: int | None


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A row of agents.csv; `hears` and `is_heard` are kept edges a debate."""

    dataset: str
    cell: str
    agent: str
    model: str
    debated: int | None
    opening_accuracy: float | None
    last_accuracy: float | None
    hears: float | None
    is_heard: float | None
    wrong_to_right: float | None
    right_to_wrong: float | None
    wrong_to_wrong: float | None
    conformity: float | None
    stubbornness: float | None
    answers: int | None
    unparsed: int | None
    brier_stated: float | None
    ece_stated: float | None
    brier_recalibrated: float | None
    ece_recalibrated: float | None
    calls: float | None
    input_tokens: float | None
    output_tokens: float | None
    influence: float | None
    brier_raw: float | None
    ece_raw: float | None


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """A row of calibration.csv: one source of confidence of one cell."""

    dataset: str
    cell: str
    confidence: str
    answers: int | None
    stated: int | None
    mean_confidence: float | None
    accuracy: float | None
    brier: float | None
    ece: float | None


@dataclass(frozen=True, slots=True)
class BinRow:
    """A row of reliability.csv: answers of one bin of confidence, and the share of them that is right.

    `confidence` is the source: `stated`, `recalibrated`, or how it was measured.
    """

    dataset: str
    cell: str
    confidence: str
    low: float
    high: float
    answers: int
    mean_confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class PersuasionRow:
    """A row of persuasion.csv: answers that a listener heard from a speaker, and those that it adopted."""

    dataset: str
    cell: str
    speaker: str
    listener: str
    faced: int
    adopted: int
    right_faced: int
    right_adopted: int
    wrong_faced: int
    wrong_adopted: int


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A row of labels.csv: one label of one turn, empty if the judge's reply could not be read."""

    dataset: str
    cell: str
    replicate: int
    question_id: str
    turn: int
    round: int
    speaker: str
    label: str
    value: str | None
    call: str | None


@dataclass(frozen=True, slots=True)
class TournamentRow:
    """A row of tournament.csv: the strength of a cell by the ballots of a judge, or of `all`."""

    dataset: str
    judge: str
    cell: str
    rank: int | None
    strength: float | None
    ci_low: float | None
    ci_high: float | None
    groups: str
    win_rate: float | None
    wins: int
    ties: int
    losses: int
    n_questions: int


@dataclass(frozen=True, slots=True)
class DuelRow:
    """A row of duels.csv: two cells of a tournament."""

    dataset: str
    judge: str
    cell: str
    reference: str
    difference: float
    ci_low: float | None
    ci_high: float | None
    p: float
    p_adjusted: float
    wins: int
    ties: int
    losses: int
    unread: int


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A row of judges.csv: the ballots of a judge of a tournament, or of `all`."""

    dataset: str
    judge: str
    ballots: int
    unread: int
    ties: int
    position_bias: float | None
    position_bias_low: float | None
    position_bias_high: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
