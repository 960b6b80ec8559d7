"""fits/NAME.json: a fitted function, its scores and questions; and methods in which it stands for its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.checksums import write_lines
from cortexdsl.core import Agent, Method
from cortexdsl.engine.methods import each_stage, learned_of, with_expressions
from cortexdsl.errors import RecordError
from cortexdsl.expressions.fitted import with_fitted
from cortexdsl.numbers import p_clause
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.record import read_json
from cortexdsl.typed_json import Codec

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted function.

    Attributes
    ----------
    name, predicts, by : str
        As the spec says.
    features : tuple of str
        `from` of the spec.
    method : str
        The cell whose debates it was fitted on.
    dataset : str
        The dataset of its questions.
    expression : str
        The function, in names of expressions.
    coefficients : mapping of str to float
        The same for people: coefficients, means, steps or leaves.
    levels : mapping of name to (feature, level)
        The numbers of agents that stand for words in the expression: `vars(NAME)` is 1 for an agent of this level.
    rows : int
        How many answers or debates it was fitted on.
    base_rate : float
        The mean of what is predicted.
    scores : mapping
        By name (log_loss, brier, auc): in cross-validation, of the fit and of the base rate.
    p : float
        One-sided, of no improvement of the log loss over the base rate.
    is_noise : bool
        Whether it is not shown that it predicts better than the base rate.
    calls, tokens : int
        What the debates cost that it was fitted on.
    questions : tuple of str
        Their ids.
    questions_digest : str
    digest : str
        Of everything that the fit depends on, as the plan computes it.
    version : str
        Of the program.
    """

    name: str
    predicts: str
    by: str
    features: tuple[str, ...]
    method: str
    dataset: str
    expression: str
    coefficients: Mapping[str, float]
    rows: int
    base_rate: float
    scores: Mapping[str, Mapping[str, float | None]]
    p: float
    is_noise: bool
    calls: int
    tokens: int
    questions: tuple[str, ...]
    questions_digest: str
    digest: str
    version: str
    levels: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def noise_in_words(name: str, fits: Sequence[Fit], cells: Sequence[str]) -> str:
    """Say of the fits of a function which are noise, and which cells use it; empty if none is."""
    noise = [fit for fit in fits if fit.is_noise]
    if not noise:
        return ""
    use = f"which {' and '.join(cells)} {'uses' if len(cells) == 1 else 'use'}"
    if len(fits) > 1:
        return (
            f"{len(noise)} of the {len(fits)} fits of {name}, {use}, {'is' if len(noise) == 1 else 'are'} noise: in "
            "cross-validation no better than the base rate"
        )
    loss = noise[0].scores["log_loss"]
    return (
        f"the fit of {name}, {use}, is noise: in cross-validation it predicts no better than the base rate (log loss "
        f"{loss['fit']:.3f} against {loss['base']:.3f}, {p_clause(noise[0].p)})"
    )


_CODEC = Codec()


def write_fit(path: Path, fit: Fit) -> None:
    """Write a fit, atomically, with a seal by which an edit is noticed."""
    record = {"schema_version": SCHEMA_VERSION, **_CODEC.write(fit)}
    write_lines(path, json.dumps({**record, "seal": _seal(record)}, indent=1).splitlines())


def read_fit(path: Path, digest: str | None = None) -> Fit:
    """Read a fit.

    Parameters
    ----------
    path : Path
    digest : str or None
        The digest that the plan gives the fit; None accepts any.

    Raises
    ------
    RecordError
        It is missing, was edited, is of a later version, or was fitted for another spec.
    """
    record = read_json(path, "fit", SCHEMA_VERSION)
    remedy = "delete it, and run the experiment again: the debates that it is fitted on are kept"
    seal = record.pop("seal", "")
    if seal != _seal(record):
        what = "this fit was edited, so that its questions and scores no longer hold"
        raise RecordError(f"{path}: {what}\n    {remedy}")
    fit = _CODEC.read(Fit, record)
    if digest is not None and fit.digest != digest:
        raise RecordError(f"{path}: it was fitted for another spec than this one\n    {remedy}")
    return fit


def _seal(record: Mapping[str, Any]) -> str:
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:32]


def fitted_methods(plan: Plan, method: Method) -> Callable[[int], Method]:
    """Return what gives the method of a replicate, with the fits of this replicate."""
    return cache(partial(with_fits, plan, method))


def with_fits(plan: Plan, method: Method, replicate: int) -> Method:
    """Return a method in which the fitted expressions stand for `learned(NAME)`; others stay as they are.

    Raises
    ------
    RecordError
        A fit is missing, was edited, or belongs to another spec.
    """
    names = learned_of(method)
    if not names:
        return method
    made = {name: plan.fits_of(name) for name in names}
    used = {name: fits[(replicate - 1) % len(fits)] for name, fits in made.items()}
    fits = {name: read_fit(Path(plan.layout.fit(each.name)), each.digest) for name, each in used.items()}
    expressions = {name: fit.expression for name, fit in fits.items()}
    levels = {number: level for fit in fits.values() for number, level in fit.levels.items()}
    return _with_levels(with_expressions(method, lambda text: with_fitted(text, expressions)), levels)


def _with_levels(method: Method, levels: Mapping[str, tuple[str, str]]) -> Method:
    """Return a method whose agents have a number for each word that a fit tells apart: 1 if it is theirs, else 0."""
    if not levels:
        return method

    def numbered(agent: Agent) -> Agent:
        words = {"agent": agent.name, "model": agent.model.name}
        numbers = {number: float(words[feature] == level) for number, (feature, level) in levels.items()}
        return replace(agent, vars=MappingProxyType({**agent.vars, **numbers}))

    def changed(stage: Method) -> Method:
        role_agents = {role: tuple(map(numbered, agents)) for role, agents in stage.role_agents.items()}
        return replace(stage, role_agents=MappingProxyType(role_agents))

    return each_stage(method, changed)
