"""The entries of `learned` of a spec, resolved: what is predicted, from which debates, about which questions.

No question that the experiment asks is used to fit: equal, nearly equal and dependent questions are found by their
texts, passages and clusters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cortexdsl.core import Dataset
from cortexdsl.engine.methods import learned_of, scheduled_steps
from cortexdsl.errors import DataError, Problem, SpecError
from cortexdsl.expressions.evaluation import parse
from cortexdsl.language.grammar.learned import CATEGORIES, LearnedText
from cortexdsl.language.methods.claimed import cell_name
from cortexdsl.numbers import counted
from cortexdsl.plan.digests import cell_digest, digest
from cortexdsl.plan.parts import Learned
from cortexdsl.plan.shards import Shard, cut, read_previous_shards, shard_size
from cortexdsl.plan.training import ResolvedLearning
from cortexdsl.tasks.load import load
from cortexdsl.tasks.overlap import SAME_TEXT, Overlap, OverlapFinder
from cortexdsl.tasks.pairs import SWAPPED
from cortexdsl.tasks.registry import entry_named
from cortexdsl.tasks.task import Item, Task

if TYPE_CHECKING:
    from cortexdsl.language.methods.resolved_cells import ResolvedCell
    from cortexdsl.language.spec import Spec
    from cortexdsl.plan.layout import Layout
    from cortexdsl.templates.templates import Templates

FIT_VERSION = 1
"""Increase this if equal debates give another fit; fits are then made again, and so are the cells that use them."""
_DRAWS = 4
"""Draws of a generated dataset, each twice as long: a draw may repeat questions that must be left out."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Questions that functions are fitted on, and how many of their dataset were left out."""

    label: str
    task: Task
    left_out: int
    shards: tuple[Shard, ...]


def resolve_learned(
    resolved: ResolvedLearning, tasks: Mapping[str, Task], templates: Templates, layout: Layout
) -> ResolvedLearning:
    """Resolve the entries of `learned` of a spec whose trainings are resolved; parameters as `resolve_trainings`."""
    spec, arms = resolved.spec, resolved.arms
    made: list[Learned] = []
    problems: list[Problem] = []
    lost: list[Problem] = []
    chosen: list[tuple[Dataset, int, list[_Chosen]]] = []
    points = {arm.name: (arm.method, arm.axes) for arm in arms}
    named = {arm.name: arm for arm in arms}
    for name, text in spec.text.learned.items():
        arm = named[cell_name(points, text.method) or ""]
        problems += _unasked(spec, name, text, arms, arm, templates)
        names = [name] if text.fits == 1 else [f"{name}-{number + 1}" for number in range(text.fits)]
        if len(tasks) < len(spec.datasets):
            continue  # nothing can be kept apart from questions that could not be loaded
        try:
            dataset = _dataset(spec, name, text, tasks)
            parts = next((each for *source, each in chosen if source == [dataset, text.fits]), None)
            if parts is None:
                task, left_out = fitted_on(dataset, tasks.values(), spec.datasets.values())
                parts = [
                    _Chosen(f"(fit-{called})", part, left_out, _shards(spec, arm, f"(fit-{called})", part, layout))
                    for called, part in zip(names, in_parts(task, text.fits), strict=True)
                ]
                chosen.append((dataset, text.fits, parts))
        except (DataError, SpecError) as error:
            what, _, remedy = str(error).partition("\n")
            lost.append(spec.problem(("learned", name, "questions"), what, " ".join(remedy.split())))
            continue
        count, columns = min(len(part.task.items) for part in parts), len(text.from_)
        if count <= columns:
            what = f"learned.{name}: {counted(count, 'question')} cannot fit {counted(columns, 'feature')}"
            problems.append(spec.problem(("learned", name, "questions"), what, "raise size, or name fewer features"))
            continue
        of_cell = cell_digest(arm.debate, spec.text.seed, templates.digest, None, None, (), {}, spec.models)
        means = text.predicts, text.from_, text.by
        for called, part in zip(names, parts, strict=True):
            own = digest("learned", FIT_VERSION, *means, of_cell, part.task.digest)
            words = called, name, text.predicts, text.by, text.from_
            ids = dict.fromkeys(question.id.removesuffix(SWAPPED) for question in part.task.questions)
            chosen_ids = replace(dataset, size=None, stratify=None, ids=tuple(ids))
            fitted = Learned(*words, arm.name, part.label, chosen_ids, part.shards, part.left_out, own)
            vars(fitted)["task"] = part.task  # which it would else load again
            made.append(fitted)
    return replace(
        resolved,
        learned=tuple(made),
        problems=(*resolved.problems, *problems),
        lost=(*resolved.lost, *lost),
    )


