"""Effects of leaving something out of a debate, and the Shapley value of each agent.

An effect is a paired difference: each debate is compared with its counterfactual without an agent, an edge, a round or
a step.

The worth v(S) of a coalition S of agents is the mean score of debates among its members; v of the empty coalition is 0.
The value of an agent is its marginal contribution v(S + i) - v(S), averaged over the coalitions that it may join
(Shapley 1953, A value for n-person games, Contributions to the Theory of Games II, Eq. 12):

    phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! (v(S + i) - v(S))

This is the mean over all n! orders in which agents join. With many agents some orders are drawn (Castro, Gomez and
Tejada 2009, Computers & Operations Research 36:1726): each order gives every agent one marginal contribution, so that
the values still add up to v of all agents (efficiency), and their spread over orders is the sampling error. In both
cases a value is a weighted sum of scores of coalitions, so it has the interval of any contrast of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import factorial
from typing import TypeAlias

import numpy as np
import pandas as pd

from cortexdsl.claims.arms import GridArm
from cortexdsl.core import Family, Floats
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.contrasts import contrast_outcomes
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.tables.score_table import ALL, score_table
from cortexdsl.stats.tables.units import units

EFFECT_COLUMNS = (
    "dataset", "cell", "without", "whole", "left_out", "effect", "ci_low", "ci_high", "ci_low_simultaneous",
    "ci_high_simultaneous", "test", "p", "p_adjusted", "correction", "n_questions", "changed", "asked", "declared",
    "note", "metric",
)  # fmt: skip


Row: TypeAlias = Mapping[str, str | int | float | None]
"""A row of scores.csv, by column."""
ANSWER_CHANGED, OWN_CALLS = "changed", "asked_beside"
"""Columns of counterfactual debates: whether the answer differs; calls that the original debate does not have."""


def name_without(cell: str, without: str) -> str:
    """Return the name of a cell without something; no cell of a plan can have such a name."""
    return f"{cell} without {without}"


@dataclass(frozen=True, slots=True)
class Removal:
    """Something left out of a cell; declared if by the spec, not if by the command line alone."""

    without: str
    is_declared: bool


def effects(
    rows: Sequence[Row],
    cell: str,
    removals: Sequence[Removal],
    seed: int,
    correction: str = "holm",
    draws: int = DRAWS,
    metrics: Sequence[str] = ("accuracy",),
) -> pd.DataFrame:
    """Test the effects of leaving something out on the metrics of a cell.

    With the same seeds two debates of a question are identical as long as their prompts are, so their difference is
    the effect. Units are questions (or clusters); replicates are averaged first.

    Parameters
    ----------
    rows : sequence of Row
        Score rows of the cell and of each counterfactual (its cell is `name_without`), on all datasets.
    cell : str
    removals : sequence of Removal
        Those of the spec and those of the command line are two families, each corrected by itself.
    seed : int
    correction : str
    draws : int
    metrics : sequence of str
        Each has its own families, so that a further metric changes no p of the others.

    Returns
    -------
    DataFrame
        One row for each metric, dataset and removal (and for the mean over several datasets, `all`): `whole` and
        `left_out` are the means with and without it; `effect` is the first minus the second, above 0 if it helps;
        `changed` is the share of debates with another answer, `asked` the number of calls that the original debates
        do not have.
    """
    frame = pd.DataFrame(rows)
    table = score_table(frame)
    results = []
    for metric, is_declared in product(metrics, (True, False)):
        names = {name_without(cell, one.without): one.without for one in removals if one.is_declared == is_declared}
        if not names:
            continue
        family = Family("whatif", tuple(names), cell, correction)  # type: ignore[arg-type]
        arms = [GridArm(name, name) for name in (cell, *names)]
        for row in compare_families(table, [family], [metric], seed, arms, draws).to_dict("records"):
            here = frame if row["dataset"] == ALL else frame[frame["dataset"] == row["dataset"]]
            branch = here[here["cell"] == row["cell"]]
            scope = table.datasets if row["dataset"] == ALL else (str(row["dataset"]),)
            means = units(table, metric, [cell, str(row["cell"])], scope).means.tolist()
            results.append({
                "dataset": row["dataset"], "cell": cell, "without": names[str(row["cell"])],
                "whole": means[0], "left_out": means[1], "effect": 0.0 - row["difference"],
                "ci_low": 0.0 - row["ci_high"], "ci_high": 0.0 - row["ci_low"],
                "ci_low_simultaneous": 0.0 - row["ci_high_simultaneous"],
                "ci_high_simultaneous": 0.0 - row["ci_low_simultaneous"],
                "test": row["test"], "p": row["p"], "p_adjusted": row["p_adjusted"], "correction": correction,
                "n_questions": row["n_questions"], "changed": _mean(branch, ANSWER_CHANGED),
                "asked": int(branch[OWN_CALLS].sum()), "declared": is_declared, "note": row["note"],
                "metric": metric,
            })  # fmt: skip
    return pd.DataFrame(results, columns=list(EFFECT_COLUMNS))


def _mean(rows: pd.DataFrame, column: str) -> float:
    """Return the mean over questions within each dataset, then over datasets."""
    return float(rows.groupby("dataset")[column].mean().mean())


SHAPLEY_COLUMNS = (
    "dataset", "cell", "agent", "value", "ci_low", "ci_high", "order_error", "whole", "coalitions", "orders",
    "n_questions", "metric",
)  # fmt: skip
Coalition = frozenset[str]


def exact_weights(players: Sequence[str]) -> dict[Coalition, Floats]:
    """Return the weight of each coalition in the value of each player: coalition -> (players,) array."""
    n = len(players)
    share = [factorial(size) * factorial(n - size - 1) / factorial(n) for size in range(n)]
    weights = {}
    for size in range(1, n + 1):
        for names in combinations(players, size):
            inside = np.array([name in names for name in players])
            weights[Coalition(names)] = np.where(inside, share[size - 1], -share[size] if size < n else 0.0)
    return weights


def order_weights(players: Sequence[str], order: Sequence[str]) -> dict[Coalition, Floats]:
    """Return the weights of coalitions in the marginal contributions of one order."""
    weights: dict[Coalition, Floats] = {}
    for place, name in enumerate(order):
        joined = np.array([player == name for player in players], dtype=np.float64)
        with_it, before = Coalition(order[: place + 1]), Coalition(order[:place])
        weights[with_it] = weights.get(with_it, np.zeros(len(players))) + joined
        if before:
            weights[before] = weights[before] - joined
    return weights


def drawn_weights(players: Sequence[str], orders: Sequence[Sequence[str]]) -> dict[Coalition, Floats]:
    """Return the weights of coalitions in the mean over some orders."""
    weights: dict[Coalition, Floats] = {}
    for order in orders:
        for names, weight in order_weights(players, order).items():
            weights[names] = weights.get(names, np.zeros(len(players))) + weight / len(orders)
    return weights


def order_errors(
    players: Sequence[str], orders: Sequence[Sequence[str]], worth: Callable[[Coalition], float]
) -> Floats:
    """Return the standard error of each player's value due to drawing orders, (players,).

    Parameters
    ----------
    orders : sequence of orders
        At least 2, independent draws.
    worth : function from a coalition to a number
    """
    drawn = np.array([
        sum(worth(names) * weight for names, weight in order_weights(players, order).items()) for order in orders
    ])  # fmt: skip
    return np.asarray(drawn.std(axis=0, ddof=1) / np.sqrt(len(orders)))


def shapley_table(
    rows: Sequence[Row],
    cell: str,
    players: Sequence[str],
    cells: Mapping[Coalition, str],
    orders: Sequence[Sequence[str]],
    seed: int,
    draws: int = DRAWS,
    metrics: Sequence[str] = ("accuracy",),
) -> pd.DataFrame:
    """Estimate the Shapley value of each player.

    Parameters
    ----------
    rows : sequence of Row
        Score rows of the cell and of its coalitions, on all datasets.
    cell : str
        The cell of all players.
    players : sequence of str
    cells : mapping of coalition to str
        The cell of each proper coalition.
    orders : sequence of orders
        Drawn orders; empty for exact values from all coalitions.
    seed, draws : int
    metrics : sequence of str
        The worth of coalitions, one after the other.

    Returns
    -------
    DataFrame
        One row for each metric, dataset (and their mean, `all`) and player. `order_error` is empty for exact values.
    """
    weights = drawn_weights(players, orders) if orders else exact_weights(players)
    named = {names: cell if len(names) == len(players) else cells[names] for names in weights}
    table = score_table(pd.DataFrame(rows))
    scopes = [(name,) for name in table.datasets] + ([table.datasets] if len(table.datasets) > 1 else [])
    matrix = np.array([weights[names] for names in named]).T
    results = []
    for metric, scope in product(metrics, scopes):
        sample = units(table, metric, list(named.values()), scope)
        outcomes = contrast_outcomes(sample, matrix, [0.0] * len(players), seed, draws)
        worth = dict(zip(named, sample.means.tolist(), strict=True))
        errors = order_errors(players, orders, worth.__getitem__) if orders else np.full(len(players), np.nan)
        for player, outcome, error in zip(players, outcomes, errors, strict=True):
            results.append({
                "dataset": sample.dataset, "cell": cell, "agent": player, "value": outcome.estimate,
                "ci_low": outcome.low, "ci_high": outcome.high, "order_error": error,
                "whole": worth[Coalition(players)], "coalitions": len(named), "orders": len(orders) or "",
                "n_questions": int(sample.sizes.sum()), "metric": metric,
            })  # fmt: skip
    return pd.DataFrame(results, columns=list(SHAPLEY_COLUMNS))
