"""The entries of `train` of a spec, resolved: what learns, from which questions, and which models come out.

No question that the experiment asks is learned from, and none of validation is among those that are learned from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from cortexdsl.core import Agent, Dataset, Method, Model
from cortexdsl.engine.methods import with_all_models
from cortexdsl.engine.trajectories import is_answer_of, role_turns, turn_sequence
from cortexdsl.errors import DataError, InputError, Problem, SpecError, nearest
from cortexdsl.language.grammar.speakers import TRAINED, trained_parts
from cortexdsl.language.grammar.training import TrainText
from cortexdsl.language.methods.grid import VariedTraining
from cortexdsl.language.methods.resolved_cells import ResolvedCell
from cortexdsl.language.spec import Spec, changed_dataset, dataset_of
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.models import tools_of
from cortexdsl.plan.shards import cut, read_previous_shards, shard_size
from cortexdsl.plan.training import GUIDE, Phase, ResolvedLearning, Training, TrainingQuestions
from cortexdsl.tasks.load import load
from cortexdsl.tasks.overlap import KnownQuestions
from cortexdsl.tasks.registry import entry_named
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates
from cortexdsl_train.phases import phases_of

_DRAWS = 4
"""Draws of a generated dataset, each twice as long: a draw may repeat questions that must be left out."""


def learned_from(dataset: Dataset, size: int, validation: int, asked: Iterable[Task]) -> TrainingQuestions:
    """Choose the questions of a training.

    Two questions are the same if their words are, apart from case and punctuation: text, passage, options in any
    order. A question that shares a passage, or another cluster of the dataset, with one of the other side is left out,
    too.

    Parameters
    ----------
    dataset : Dataset
        With the path, split and seed of the training; its size and ids are those of the experiment, and do not count.
    size, validation : int
        How many to learn from, and how many more for validation.
    asked : iterable of Task
        All that the experiment asks.

    Raises
    ------
    DataError
        The dataset cannot be read, or too few are left.
    """
    asked_before = KnownQuestions(question for task in asked for question in task.questions)
    wanted = size + validation
    is_generated = dataset.name is not None and entry_named(dataset.name).generated
    drawn = len(asked_before.words) + wanted
    for draw in range(_DRAWS if is_generated else 1):
        pool = load(replace(dataset, size=drawn * 2**draw if is_generated else None, ids=()))
        free = [item for item in pool.items if not asked_before.holds(item.question)]
        learned = free[:size]
        apart = KnownQuestions(item.question for item in learned)
        kept = [item for item in free[size:] if not apart.holds(item.question)][:validation]
        if len(learned) + len(kept) == wanted:
            task = replace(pool, items=(*learned, *kept))
            return TrainingQuestions(task, frozenset(item.question.id for item in kept), len(pool.items) - len(free))
    raise DataError(
        f"dataset {dataset.label}: {wanted} questions to learn from are asked for, and {len(learned) + len(kept)} of "
        f"{len(pool.items)} are left: the others are asked by the experiment, or share a passage with one that is\n"
        "    ask for fewer, name another split, path or seed, or give the experiment's dataset a smaller size",
        word="questions",
    )


GUIDED_BY = frozenset({"prompt", "target"})
"""The variables of a guide."""


def resolve(
    spec: Spec, arms: Sequence[ResolvedCell], tasks: Mapping[str, Task], templates: Templates, layout: Layout
) -> ResolvedLearning:
    """Resolve the trainings of a spec; parameters as in `cortexdsl.plan.training.resolve_trainings`."""
    named = {arm.name: arm for arm in arms}
    problems: list[Problem] = []
    lost: list[Problem] = []
    trainings: list[Training] = []
    phases: dict[str, tuple[Phase, ...]] = {}
    reported: set[str] = set()
    for each in _asked(spec, arms):
        entry, name, said = each.entry, each.name, each.said
        if entry in reported:
            continue
        arm = named[said.method]
        wrong = list(_wrong(spec, entry, said, arm, templates))
        problems += wrong
        if wrong:
            reported.add(entry)
            continue
        learned = None
        try:
            if tasks and len(tasks) == len(spec.datasets):  # else nothing could be kept apart from what is asked
                learned = _learned(spec, entry, said, tasks)
        except (DataError, SpecError) as error:
            what, _, remedy = str(error).partition("\n")
            lost.append(spec.problem(("train", entry, "questions"), what, " ".join(remedy.split())))
        phases[name] = phases_of(name, said, arm.debate, learned, templates, layout, spec.text.seed)
        if learned is not None:
            trainings.append(_training(spec, each, arm, learned, phases[name], layout))
    problems += _unmade(spec, phases)
    return _with_models(spec, arms, phases, tuple(trainings), tuple(problems), tuple(lost))


def _asked(spec: Spec, arms: Sequence[ResolvedCell]) -> Sequence[VariedTraining]:
    """Return the entries of `train`, and those that points of grids make of them, each once."""
    entries = {name: VariedTraining(name, name, said) for name, said in spec.text.train.items()}
    varied = {name: each for arm in arms for name, each in arm.trainings.items() if name not in entries}
    return (*entries.values(), *varied.values())


def _wrong(spec: Spec, name: str, said: TrainText, arm: ResolvedCell, templates: Templates) -> Iterator[Problem]:
    """Yield why a method cannot be trained."""
    method = arm.debate

    def found(word: str, what: str, remedy: str) -> Problem:
        return spec.problem(("train", name, word), f"train.{name}.{word}: {what}", remedy)

    pools = any(step.material.get("pool") for step in method.steps.values())
    if any(model.model.startswith(TRAINED) for model in method.models):
        remedy = "train a method whose models are there before; repeats says how often its roles learn"
        yield found("method", f"{said.method} has a trained model itself", remedy)
    if pools or tools_of(method) or arm.match:
        yield found("method", f"{said.method} needs a pool, a tool or a budget", "train a method without them")
    try:
        turn_sequence(method) if said.is_guided else None
    except InputError as error:
        remedy = "train a method in which one agent speaks at a time, such as protocol: acc"
        yield found("method", f"{said.method} cannot be learned from: {error}", remedy)
        return
    for role in said.roles:
        models = {agent.model.name: agent.model for agent in method.role_agents.get(role, ())}
        own = f"the {role} of {said.method}"
        if not models:
            yield found("roles", f"{said.method} has no role {role}", nearest(role, method.role_agents, say="roles"))
        elif problem := (_silent if said.is_guided else _unscored)(method, role, said, own, models):
            yield found("roles", *problem)
        elif len(said.roles) * said.repeats > 1 and any(model.is_program for model in models.values()):
            what = f"the {role} speaks with a model without weights to train, and later phases need what it learned"
            yield found("roles", what, f"write roles: [{role}], whose pairs can be made, or give it another model")
    if not said.is_guided:
        return
    try:
        unknown = (templates.uses(GUIDE) or GUIDED_BY) - GUIDED_BY
    except SpecError as error:
        yield from error.problems
        return
    if unknown:
        yield found("roles", f"{GUIDE} uses {', '.join(sorted(unknown))}", "a guide has prompt and target")


def _silent(
    method: Method, role: str, said: TrainText, own: str, models: Mapping[str, Model]
) -> tuple[str, str] | None:
    """Return why the replies of a role cannot be guided, and the remedy."""
    if not role_turns(method, role):
        return f"{own} says nothing to learn from", "raise its rounds"
    if steps := _steps_with_models(method, role):
        what = f"{own} speaks in {', '.join(steps)} with a model that the step names"
        return what, "what is trained would never speak there: remove model: from the step"
    return None


def _unscored(
    method: Method, role: str, said: TrainText, own: str, models: Mapping[str, Model]
) -> tuple[str, str] | None:
    """Return why a role cannot learn from its own answers alone, and the remedy."""
    if not any(is_answer_of(role, method, step) for step in method.steps):
        return f"{own} answers in no step, and only answers are right or wrong", "name a role that answers"
    if len(models) > 1:
        what = f"{own} has several models ({', '.join(models)}), and one learns"
        return what, "write agents: with one model, such as [actor, actor, actor]"
    if said.optimiser.loss == "grpo" and any(model.options.get("temperature") == 0 for model in models.values()):
        what = f"{own} has temperature 0, so that all replies to a prompt are the same"
        return what, "give its model a temperature above 0, such as 1.0"
    return None


def _steps_with_models(method: Method, role: str) -> tuple[str, ...]:
    """Return the steps of a role that have their own model, of those that the role learns from."""
    steps = turn_sequence(method).steps
    names = dict.fromkeys(steps[turn] for turn, _ in role_turns(method, role))
    return tuple(name for name in names if method.steps[name].model is not None)


def _learned(spec: Spec, name: str, said: TrainText, tasks: Mapping[str, Task]) -> TrainingQuestions:
    entry, route = said.questions, ("train", name, "questions")
    if said.by_majority:  # how a dataset states its golds is another matter
        entry = entry.model_copy(update={"gold": None})
    label = entry.name or next(iter(tasks))
    if label in tasks and not entry.hub:
        dataset = changed_dataset(spec.datasets[label], entry, spec.node, route, os.environ)
    else:
        dataset = dataset_of(label, entry, spec.text.seed, spec.node, route, os.environ)
    return learned_from(dataset, entry.size or 0, said.validation, tasks.values())


def _training(
    spec: Spec,
    asked: VariedTraining,
    arm: ResolvedCell,
    learned: TrainingQuestions,
    phases: tuple[Phase, ...],
    layout: Layout,
) -> Training:
    said = asked.said
    turns = max(len(role_turns(arm.debate, role)) for role in said.roles) if said.is_guided else 1
    calls = turns * 5 * said.samples
    size = shard_size(
        spec.text.shard_size,
        is_local=all(model.is_program for model in arm.debate.models),
        connections=spec.limits.connections,
        calls_per_question=calls,
        kept=lambda auto: read_previous_shards(Path(layout.cut)).size_of(asked.name, auto),
    )
    return Training(
        asked.name, said, learned, cut(len(learned.task.items), 1, size), phases,
        said.optimiser.settings | {"seed": spec.text.seed % 2**31},
        spec.node.where(("train", asked.entry, "weights")),
    )  # fmt: skip


def _unmade(spec: Spec, phases: Mapping[str, tuple[Phase, ...]]) -> Iterator[Problem]:
    """Yield the models that no training can make."""
    for name, entry in spec.text.models.items():
        if (made := trained_parts(entry.model)) is not None and made[0] in phases:
            phase = _phase(phases[made[0]], made[1], made[2])
            if phase is not None and phase.trained is None:
                what = f"{name} is to be trained from {phase.begins.name} ({phase.begins.model}), which has no weights"
                yield spec.problem(("models", name), what, "train a tiny/ model, or one that a server answers for")


def _phase(phases: Sequence[Phase], role: str, repeat: int | None) -> Phase | None:
    """Return a role's phase, the last one if no repeat is named."""
    of_role = [phase for phase in phases if phase.role == role and repeat in (None, phase.repeat)]
    return of_role[-1] if of_role else None


