"""Which further scores of texts a spec asks for, whether its datasets have them, and who judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cortexdsl.errors import Problem, SpecError
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.spec.claims.language import EVERY, NONE, parts_of
from cortexdsl.spec.load import Spec
from cortexdsl.spec.text.nodes import Route
from cortexdsl.tasks.grading.judge import PROMPT
from cortexdsl.tasks.task import Task
from cortexdsl.tasks.text_scores import can_be_judged, text_scores
from cortexdsl.terms import Model
from cortexdsl.terms.metrics import TEXT_METRICS

JUDGED = "judged"
_INSTEAD = "ask for accuracy, which every dataset has"
_ELSEWHERE = "ask for it where it is: a claim may end in `on DATASET`; accuracy every dataset has"


@dataclass(frozen=True, slots=True)
class Judging:
    """The judge of an experiment's answers.

    Attributes
    ----------
    model : Model
    datasets : tuple of str
        Labels of those whose answers are judged.
    prompt_digest : str
        Of its template.
    """

    model: Model
    datasets: tuple[str, ...]
    prompt_digest: str


def judge_of(spec: Spec) -> Model | None:
    """Return the model that judges, or None where no metric and no claim asks for judgements.

    Raises
    ------
    SpecError
        They are asked for, and the spec names no judge.
    """
    asked = [route for metric, route, _ in _asked(spec) if metric == JUDGED]
    if not asked:
        return None
    if spec.text.analysis.judge is None:
        said = "answers are to be judged, and the spec names no judge"
        raise SpecError([spec.problem(asked[0], said, "write analysis: {judge: {model: NAME}}")])
    return spec.models[spec.text.analysis.judge.model]


def judging_of(spec: Spec, tasks: Mapping[str, Task], templates: Templates) -> Judging | None:
    """Return who judges which datasets; None where nothing is judged.

    Raises
    ------
    SpecError
        A metric or claim asks for `em`, `f1` or `judged` of a dataset that cannot have it.
    """
    problems = list(_unscored(spec, tasks))
    if problems:
        raise SpecError(problems)
    judge = judge_of(spec)
    if judge is None:
        return None
    datasets = dict.fromkeys(label for metric, _, labels in _asked(spec) if metric == JUDGED for label in labels)
    return Judging(judge, tuple(label for label in tasks if label in datasets), templates.digest(PROMPT))


def _asked(spec: Spec) -> Iterator[tuple[str, Route, tuple[str, ...]]]:
    """Yield each asked score of texts, where it is asked for, and of which datasets."""
    everywhere = tuple(spec.datasets)
    for i, metric in enumerate(spec.text.analysis.metrics):
        if metric in TEXT_METRICS:
            yield metric, ("analysis", "metrics", i), everywhere
    for i, claim in enumerate(spec.hypotheses):
        for part in parts_of(claim):
            for metric in set(part.metrics) & set(TEXT_METRICS):
                labels = everywhere if part.dataset in (None, EVERY, NONE) else (part.dataset,)
                yield metric, ("hypotheses", i), tuple(filter(None, labels))


def _unscored(spec: Spec, tasks: Mapping[str, Task]) -> Iterator[Problem]:
    for metric, route, labels in _asked(spec):
        for label in labels:
            task = tasks[label]
            has = can_be_judged(task) if metric == JUDGED else metric in text_scores(task)
            if not has:
                kinds = "short or free text" if metric == JUDGED else "short text"
                said = f"{metric} needs answers of {kinds}, and dataset {label} has answers of kind {task.kind}"
                yield spec.problem(route, said, _INSTEAD if len(tasks) == 1 else _ELSEWHERE)
