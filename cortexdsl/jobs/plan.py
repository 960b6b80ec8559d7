"""Rules `declare` and `plan`: what an experiment declares before its first call, and the plan that it runs.

Reads the spec. `declare` adds to the ledger what is declared, or what changed; `plan` also writes plan.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cortexdsl.errors import InputError
from cortexdsl.language.grammar.experiment import ExpectedText
from cortexdsl.language.spec import load_spec
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.persistence.declaration import declaration_of
from cortexdsl.plan.persistence.recording import declare, record_files
from cortexdsl.plan.shards import write_cut

if TYPE_CHECKING:
    import pandas as pd

    from cortexdsl.stats.tables.score_table import ScoreTable


ASSUMED_POWER = 0.8
"""The power that a plan is measured by if its spec names none."""


def write_declaration(plan: Plan) -> None:
    """Write what a plan declares into the ledger, and keep how its questions are divided into shards."""
    declare(plan.layout, declaration_of(plan))
    write_cut(Path(plan.layout.cut), plan.shards, plan.further_shards)
    record_files(plan.layout, [plan.layout.declared, plan.layout.cut])


def refuse_unanswerable(plan: Plan) -> None:
    """Refuse a plan that cannot answer a claim, if the spec asks for it: `expected: {power: 0.8}`.

    Raises
    ------
    InputError
        The plan cannot answer a claim.
    """
    expected = expectations(plan)
    if expected.power is not None and plan.hypotheses:
        check_answerable(plan, expected, planned_power(plan, expected))


def expectations(plan: Plan) -> ExpectedText:
    """Return what a spec expects of its results (`expected:`), with defaults."""
    return load_spec(plan.spec_path).text.expected or ExpectedText.model_validate({})


def wanted_power(expected: ExpectedText) -> float:
    """Return the power that a plan is measured by."""
    return ASSUMED_POWER if expected.power is None else expected.power


def planned_power(plan: Plan, expected: ExpectedText, earlier: ScoreTable | None = None) -> pd.DataFrame:
    """Return what a plan can detect: one row for each claim.

    Parameters
    ----------
    plan : Plan
    expected : ExpectedText
    earlier : ScoreTable or None
        Scores of an earlier run, from which spread and correlation are taken.
    """
    from cortexdsl.stats.planning.expectations import Expectation  # late: statistics take two seconds to import
    from cortexdsl.stats.planning.planning import plan_power

    return plan_power(
        plan.hypotheses,
        plan.arms,
        {label: len(task.questions) for label, task in plan.tasks.items()},
        plan.replicates,
        Expectation(
            expected.discordance,
            expected.correlation,
            expected.differences,
            expected.spread,
            wanted_power(expected),
            earlier,
        ),
        alpha=plan.analysis.get("alpha", 0.05),
        correction=plan.analysis.get("correction", "holm"),
    )


def check_answerable(plan: Plan, expected: ExpectedText, power: pd.DataFrame) -> None:
    """Refuse a plan with unanswerable claims if the spec asks for it; `power` as from `planned_power`.

    Raises
    ------
    InputError
    """
    lacking = power[power["answerable"].eq(False)]
    if expected.power is not None and len(lacking):
        claims = "; ".join(f"{row.claim} (power {row.power:.2f})" for row in lacking.itertuples())
        raise InputError(
            f"{plan.spec_path}: this plan cannot answer {len(lacking)} of {counted(len(power), 'claim')}: {claims}\n"
            "    more questions or replicates, or remove power from `expected` to run all the same"
        )
