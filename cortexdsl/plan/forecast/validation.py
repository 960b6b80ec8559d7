"""Everything that is known to be wrong with a spec before a call is sent: `check` lists it, and `run` refuses it."""

from __future__ import annotations

from cortexdsl.plan.compiler import Compilation, plan_of, validate_experiment
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import template_problems
from cortexdsl.plan.models import refused_options


def validate(name: str, *, experiment: str | None = None) -> Compilation:
    """Compile a spec, render all its prompts for real questions, and check its options against the providers.

    Raises
    ------
    InputError
        There is no such spec, or a file of it is not YAML.
    """
    compilation = validate_experiment(name, experiment=experiment)
    problems = template_problems(compilation)
    if compilation.spec is not None:
        problems += refused_options(compilation.spec, compilation.cells)
    return compilation.with_problems(problems)


def validated_plan(name: str, experiment: str | None = None) -> Plan:
    """Return the plan of a spec with which nothing is known to be wrong.

    Raises
    ------
    SpecError
        Everything that is wrong; a SpecDataError if only the data is wrong.
    """
    return plan_of(validate(name, experiment=experiment))