def _dataset(spec: Spec, name: str, text: LearnedText, tasks: Mapping[str, Task]) -> Dataset:
    """Return the dataset of an entry: one of its own, or one of the experiment with changed keys."""
    from cortexdsl.language.spec import changed_dataset, dataset_of  # late: jobs that load a plan need no language

    entry, route = text.questions, ("learned", name, "questions")
    label = entry.name or next(iter(tasks))
    if label in tasks and not entry.hub:
        changed = changed_dataset(spec.datasets[label], entry, spec.node, route, os.environ)
        return replace(changed, size=entry.size, ids=tuple(entry.ids))
    return dataset_of(label, entry, spec.text.seed, spec.node, route, os.environ)


def fitted_on(dataset: Dataset, asked: Iterable[Task], sources: Iterable[Dataset]) -> tuple[Task, int]:
    """Choose the questions that a function is fitted on, and count those left out as similar to one that is asked.

    With a size, they are drawn from the questions that the experiment does not ask, and a pair in both orders. Without
    one, all questions of the dataset are used, and none of them may be one that the experiment asks.

    Raises
    ------
    DataError
        The dataset cannot be read, too few questions are left, or some are asked by the experiment.
    """
    tasks, datasets = list(asked), list(sources)
    finder = OverlapFinder(question for task in tasks for question in task.questions)
    same = [task for task, source in zip(tasks, datasets, strict=True) if _is_same_source(source, dataset)]
    ids = {question.id for task in same for question in task.questions}

    def repeats(item: Item) -> Overlap | str | None:
        return finder.find(item.question) or (item.question.id if item.question.id in ids else None)

    if dataset.size is None or dataset.ids:
        pool = load(dataset)
        repeated = [found for item in pool.items if (found := repeats(item)) is not None]
        if repeated:
            raise _overlapping(dataset, repeated, len(pool.items))
        return pool, 0
    is_generated = dataset.name is not None and entry_named(dataset.name).generated
    drawn = len(finder.questions) + dataset.size
    for draw in range(_DRAWS if is_generated else 1):
        pool = load(replace(dataset, size=drawn * 2**draw if is_generated else None, ids=()))
        free = [item for item in pool.items if repeats(item) is None]
        orders, unit = (2, "pairs") if pool.kind == "pair" else (1, "questions")  # both orders of a pair are neighbours
        if len(free) >= orders * dataset.size:
            others = map(repeats, (item for item in pool.items if item.question.id not in ids))
            similar = sum(isinstance(each, Overlap) and each.reason != SAME_TEXT for each in others)
            return replace(pool, items=tuple(free[: orders * dataset.size])), similar
    raise DataError(
        f"dataset {dataset.label}: {dataset.size} {unit} to fit on are asked for, and {len(free) // orders} of "
        f"{len(pool.items) // orders} are left: the others are asked by the experiment, or resemble one that is\n"
        "    ask for fewer, name another split or file, or give the experiment's dataset a smaller size",
        word="questions",
    )


