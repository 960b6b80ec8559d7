"""Compare GroupDebate's model of token cost with measured tokens (arXiv 2409.14051, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cortexdsl.metrics.replies import total_tokens
from cortexdsl.metrics.rows import TokenRow
from cortexdsl.metrics.view import DebateView, view_debate
from cortexdsl.records import Record
from cortexdsl.stats.tables.rows import columns_of


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a set of debates that the model needs.

    Attributes
    ----------
    agents, rounds : int
        M debaters; T rounds of answers, the opening included.
    question, reply : float
        Q, tokens of a question's prompt; C, tokens of a reply or summary (the paper's bound; here their mean).
    """

    agents: int
    rounds: int
    question: float
    reply: float


def mad_tokens(sizes: Sizes) -> float:
    """Return M T Q + (M^2 T + M T^2) C: multi-agent debate with summaries, history kept whole.

    The paper states the order of growth alone; the constant of every term is taken as 1.
    """
    m, t = sizes.agents, sizes.rounds
    return m * t * sizes.question + (m**2 * t + m * t**2) * sizes.reply


def group_tokens(sizes: Sizes, groups: int, rounds_per_stage: int) -> float:
    """Return M T Q + (M^2 T / N + M S N) C: debate in N groups and S = ceil(T / R) stages.

    Parameters
    ----------
    sizes : Sizes
    groups : int
        N, in 1..M.
    rounds_per_stage : int
        R, at least 1.
    """
    m, t = sizes.agents, sizes.rounds
    if not 1 <= groups <= m:
        raise ValueError(f"{groups} groups of {m} agents: there must be 1 to {m}")
    s = stages(t, rounds_per_stage)
    return m * t * sizes.question + (m**2 * t / groups + m * s * groups) * sizes.reply


def stages(rounds: int, rounds_per_stage: int) -> int:
    """Return S = ceil(T / R): the last stage may be cut short."""
    if rounds < 1 or rounds_per_stage < 1:
        raise ValueError("rounds and rounds_per_stage must be at least 1")
    return math.ceil(rounds / rounds_per_stage)


def best_groups(agents: int, rounds: int, rounds_per_stage: int) -> float:
    """Return sqrt(M T / S), the number of groups that costs least under the model; not rounded."""
    return math.sqrt(agents * rounds / stages(rounds, rounds_per_stage))


def sizes_of(views: Iterable[DebateView]) -> Sizes | None:
    """Measure M, T, Q and C on debates of one cell; None if tokens are unknown or there is no debate.

    M and T are the largest seen; Q is the mean prompt of an opening answer, C the mean of all completions.
    """
    seen = list(views)
    prompts = [turn.prompt_tokens for view in seen for turn in view.answers[0]]
    replies = [turn.completion_tokens for view in seen for turn in view.debate.turns]
    known_prompts = [count for count in prompts if count is not None]
    known_replies = [count for count in replies if count is not None]
    if not prompts or len(known_prompts) < len(prompts) or len(known_replies) < len(replies):
        return None
    return Sizes(
        agents=max(len(view.debaters) for view in seen),
        rounds=max(len(view.answers) for view in seen),
        question=sum(known_prompts) / len(known_prompts),
        reply=sum(known_replies) / len(known_replies),
    )


def token_table(records: Iterable[Record]) -> pd.DataFrame:
    """Compare the model with the measured tokens, cell by cell.

    Returns
    -------
    DataFrame
        `dataset, cell, agents, rounds, groups, stages, question_tokens, reply_tokens, measured, debate_model,
        group_model, best_groups`, all tokens a question. Groups are those that debaters talk in in round 1, a stage
        lasts until debaters first do not hear each other; where all talk with all, or none with any, there are no
        groups and `group_model` is NaN. Cells without token counts are left out.
    """
    cells: dict[tuple[str, str], list[DebateView]] = {}
    for record in records:
        key = (record.header.dataset, record.header.cell)
        cells.setdefault(key, []).append(view_debate(record.debate, lambda *_: 0.0))
    rows = []
    for key, views in cells.items():
        sizes = sizes_of(views)
        if sizes is not None:
            spent = [total_tokens(view) for view in views]
            measured = sum(tokens for tokens in spent if tokens is not None) / len(views)
            groups, per_stage = talk_groups(views[0])
            rows.append((*key, *_row(sizes, groups, per_stage, measured)))
    return pd.DataFrame(rows, columns=columns_of(TokenRow))


def talk_groups(view: DebateView) -> tuple[int, int]:
    """Return N, the groups that debaters talk in in round 1, and R, the rounds of the first stage.

    N is the number of connected parts of the first graph of debate, 1 where debaters never hear each other.
    """
    rounds = {talk.round: talk for talk in view.talks}
    if 1 not in rounds:
        return 1, len(view.answers)
    talk = rounds[1]
    part = {name: name for name in (*view.debaters, *talk.speakers)}

    def of(name: str) -> str:
        while part[name] != name:
            part[name] = name = part[part[name]]
        return name

    for row, column in np.argwhere(talk.heard):
        part[of(talk.speakers[row])] = of(talk.listeners[column])
    last = next((r for r in range(1, len(view.answers)) if r not in rounds), len(view.answers))
    return len({of(name) for name in view.debaters}), last


def _row(sizes: Sizes, groups: int, per_stage: int, measured: float) -> tuple[float, ...]:
    in_groups = 1 < groups < sizes.agents
    count = stages(sizes.rounds, per_stage)
    return (
        sizes.agents,
        sizes.rounds,
        groups if in_groups else 1,
        count if in_groups else 1,
        sizes.question,
        sizes.reply,
        measured,
        mad_tokens(sizes),
        group_tokens(sizes, groups, per_stage) if in_groups else float("nan"),
        best_groups(sizes.agents, sizes.rounds, per_stage if in_groups else sizes.rounds),
    )
