"""Rule `fit`: fit a function of the spec on the debates about its questions, and score it in cross-validation."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl import __version__
from cortexdsl.core import Debate, Method, Turn
from cortexdsl.engine.methods import debating_agents
from cortexdsl.engine.opening import opening_answers, opening_values
from cortexdsl.engine.spending import tokens_of
from cortexdsl.errors import InputError
from cortexdsl.expressions.fitted import with_columns
from cortexdsl.jobs.arguments import add_shared, add_spec, check_digest, plan_of_job
from cortexdsl.jobs.score import decided_by
from cortexdsl.language.grammar.learned import CATEGORIES
from cortexdsl.metrics.outcome import gain
from cortexdsl.metrics.view import Grade, grade_together, view_debate
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import fit_inputs
from cortexdsl.plan.parts import Learned
from cortexdsl.plan.persistence.fits import Fit, write_fit
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.records import Record, read_debates
from cortexdsl.stats.fitting.features import FitTable, table_of
from cortexdsl.stats.fitting.kinds import FitError, fit
from cortexdsl.stats.fitting.validation import check_table, validate

SCALES = {"right": 1.0, "gain": 2.0, "helps": 1.0}
"""How many units of what is predicted the whole range of a target has: a gain lies between -1 and 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    add_shared(parser, "--learned --digest")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_job(args.spec, args.experiment)
    check_digest(args, plan.fitted(args.learned).digest)
    fit_function(plan, args.learned)
    return 0


def fit_function(plan: Plan, name: str) -> Fit:
    """Fit a function of a plan, and write it.

    Raises
    ------
    InputError
        Nothing can be fitted on these debates.
    """
    learned = plan.fitted(name)
    method = plan.cell_named(learned.cell).debate
    records = [record for path in fit_inputs(plan, name) for record in read_debates(Path(path))]
    grade = grade_together(records, learned.task.grade_all)
    table = fit_table(learned, method, records, grade, plan.seed)
    try:
        check_table(table)
        function, validation = fit(learned.by, table), validate(learned.by, table, SCALES[learned.predicts])
    except FitError as error:
        what, remedy = error.args
        raise InputError(f"{plan.spec_path}: learned.{name}: {what}\n    {remedy}") from None
    levels = _levels(name, table)
    scale = SCALES[learned.predicts]
    turns = [turn for record in records for turn in record.debate.all_turns]
    calls = [call for turn in turns for call in turn.calls]
    made = Fit(
        name=name,
        predicts=learned.predicts,
        by=learned.by,
        features=learned.features,
        method=learned.cell,
        dataset=learned.task.label,
        expression=_expression(learned.predicts, with_columns(function.expression, _columns(table, levels))),
        coefficients={label: round(value, 6) for label, value in function.coefficients.items()},
        rows=len(table.target),
        base_rate=round(float(table.target.mean()) * scale - (scale - 1), 6),
        scores=validation.scores,
        p=validation.p,
        is_noise=validation.is_noise,
        calls=len(calls),
        tokens=tokens_of(calls),
        questions=tuple(question.id for question in learned.task.questions),
        questions_digest=learned.task.questions_digest,
        digest=learned.digest,
        version=__version__,
        levels={number: level for level, number in levels.items()},
    )
    path = Path(plan.layout.fit(name))
    write_fit(path, made)
    record_files(plan.layout, [path])
    return made


def fit_table(learned: Learned, method: Method, records: Sequence[Record], grade: Grade, seed: int) -> FitTable:
    """Return what a function is fitted on: a row for each opening answer that can be read, for each debate or edge."""
    values: dict[str, list[Any]] = {feature: [] for feature in learned.features}
    target: list[float] = []
    clusters: list[str] = []
    task = learned.task
    for record in records:
        debate = record.debate
        answers = opening_answers(method, debate)
        if not any(turn.answer is not None for turn in answers.values()):
            continue
        if learned.predicts == "gain":
            outcomes = _gain(method, record, grade, seed)
        else:
            outcomes = (_right if learned.predicts == "right" else _helps)(method, debate, answers, grade)
        known = _feature_values(method, debate, learned)
        for edge, outcome in outcomes.items():
            for feature in learned.features:
                values[feature].append(known[feature][edge])
            target.append(outcome)
            clusters.append(task.item(debate.question_id).question.cluster or debate.question_id)
    return table_of(values, target, clusters)