def in_parts(task: Task, parts: int) -> list[Task]:
    """Deal the questions of a task out to fits; questions of a cluster, and both orders of a pair, stay together."""
    keys = [item.question.cluster or item.question.id.removesuffix(SWAPPED) for item in task.items]
    part = {key: number % parts for number, key in enumerate(dict.fromkeys(keys))}
    return [
        replace(task, items=tuple(item for item, key in zip(task.items, keys, strict=True) if part[key] == number))
        for number in range(parts)
    ]


def fit_in_words(fitted: Learned, asked: int) -> str:
    """Say on which questions a function is fitted, and how many others are asked."""
    similar = f" ({fitted.left_out} are left out, because they resemble one that is asked)" if fitted.left_out else ""
    questions = f"{counted(len(fitted.task.items), 'question')} of {fitted.task.label}{similar}"
    return (
        f"learned.{fitted.name} is fitted on debates of {fitted.cell} about {questions}; "
        f"{counted(asked, 'other question')} are left to ask"
    )


def _is_same_source(one: Dataset, other: Dataset) -> bool:
    """Return whether ids of two datasets mean the same questions: rows of one source, not generated ones."""
    source = (one.name, one.path, one.hub, one.config, one.split, one.subset)
    is_generated = one.name is not None and one.path is None and entry_named(one.name).generated
    same_seed = one.seed == other.seed or not is_generated
    return source == (other.name, other.path, other.hub, other.config, other.split, other.subset) and same_seed


def _overlapping(dataset: Dataset, repeated: Sequence[Overlap | str], count: int) -> DataError:
    first = repeated[0]
    if isinstance(first, Overlap):
        example = f"{first.question.id!r} has {first.reason} as {first.known.id!r}"
    else:
        example = f"{first!r} is the id of a question of both"
    return DataError(
        f"dataset {dataset.label}: {len(repeated)} of {count} questions to fit on are asked by the experiment, or "
        f"resemble one that is: {example}\n"
        "    leave them out of one of the two; or write size: N, which draws from the questions that are not asked",
        word="questions",
    )


def _unasked(
    spec: Spec, name: str, text: LearnedText, arms: Sequence[ResolvedCell], fitted: ResolvedCell, templates: Templates
) -> Iterator[Problem]:
    """Yield the methods of a function whose prompts ask for no confidence, if a feature is computed from it."""
    used = {each for feature in text.from_ if feature not in CATEGORIES for each in parse(feature).names}
    if not used & {"confidence", "reliability"}:
        return
    for arm in arms:
        if arm is not fitted and name not in learned_of(arm.debate):
            continue
        stage = arm.debate
        opening = next((s for s in scheduled_steps(stage.schedule) if stage.steps[s].reads == "answer"), None)
        if opening is None or stage.confidence.source != "stated":
            continue
        prompts = stage.steps[opening].prompts
        if not any(_asks_confidence(templates, prompt) for prompt in prompts):
            what = f"learned.{name} uses confidence, and {prompts[0]} of {arm.name} asks for none"
            remedy = f"write confidence: consistency(5) in methods.{arm.method}, or leave confidence out of from"
            yield spec.problem(("learned", name, "from"), what, remedy)


def _asks_confidence(templates: Templates, prompt: str) -> bool:
    """Return whether a template shows the form of an answer, which has a line for it, or names it."""
    used = templates.uses(prompt)
    asks = used is None or not used.isdisjoint({"answer_format", "belief_format"})
    return asks or "confidence" in templates.text_of(prompt).lower()


def _shards(spec: Spec, arm: ResolvedCell, label: str, task: Task, layout: Layout) -> tuple[Shard, ...]:
    size = shard_size(
        spec.text.shard_size,
        is_local=all(model.is_program for model in arm.debate.models),
        connections=spec.limits.connections,
        calls_per_question=len(arm.debate.role_agents) * 3,
        kept=lambda auto: read_previous_shards(Path(layout.cut)).size_of(label, auto),
    )
    return cut(len(task.items), 1, size)
