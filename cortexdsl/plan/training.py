"""Trainings of an experiment as plain values, and the interface of the package that trains.

A plan, its files and its displays read these values. Everything that trains is in the package `cortexdsl_train`. The
core does not import it: the functions at the end of this module find it by name when an experiment trains a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from cortexdsl.core import Message, Method, Model, Question
from cortexdsl.engine.trajectories import BranchKind, Guide
from cortexdsl.errors import InputError, Problem
from cortexdsl.models.transports.interface import WEIGHTS_OPTION
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.shards import Shard, find
from cortexdsl.tasks.task import Task

if TYPE_CHECKING:
    from cortexdsl.language.grammar.training import TrainText
    from cortexdsl.language.methods.resolved_cells import ResolvedCell
    from cortexdsl.language.nodes import Mark
    from cortexdsl.language.spec import Spec
    from cortexdsl.plan.parts import Learned
    from cortexdsl.templates.templates import Templates

PACKAGE = "cortexdsl_train"
MADE_BY = "training:"
"""The prefix of the `weights` of a model that is not trained yet: `training:DIGEST`."""
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True, slots=True)
class TrainingQuestions:
    """The questions of a training.

    Attributes
    ----------
    task : Task
        Those that are learned from, then those of validation.
    validation : frozenset of str
        The ids of the latter.
    left_out : int
        Questions of the dataset that the experiment asks, or that share a passage with one.
    """

    task: Task
    validation: frozenset[str]
    left_out: int


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a training, in which one role learns.

    Attributes
    ----------
    training : str
    repeat : int
        From 1.
    role : str
    method : Method
        The debates that it learns from, with the models as trained before this phase.
    begins : Model
        The model that it starts from.
    folder : str
        The folder of the trained model.
    trained : Model or None
        The trained model; None if the model has no weights that could change (the built-in solver).
    digest : str
        The digest of everything that its trajectories depend on.
    pairs_digest : str
        The digest of everything that its pairs depend on, including the threshold.
    trained_digest : str
        The digest of everything that the trained model depends on, including the optimiser.
    """

    training: str
    repeat: int
    role: str
    method: Method
    begins: Model
    folder: str
    trained: Model | None
    digest: str
    pairs_digest: str
    trained_digest: str

    @property
    def label(self) -> str:
        """The phase in paths: `1-critic`."""
        return f"{self.repeat}-{self.role}"

    @property
    def made(self) -> str:
        """The file that exists when the phase is finished."""
        return f"{self.folder}/{WEIGHTS_FILE}"


@dataclass(frozen=True)
class Training:
    """An entry of `train`, resolved.

    Attributes
    ----------
    name : str
    said : TrainText
        As it is written: samples, threshold.
    learned : TrainingQuestions
    shards : tuple of Shard
        The shards of its questions.
    phases : tuple of Phase
        In their order: 1-critic, 1-actor, 2-critic ...
    optimiser : mapping
        Its words, and the seed.
        With its seed.
    weights_at : Mark
        Where the spec says in which folder the weights are, or might say so.
    """

    name: str
    said: TrainText
    learned: TrainingQuestions
    shards: tuple[Shard, ...]
    phases: tuple[Phase, ...]
    optimiser: Mapping[str, Any]
    weights_at: Mark

    @property
    def task(self) -> Task:
        """Its questions."""
        return self.learned.task

    def examples(self, layout: Layout, phase: str) -> str:
        """Return the file that a phase learns from."""
        files = {"dpo": layout.pairs, "sft": layout.imitated, "grpo": layout.prompts}
        return files[self.optimiser["loss"]](self.name, phase)

    @property
    def dataset(self) -> str:
        """The label of the dataset that its questions are from."""
        return self.task.label

    @property
    def validation(self) -> frozenset[str]:
        """The ids of the validation questions."""
        return self.learned.validation

    @cached_property
    def _phases(self) -> Mapping[str, Phase]:
        return {phase.label: phase for phase in self.phases}

    def phase(self, label: str) -> Phase:
        """Return a phase by its label.

        Raises
        ------
        InputError
        """
        if label not in self._phases:
            raise InputError(f"training {self.name} has no phase {label!r}\n    phases: {', '.join(self._phases)}")
        return self._phases[label]

    def shard(self, label: str) -> Shard:
        """Return a shard by its label.

        Raises
        ------
        InputError
        """
        found = find(self.shards, label)
        if found is None:
            raise InputError(f"training {self.name} has no shard {label!r}")
        return found

    def questions(self, shard: Shard) -> Sequence[Question]:
        """The questions of a shard, in order."""
        return self.task.questions[shard.first : shard.end]

    def before(self, phase: Phase) -> tuple[Phase, ...]:
        """Return the phases whose models take part in a phase, or which it starts from."""
        earlier = self.phases[: self.phases.index(phase)]
        return tuple({each.role: each for each in earlier}.values())


