"""The analysis that a spec asks for, resolved for its cells and datasets: families, claims, the judge, stopping."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import Design, design_of
from cortexdsl.claims.meaning import why_not_early
from cortexdsl.claims.values import (
    AFTER_ROUNDS,
    EVERY,
    OTHERS,
    Claim,
    Comparison,
    Quantity,
    bound_of,
    canonical,
    parts_of,
    range_of,
)
from cortexdsl.core import Cell, Family, Label, Model, Question, StoppingRule
from cortexdsl.core.metric_types import of_label
from cortexdsl.core.metrics import BIASES, GRADED_METRICS, OF_KINDS, TEXT_METRICS
from cortexdsl.engine.methods import debating_roles, max_rounds
from cortexdsl.errors import InputError, Problem, SpecError, nearest
from cortexdsl.language.grammar.experiment import FamilyText
from cortexdsl.language.grammar.labels import as_label
from cortexdsl.language.nodes import Route, dotted
from cortexdsl.language.spec import Spec
from cortexdsl.numbers import counted
from cortexdsl.plan.parts import JUDGED, Judging, Labelling, Tournament
from cortexdsl.tasks.balloting import PROMPT as BALLOT
from cortexdsl.tasks.judging import PROMPT, can_be_judged, text_scores
from cortexdsl.tasks.labelling import label_call
from cortexdsl.tasks.reading.kinds import OPEN
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates


def resolve_families(spec: Spec, cells: Sequence[Cell]) -> tuple[tuple[Family, ...], tuple[Problem, ...]]:
    """Turn the names in `analysis.families` into cells.

    `all` is every cell, `grid` every cell of a grid, `grid.AXIS` those that vary that axis; the reference itself
    is left out of these. A method's name is its base cell.

    Returns
    -------
    families, problems
        Problems: an unknown cell, a cell that is compared with itself or twice, a family that compares nothing.
    """
    found = [_family(spec, name, text, cells) for name, text in spec.text.analysis.families.items()]
    return tuple(family for family, _ in found), tuple(problem for _, problems in found for problem in problems)


def _family(spec: Spec, name: str, text: FamilyText, cells: Sequence[Cell]) -> tuple[Family, list[Problem]]:
    named = {name: cell.name for cell in cells for name in (cell.name, *cell.aliases)}
    problems: list[Problem] = []

    def tell(what: str, remedy: str, *below: str | int) -> None:
        problems.append(spec.problem(("analysis", "families", name, *below), what, remedy))

    def cell_of(word: str, *below: str | int) -> str:
        if word not in named:
            tell(f"there is no cell {word!r}", nearest(word, named, say="cells"), *below)
        return named.get(word, "")

    to, compare = cell_of(text.to, "to"), list[str]()
    for i, word in enumerate((text.compare,) if isinstance(text.compare, str) else text.compare):
        several = _several(word, cells)
        cell = cell_of(word, "compare", i) if several is None else ""
        if cell and cell == to:
            same = "itself" if word == text.to else f"itself: {word} has the same settings"
            tell(f"family {name} compares {text.to} with {same}", "name another cell", "compare", i)
        elif cell in compare:
            tell(f"family {name} compares {cell} twice: {word} is the same cell", "name each cell once", "compare", i)
        compare += [each for each in several or [cell] if each not in ("", to, *compare)]
    if not compare and not problems:
        tell(f"family {name} compares {text.to} with nothing else", "name the cells that it compares", "compare")
    return Family(name, tuple(compare), to, spec.text.analysis.correction), problems


def _several(word: str, cells: Sequence[Cell]) -> list[str] | None:
    """Return the cells of `all`, `grid` or `grid.AXIS`; None for a name."""
    if word == "all":
        return [cell.name for cell in cells]
    if word == "grid":
        return [cell.name for cell in cells if cell.axes or cell.aliases]
    if word.startswith("grid."):
        axis = word.removeprefix("grid.")
        return [cell.name for cell in cells if axis in cell.axes or any(f"{axis}=" in alias for alias in cell.aliases)]
    return None


def unanswerable_claims(spec: Spec, cells: Sequence[Cell]) -> Iterator[Problem]:
    """Yield a problem for each claim that no run of these cells can answer, or whose answer needs no run.

    Such claims name a value that the grid does not have, a round that no debate reaches, an agent that does not debate,
    or they compare a mean with itself under another name.
    """
    arms = [CellNames(cell.name, cell.method, cell.aliases, cell.axes) for cell in cells]
    by_name = {cell.name: cell for cell in cells}
    for i, claim in enumerate(spec.hypotheses):
        route = ("hypotheses", i)
        try:
            designs = list(_leaves(design_of(claim, arms)))
        except InputError as error:
            yield spec.problem(route, f"{dotted(route)}: {error}")
            continue
        for design in designs:
            for what, remedy in _design_problems(design, by_name):
                yield spec.problem(route, f"{dotted(route)}: {what}", remedy)


def _leaves(design: Design) -> Iterator[Design]:
    if not design.parts:
        yield design
    for part in design.parts:
        yield from _leaves(part)


def _design_problems(design: Design, cells: dict[str, Cell]) -> Iterator[tuple[str, str]]:
    if not isinstance(design.claim, Comparison):
        return
    # Some cells of `every other` may have fewer rounds: their last round counts.
    quantities = design.quantities[:1] if design.claim.reference == OTHERS else design.quantities
    simplest: dict[Quantity, Quantity] = {}
    for quantity in quantities:
        yield from _quantity_problems(quantity, cells[quantity.name])
        first = simplest.setdefault(_simplest(quantity, cells[quantity.name]), quantity)
        if first != quantity:
            yield f"{first} and {quantity} are the same", _why_same(first, quantity, cells[quantity.name])


def _quantity_problems(quantity: Quantity, cell: Cell) -> Iterator[tuple[str, str]]:
    last = max_rounds(cell.debate)
    if quantity.round is not None and quantity.round > last:
        rounds = counted(last, "round") if last else "no round"
        remedy = f"write {replace(quantity, round=None)}: at the end"
        yield f"{cell.name} has {rounds} after its opening, so that there is no round {quantity.round}", remedy
    debaters = _debaters(cell)
    if quantity.agent is not None and quantity.agent not in debaters:
        yield f"{cell.name} has no debater {quantity.agent}", nearest(quantity.agent, debaters, say="debaters")


def _debaters(cell: Cell) -> list[str]:
    role_agents = cell.debate.role_agents
    return list(
        dict.fromkeys(agent.name for role in debating_roles(cell.debate) for agent in role_agents.get(role, ()))
    )


def _simplest(quantity: Quantity, cell: Cell) -> Quantity:
    """Return the same mean by its simplest name: the last round is the end; without recalibration it is raw."""
    metric = canonical(quantity.metric)
    if not cell.debate.recalibration:
        metric = metric.replace("_recalibrated", "_raw")
        if cell.debate.confidence.source == "stated":
            metric = metric.replace("_raw", "_stated")
    after = quantity.round
    if after is not None and after >= max_rounds(cell.debate) and metric in AFTER_ROUNDS:
        after = None
    return replace(quantity, metric=metric, round=after)


def _why_same(first: Quantity, second: Quantity, cell: Cell) -> str:
    if first.round != second.round:
        return f"its debates end after round {max_rounds(cell.debate)} at the latest"
    return f"{cell.method} does not recalibrate" if first.metric != second.metric else "compare two means"


_INSTEAD = "ask for accuracy, which every dataset with right answers has"
_UNGRADED_REMEDY = "name metrics that need no right answers, such as calls"
_ELSEWHERE = "ask for it where it is: a claim may end in `on DATASET`; accuracy every dataset has"


def judge_problems(spec: Spec) -> Iterator[Problem]:
    """Yield a problem if answers are to be judged, and the spec names no judge."""
    routes = [route for metric, route, _ in _metrics_of_kinds(spec) if metric == JUDGED]
    if routes and spec.text.analysis.judge is None:
        what = "answers are to be judged, and the spec names no judge"
        yield spec.problem(routes[0], what, "write analysis: {judge: NAME}")


def judge_model(spec: Spec) -> Model | None:
    """Return the model that judges; None if no metric, claim or label needs it."""
    is_needed = any(metric == JUDGED for metric, _, _ in _metrics_of_kinds(spec))
    is_needed = is_needed or any(label.prompt for label in labels_of(spec))
    return spec.models.get(spec.text.analysis.judge or "") if is_needed else None


def judges_of(spec: Spec) -> list[Model]:
    """Return the models that judge answers or compare them."""
    grader = judge_model(spec)
    return [*([grader] if grader else []), *(spec.models[name] for name in spec.text.analysis.tournament)]


def resolve_tournament(spec: Spec, templates: Templates, cells: Sequence[Cell]) -> Tournament | None:
    """Return the judges that compare the answers of all cells; None without a tournament.

    Raises
    ------
    SpecError
        There is one cell, or the experiment may stop early.
    """
    judges, route = tuple(spec.models[name] for name in spec.text.analysis.tournament), ("analysis", "tournament")
    if judges and len(cells) < 2:
        raise SpecError([spec.problem(route, "a tournament of one method", "add a method, or remove tournament")])
    if judges and spec.text.stopping is not None:
        what = "a tournament compares all answers, and stopping may leave questions out"
        raise SpecError([spec.problem(route, what, "remove stopping, or tournament")])
    return Tournament(judges, templates.digest(BALLOT)) if judges else None


def resolve_judging(spec: Spec, tasks: Mapping[str, Task], templates: Templates) -> Judging | None:
    """Return the judge and the datasets that it judges; None if nothing is judged.

    Raises
    ------
    SpecError
        A metric or claim needs `em`, `f1`, `judged` or a metric of pairs of a dataset that does not have it.
    """
    problems = list(_missing_scores(spec, tasks))
    if problems:
        raise SpecError(problems)
    datasets = dict.fromkeys(
        label for metric, _, labels in _metrics_of_kinds(spec) if metric == JUDGED for label in labels
    )
    if not datasets or (judge := judge_model(spec)) is None:
        return None
    return Judging(judge, tuple(label for label in tasks if label in datasets), templates.digest(PROMPT))


def labels_of(spec: Spec) -> tuple[Label, ...]:
    """Return the labels of a spec."""
    return tuple(as_label(name, text) for name, text in spec.text.labels.items())


def label_problems(spec: Spec, templates: Templates) -> Iterator[Problem]:
    """Yield labels whose prompt does not render, or does not ask for the line that is read."""
    said = {"speaker": "ann", "text": "Text.", "answer": "1"}
    for label in labels_of(spec):
        if not label.prompt:
            continue
        route: Route = ("labels", label.name, "prompt")
        question = Question("1", "Question?")
        variables = {"question": question, "golds": ("1",), "turn": said, "heard": [said], "earlier": [said]}
        try:
            asked = label_call(label, next(iter(spec.models.values())), variables, templates.render, seed=0)
        except SpecError as error:
            for problem in error.problems:
                at = spec.where(route) if problem.where == label.prompt else problem.where
                yield replace(problem, where=at)
            continue
        if not re.search(r"\blabel\b[^\n]{0,4}:", asked.messages[-1]["content"], re.IGNORECASE):
            what = f"{templates.path(label.prompt)} does not ask for a label"
            yield spec.problem(route, what, 'end the template with {% include "labels/end.j2" %}')


def resolve_labelling(spec: Spec, templates: Templates) -> Labelling | None:
    """Return the labels of turns, and the judge that is asked about them; None if there are none."""
    labels = labels_of(spec)
    prompts = [label.prompt for label in labels if label.prompt]
    judge = judge_model(spec) if prompts else None
    return Labelling(labels, judge, tuple(map(templates.digest, prompts))) if labels else None


def _metrics_of_kinds(spec: Spec) -> Iterator[tuple[str, Route, tuple[str, ...]]]:
    """Yield each metric of texts or pairs that the spec names: the metric, its place in the spec, the datasets."""
    everywhere, limited = tuple(spec.datasets), (*TEXT_METRICS, *OF_KINDS, *GRADED_METRICS)
    for i, metric in enumerate(spec.text.analysis.metrics):
        if metric in limited and "metrics" in spec.text.analysis.model_fields_set:
            yield metric, ("analysis", "metrics", i), everywhere
    for i, claim in enumerate(spec.hypotheses):
        for part in parts_of(claim):
            for metric in set(part.metrics) & set(limited):
                labels = everywhere if part.dataset in (None, EVERY) else (part.dataset,)
                yield metric, ("hypotheses", i), tuple(filter(None, labels))


def _missing_scores(spec: Spec, tasks: Mapping[str, Task]) -> Iterator[Problem]:
    for metric, route, labels in _metrics_of_kinds(spec):
        for label in labels:
            task = tasks[label]
            if metric in GRADED_METRICS:
                has, kinds = task.kind != OPEN, "any kind but open"
            elif metric in OF_KINDS:
                has, kinds = task.kind == OF_KINDS[metric], f"kind {OF_KINDS[metric]}"
            elif metric == JUDGED:
                has, kinds = can_be_judged(task), "short or free text"
            else:
                has, kinds = metric in text_scores(task), "short text"
            if not has:
                what = f"{metric} needs answers of {kinds}, and dataset {label} has answers of kind {task.kind}"
                remedy = _INSTEAD if len(tasks) == 1 else _ELSEWHERE
                yield spec.problem(route, what, _UNGRADED_REMEDY if task.kind == OPEN else remedy)


_UNGRADED = ("calls", "total_tokens")
"""The metrics of questions without a right answer, if the spec names none."""


def metrics_of(spec: Spec, tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """Return the metrics of the tables: those that the spec names, and the biases of verdicts on pairs."""
    analysis = spec.text.analysis
    is_open = all(task.kind == OPEN for task in tasks.values()) and "metrics" not in analysis.model_fields_set
    biases = BIASES if any(task.kind == "pair" for task in tasks.values()) else ()
    return tuple(dict.fromkeys((*(_UNGRADED if is_open else analysis.metrics), *biases)))


def _unbounded(claim: Claim, spec: Spec) -> str:
    """Return the first metric of a claim without an upper bound; empty if all are bounded."""
    is_cut = all("max_tokens" in model.options for model in spec.models.values())
    for metric in claim.metrics:
        has_end = math.isfinite(range_of(metric)[1]) or bound_of(metric) in ("rounds", "calls")
        if not (has_end or (is_cut and bound_of(metric))):
            return metric
    return ""


def resolve_stopping(spec: Spec, tasks: Mapping[str, Task]) -> StoppingRule | None:
    """Return the stopping rule of a spec; None if it has none.

    Raises
    ------
    SpecError
        A claim cannot be tested early, its metric has no bound, questions share clusters, or there are so few questions
        that the first look would be the only one.
    """
    text = spec.text.stopping
    if text is None:
        return None
    for i, claim in enumerate(spec.hypotheses):
        is_late = any(metric == JUDGED or of_label(metric) for metric in claim.metrics)
        why = "claims are looked at before answers are judged and turns labelled" if is_late else why_not_early(claim)
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
            shared = "ask for each pair twice" if task.kind == "pair" else "share passages or templates"
            what = f"stopping needs questions without clusters, and those of {label} {shared}"
            raise SpecError([spec.problem(("stopping",), what, "remove stopping")])
    questions = max(len(task.questions) for task in tasks.values())
    if text.fewest >= questions:
        what = (
            f"stopping cannot stop anything: there {'is' if questions == 1 else 'are'} "
            f"{counted(questions, 'question')}, and the first look comes after"
        )
        is_written = spec.node.find(("stopping", "min_questions")) is not None
        remedy = f"fewer than {questions}" if is_written else f"write min_questions: below {questions}"
        route: Route = ("stopping", "min_questions") if is_written else ("stopping",)
        raise SpecError([spec.problem(route, f"{what} {text.fewest}", f"{remedy}, or remove stopping")])
    return replace(text, alpha=spec.text.analysis.alpha)
