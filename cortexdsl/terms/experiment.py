"""The arms of an experiment, their comparisons and what they may spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cortexdsl.terms.protocol import Method


@dataclass(frozen=True, slots=True)
class Match:
    """The budget that a cell is matched to: calls or tokens per question of another method's cell."""

    unit: Literal["calls", "tokens"]
    cell: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm of the experiment: a method at one point of its grid.

    Attributes
    ----------
    name : str
        `sparse[keep=median, recalibration=none]`, or the method's name alone.
    slug : str
        The name as a file name: `sparse~keep=median~recalibration=none`.
    method : str
        The method's name in the spec.
    aliases : tuple of str
        Other names of grid points whose resolved settings are equal.
    settings : mapping
        Settings of the protocol at this point, defaults included.
    axes : mapping
        The grid axes and their values at this point; empty for a base method.
    debate : Method
        What is run.
    digest : str
        Changes when, and only when, something that can change the cell's records does.
    match : Match or None
    """

    name: str
    slug: str
    method: str
    aliases: tuple[str, ...]
    settings: Mapping[str, Any]
    axes: Mapping[str, Any]
    debate: Method
    digest: str
    match: Match | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Comparisons that belong together: each cell of `compare` against `to`, on each metric, p adjusted at once."""

    name: str
    compare: tuple[str, ...]
    to: str
    correction: Literal["holm", "hommel", "bh", "by", "none"] = "holm"


@dataclass(frozen=True, slots=True)
class Limits:
    """What an experiment may spend, and what it puts up with.

    Attributes
    ----------
    calls, tokens, dollars, seconds
        Of all its jobs together; None is no limit.
    connections : int
        The most calls in flight to one endpoint.
    failed : float
        The share of calls, in [0, 1], that may bring no reply: more is an outage, and no data.
    wait : float
        Seconds that a server which does not answer is waited for.
    """

    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    connections: int = 16
    failed: float = 0.05
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When claims are looked at before the end, to stop once all are decided.

    Attributes
    ----------
    fewest : int
        Questions of the largest dataset before the first look; of others as large a share.
    batch : int
        Questions of the largest dataset between two looks; of others as large a share.
    alpha : float
        The error that all verdicts together may have, however often one looks.
    rule : str
        `together`: all cells go on until every claim is decided. `racing`: a cell whose comparisons are decided is
        debated no more.
    """

    fewest: int
    batch: int
    alpha: float
    rule: Literal["together", "racing"] = "together"


def in_step(questions: int, size: int, largest: int) -> int:
    """How many questions of a dataset go with so many of the largest: as large a share, rounded up.

    So datasets of any sizes are walked through at one pace and end together.
    """
    return min(size, -(-questions * size // largest))
