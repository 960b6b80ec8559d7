"""What each agent is worth to a debate: the Shapley value of the game whose coalitions debate alone.

The worth v(S) of a coalition S is the mean score of debates among its members; v of nobody is 0. An agent's value
is its marginal contribution v(S + i) - v(S) averaged over the coalitions that it may join (Shapley 1953, A value for
n-person games, Contributions to the Theory of Games II, Eq. 12):

    phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! (v(S + i) - v(S))

which is the mean over all n! orders in which agents come in. With many agents some orders are drawn (Castro, Gomez
and Tejada 2009, Computers & Operations Research 36:1726): each order gives every agent one marginal contribution, so
that the values still add up to v of all (efficiency), and their spread over orders is the error of drawing.

Either way a value is a weighted sum of coalitions' scores, so that its interval is that of any contrast of cells,
by question or cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from math import factorial

import numpy as np
import pandas as pd

from cortexdsl.analysis.tests.contrasts import contrast_outcomes
from cortexdsl.analysis.tests.signflip import DRAWS
from cortexdsl.analysis.units.scores import Row
from cortexdsl.analysis.units.table import score_table
from cortexdsl.analysis.units.units import units
from cortexdsl.terms import Floats

COLUMNS = (
    "dataset", "cell", "agent", "value", "ci_low", "ci_high", "order_error", "whole", "coalitions", "orders",
    "n_questions", "metric",
)  # fmt: skip
Coalition = frozenset[str]


def exact_weights(players: Sequence[str]) -> dict[Coalition, Floats]:
    """Return the weight of each coalition in each player's value: coalition -> (players,) array."""
    n = len(players)
    share = [factorial(size) * factorial(n - size - 1) / factorial(n) for size in range(n)]
    found = {}
    for size in range(1, n + 1):
        for names in combinations(players, size):
            inside = np.array([name in names for name in players])
            found[Coalition(names)] = np.where(inside, share[size - 1], -share[size] if size < n else 0.0)
    return found


def order_weights(players: Sequence[str], order: Sequence[str]) -> dict[Coalition, Floats]:
    """Return the weights with which one order gives every player its marginal contribution."""
    found: dict[Coalition, Floats] = {}
    for place, name in enumerate(order):
        joined = np.array([player == name for player in players], dtype=np.float64)
        with_it, before = Coalition(order[: place + 1]), Coalition(order[:place])
        found[with_it] = found.get(with_it, np.zeros(len(players))) + joined
        if before:
            found[before] = found[before] - joined
    return found


def drawn_weights(players: Sequence[str], orders: Sequence[Sequence[str]]) -> dict[Coalition, Floats]:
    """Return the weights of coalitions where some orders stand for all."""
    found: dict[Coalition, Floats] = {}
    for order in orders:
        for names, weight in order_weights(players, order).items():
            found[names] = found.get(names, np.zeros(len(players))) + weight / len(orders)
    return found


def order_errors(
    players: Sequence[str], orders: Sequence[Sequence[str]], worth: Callable[[Coalition], float]
) -> Floats:
    """Return the standard error of each player's value that is due to drawing orders, (players,).

    Parameters
    ----------
    orders : sequence of orders
        At least 2, drawn independently and alike.
    worth : callable
        Of a coalition.
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
    """Estimate what each player is worth.

    Parameters
    ----------
    rows : sequence of Row
        Of the cell and of its coalitions, on all datasets.
    cell : str
        That of all players.
    players : sequence of str
    cells : mapping of coalition to str
        What the rows of a coalition of some are called.
    orders : sequence of orders
        Drawn; empty for all coalitions.
    seed, draws : int
    metrics : sequence of str
        What coalitions are worth.

    Returns
    -------
    DataFrame
        One row for each metric, dataset (and their mean, `all`) and player. `order_error` is empty where nothing was
        drawn.
    """
    weights = drawn_weights(players, orders) if orders else exact_weights(players)
    named = {names: cell if len(names) == len(players) else cells[names] for names in weights}
    table = score_table(pd.DataFrame(rows))
    scopes = [(name,) for name in table.datasets] + ([table.datasets] if len(table.datasets) > 1 else [])
    matrix = np.array([weights[names] for names in named]).T
    found = []
    for metric, scope in product(metrics, scopes):
        sample = units(table, metric, list(named.values()), scope)
        outcomes = contrast_outcomes(sample, matrix, [0.0] * len(players), seed, draws)
        worth = dict(zip(named, sample.means.tolist(), strict=True))
        errors = order_errors(players, orders, worth.__getitem__) if orders else np.full(len(players), np.nan)
        for player, outcome, error in zip(players, outcomes, errors, strict=True):
            found.append({
                "dataset": sample.dataset, "cell": cell, "agent": player, "value": outcome.estimate,
                "ci_low": outcome.low, "ci_high": outcome.high, "order_error": error,
                "whole": worth[Coalition(players)], "coalitions": len(named), "orders": len(orders) or "",
                "n_questions": int(sample.sizes.sum()), "metric": metric,
            })  # fmt: skip
    return pd.DataFrame(found, columns=list(COLUMNS))