def _with_models(
    spec: Spec,
    arms: Sequence[ResolvedCell],
    phases: Mapping[str, tuple[Phase, ...]],
    trainings: tuple[Training, ...],
    problems: tuple[Problem, ...],
    lost: tuple[Problem, ...],
) -> ResolvedLearning:
    def made(model: Model) -> Model:
        if (parts := trained_parts(model.model)) is None:
            return model
        phase = _phase(phases.get(parts[0], ()), parts[1], parts[2])
        if phase is None or phase.trained is None:
            return model
        options = {**phase.trained.options, **model.options}
        return replace(phase.trained, name=model.name, options=MappingProxyType(options))

    def agent(found: Agent) -> Agent:
        return replace(found, model=made(found.model))

    def method(found: Method) -> Method:
        return with_all_models(found, made)

    is_trained = any(trained_parts(entry.model) for entry in spec.text.models.values())
    if is_trained:
        spec = replace(
            spec,
            models=MappingProxyType({name: made(model) for name, model in spec.models.items()}),
            agents=MappingProxyType({name: agent(each) for name, each in spec.agents.items()}),
            teams=MappingProxyType({name: tuple(map(agent, team)) for name, team in spec.teams.items()}),
        )
        arms = [replace(arm, agents=tuple(map(agent, arm.agents)), debate=method(arm.debate)) for arm in arms]
    return ResolvedLearning(spec, tuple(arms), trainings, problems=problems, lost=lost)