@dataclass(frozen=True, slots=True)
class ResolvedLearning:
    """What a spec learns from questions that it does not ask, its arms with the trained models, and what is wrong.

    `lost` are questions that are not on this machine, in a spec whose text is right.
    """

    spec: Spec
    arms: tuple[ResolvedCell, ...]
    trainings: tuple[Training, ...] = ()
    learned: tuple[Learned, ...] = ()
    problems: tuple[Problem, ...] = ()
    lost: tuple[Problem, ...] = ()


def slug_of(training: str, phase: str) -> str:
    """Return the name of the jobs of a phase among those of the experiment; no cell can have such a name."""
    return f"(train)~{training}~{phase}"


def made_by(model: Model) -> str:
    """Return the digest of what a model is trained from; empty for a model that is not trained here."""
    weights = str(model.options.get(WEIGHTS_OPTION, ""))
    return weights.removeprefix(MADE_BY) if weights.startswith(MADE_BY) else ""


def is_pinned(model: Model) -> bool:
    """Say whether the spec itself names the weights of a model, which need not be there for a replay."""
    return WEIGHTS_OPTION in model.options and not made_by(model)


GUIDE = "acc/guide.j2"
"""The template of the prompt of a guided reply; a file of this name beside the spec takes its place."""


def guided(messages: tuple[Message, ...], target: str, guide: str, templates: Templates) -> tuple[Message, ...]:
    """Return a prompt whose last message says which answer to argue for, as the guide's template puts it."""
    *before, last = messages
    words = templates.text(guide, {"prompt": last["content"], "target": target})
    return (*before, {**last, "content": words})


class PlanWithTrainings(Protocol):
    """The part of a plan that the training package reads."""

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        ...

    @property
    def layout(self) -> Layout:
        """The paths of the experiment's files."""
        ...

    @property
    def trainings(self) -> Sequence[Training]:
        """The entries of `train`, resolved."""
        ...


class Trainer(Protocol):
    """Interface of the training package for a plan and its jobs (`cortexdsl_train.trainer.TRAINER`)."""

    def resolve(
        self, spec: Spec, arms: Sequence[ResolvedCell], tasks: Mapping[str, Task], templates: Templates, layout: Layout
    ) -> ResolvedLearning:
        """Resolve the entries of `train`; parameters as in `resolve_trainings`."""
        ...

    def guides(
        self, task: Task, question: Question, guide: str, templates: Templates, seed: int
    ) -> dict[BranchKind, Guide]:
        """Return the guides of replies to a question; parameters as in `guides_for`."""
        ...

    def with_weights(self, method: Method) -> Method:
        """Return a method whose trained models carry the digest of their weights.

        Raises
        ------
        InputError
            A model is missing, or was trained from something else than the spec says now.
        """
        ...

    async def serve(self, plan: PlanWithTrainings, models: Iterable[Model]) -> None:
        """Have the servers of trained models load their adapters.

        Raises
        ------
        ModelError
            A server does not load one.
        """
        ...


def trainer() -> Trainer:
    """Return the package that trains, imported when it is first needed.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        found: Trainer = import_module(f"{PACKAGE}.trainer").TRAINER
    except ModuleNotFoundError as error:
        if error.name != PACKAGE:
            raise
        raise InputError(
            f"`train` needs the package {PACKAGE}, which is not installed\n    install cortexdsl with all its packages"
        ) from None
    return found


def resolve_trainings(
    spec: Spec, arms: Sequence[ResolvedCell], tasks: Mapping[str, Task], templates: Templates, layout: Layout
) -> ResolvedLearning:
    """Resolve the entries of `train` of a spec.

    Parameters
    ----------
    spec : Spec
    arms : sequence of ResolvedCell
    tasks : mapping of dataset label to Task
        The datasets of the experiment that could be loaded.
    templates : Templates
    layout : Layout
    """
    if not spec.text.train:
        return ResolvedLearning(spec, tuple(arms))
    return trainer().resolve(spec, arms, tasks, templates, layout)


def guides_for(task: Task, question: Question, guide: str, templates: Templates, seed: int) -> dict[BranchKind, Guide]:
    """Return what guides replies to a question: the last message of a prompt, rendered by the guide's template.

    Parameters
    ----------
    task : Task
        It has the right answer, and finds a wrong one.
    question : Question
    guide : str
        The template.
    templates : Templates
    seed : int
        The seed of the experiment.
    """
    return trainer().guides(task, question, guide, templates, seed)


def with_trained(method: Method) -> Method:
    """Return a method whose trained models carry the digest of their weights, as other models with files do.

    So a call belongs to the very weights that answered it, and a model that was trained again is another model.

    Raises
    ------
    InputError
        A model is missing, or was trained from something else than the spec says now.
    """
    return trainer().with_weights(method) if any(map(made_by, method.models)) else method


async def serve_adapters(plan: PlanWithTrainings, models: Iterable[Model]) -> None:
    """Have the servers of an experiment's trained models load their adapters, before a call is sent.

    Raises
    ------
    ModelError
        A server does not load one; with the command that serves the adapters.
    """
    if plan.trainings:
        await trainer().serve(plan, models)