Edge: TypeAlias = tuple[str, str]
"""A speaker and a listener; what is of an agent or of a debate is of a speaker and itself."""


def _right(method: Method, debate: Debate, answers: Mapping[str, Turn], grade: Grade) -> dict[Edge, float]:
    """Return the score of each agent's opening answer that can be read."""
    given = {name: turn.answer for name, turn in answers.items() if turn.answer is not None}
    return {(name, name): grade(debate.question_id, answer) for name, answer in given.items()}


def _helps(method: Method, debate: Debate, answers: Mapping[str, Turn], grade: Grade) -> dict[Edge, float]:
    """Return the score of the next answer of each listener that can be read, for each speaker of an answer it heard."""
    end = max(turn.execution for turn in answers.values())
    outcomes: dict[Edge, float] = {}
    later = [turn for turn in debate.turns if turn.execution > end and turn.reads == "answer"]
    for name in answers:
        turn = next((each for each in later if each.speaker == name), None)
        if turn is not None and turn.answer is not None:
            heard = {debate.turns[number].speaker for number in turn.heard}
            score = grade(debate.question_id, turn.answer)
            outcomes |= {(speaker, name): score for speaker in answers if speaker in heard and speaker != name}
    return outcomes


def _gain(method: Method, record: Record, grade: Grade, seed: int) -> dict[Edge, float]:
    """Return how much a debate raised the score over its opening, from 0 (by -1) to 1 (by 1), for its first debater."""
    view = view_debate(record.debate, grade, decided=decided_by(lambda replicate: method, seed)(record))
    value = gain(view)
    first = debating_agents(method)[0].name
    return {} if value is None else {(first, first): (value + 1) / 2}


def _feature_values(method: Method, debate: Debate, learned: Learned) -> dict[str, dict[Edge, Any]]:
    """Return the value of each feature for each speaker and listener."""
    agents = debating_agents(method)
    numeric = [feature for feature in learned.features if feature not in CATEGORIES]
    values = opening_values(method, debate, numeric, of_edges=learned.predicts == "helps")
    rows: dict[str, list[list[Any]]] = {feature: matrix.tolist() for feature, matrix in values.items()}
    rows["agent"] = [[agent.name] * len(agents) for agent in agents]
    rows["model"] = [[agent.model.name] * len(agents) for agent in agents]
    edges = [(one.name, other.name) for one in agents for other in agents]
    return {feature: dict(zip(edges, chain(*rows[feature]), strict=True)) for feature in learned.features}


def _levels(name: str, table: FitTable) -> dict[tuple[str, str], str]:
    """Return the number of agents that stands for each word: `trust_model_small`."""
    levels: dict[tuple[str, str], str] = {}
    for feature in table.features:
        for level in () if feature.is_number else feature.columns:
            number = re.sub(r"\W", "_", f"{name}_{feature.name}_{level}")
            while number in levels.values():
                number += "_"
            levels[feature.name, level] = number
    return levels


def _columns(table: FitTable, levels: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return the expression that each column stands for."""
    return {
        column: feature.name if feature.is_number else f"vars({levels[feature.name, level]})"
        for feature in table.features
        for level, column in feature.columns.items()
    }


def _expression(predicts: str, expression: str) -> str:
    """Return a fitted expression in units of what is predicted; a probability is never 0 or 1."""
    return f"2 * ({expression}) - 1" if predicts == "gain" else f"min(max({expression}, 0.001), 0.999)"
