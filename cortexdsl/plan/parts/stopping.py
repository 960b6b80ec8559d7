"""Early stopping: when an experiment is looked at, and whether its claims and questions allow it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cortexdsl.errors import SpecError
from cortexdsl.plan.parts.judging import JUDGED
from cortexdsl.spec.claims.checks import unlookable
from cortexdsl.spec.claims.language import Claim
from cortexdsl.spec.claims.metric_names import bound_of, range_of
from cortexdsl.spec.load import Spec
from cortexdsl.spec.text.nodes import Route
from cortexdsl.tasks.task import Task
from cortexdsl.terms import StoppingRule


def _unbounded(claim: Claim, spec: Spec) -> str:
    """Return the first metric of a claim that neither its own range nor the plan bounds, or nothing."""
    is_cut = all("max_tokens" in model.options for model in spec.models.values())
    for metric in claim.metrics:
        has_end = math.isfinite(range_of(metric)[1]) or bound_of(metric) in ("rounds", "calls")
        if not (has_end or (is_cut and bound_of(metric))):
            return metric
    return ""


def stopping_of(spec: Spec, tasks: Mapping[str, Task]) -> StoppingRule | None:
    """Return when to look; questions that share clusters cannot be looked at one by one, so they are refused.

    Raises
    ------
    SpecError
        A claim cannot be looked at early, its metric has no bound, questions share clusters, or there are so few that
        the first look would be the only one.
    """
    said = spec.text.stopping
    if said is None:
        return None
    for i, claim in enumerate(spec.hypotheses):
        why = "claims are looked at before a judge is asked" if JUDGED in claim.metrics else unlookable(claim)
        if why:
            what = f"the claim {claim.text!r} cannot be looked at early, as stopping does: {why}"
            raise SpecError([spec.problem(("hypotheses", i), what, "claim something else, or remove stopping")])
        if metric := _unbounded(claim, spec):
            what = (
                f"the claim {claim.text!r} cannot be looked at early, as stopping does: nothing bounds {metric}, so "
                "that a few questions of a size not seen yet could be the whole mean"
            )
            remedy = "give every model max_tokens" if bound_of(metric) else "claim something else"
            raise SpecError([spec.problem(("hypotheses", i), what, f"{remedy}, or remove stopping")])
    for label, task in tasks.items():
        clusters = {question.cluster or f"\0{question.id}" for question in task.questions}
        if 1 < len(clusters) < len(task.questions):
            what = f"stopping needs questions without clusters, and those of {label} share passages or templates"
            raise SpecError([spec.problem(("stopping",), what, "remove stopping")])
    questions = max(len(task.questions) for task in tasks.values())
    if said.fewest >= questions:
        what = f"stopping cannot stop anything: there are {questions} questions, and the first look comes after"
        is_said = "fewest" in said.model_fields_set
        remedy = f"fewer than {questions}" if is_said else f"write fewest: below {questions}"
        route: Route = ("stopping", "fewest") if is_said else ("stopping",)
        raise SpecError([spec.problem(route, f"{what} {said.fewest}", f"{remedy}, or remove stopping")])
    return StoppingRule(said.fewest, said.batch, said.alpha or spec.text.analysis.alpha, said.rule)
