"""Trainings of an experiment, phase by phase: one role learns from debates with what was learned before."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.models.tiny.shelf import find as find_folder
from cortexdsl.plan.parts.digests import digest, method_digest
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.plan.parts.shards import Shard, find
from cortexdsl.plan.training.questions import Learned
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.spec.grammar.sections.training import OptimiserText, TrainText
from cortexdsl.spec.load import path_of
from cortexdsl.spec.text.nodes import Mark
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Method, Model, Question

WEIGHTS = "weights"
MADE_BY = "training:"
"""What a model's weights are called before they are there: `training:DIGEST`."""
TINY = "tiny/"
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Phase:
    """One role's turn to learn.

    Attributes
    ----------
    training : str
    repeat : int
        From 1.
    role : str
    method : Method
        The debates that it learns from, with the models as they are by then.
    begins : Model
        What it goes on from.
    folder : str
        Where what comes out lies.
    trained : Model or None
        What comes out; None where a model has no weights that could change (the built-in solver).
    digest : str
        Of everything that its trajectories depend on.
    pairs_digest : str
        Of everything that its pairs depend on: the threshold, too.
    trained_digest : str
        Of everything that what comes out depends on: how it learns, too.
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
        """The file that is there once it has learned."""
        return f"{self.folder}/{WEIGHTS_FILE}"


@dataclass(frozen=True)
class Training:
    """An entry of `train`, resolved.

    Attributes
    ----------
    name : str
    said : TrainText
        As it is written: samples, threshold, opening, guide.
    learned : Learned
    shards : tuple of Shard
        Of its questions.
    phases : tuple of Phase
        In their order: 1-critic, 1-actor, 2-critic ...
    optimiser : OptimiserText
        With its seed.
    weights_at : Mark
        Where the spec says in which folder the weights are, or might say so.
    """

    name: str
    said: TrainText
    learned: Learned
    shards: tuple[Shard, ...]
    phases: tuple[Phase, ...]
    optimiser: OptimiserText
    weights_at: Mark

    @property
    def task(self) -> Task:
        """Its questions."""
        return self.learned.task

    @property
    def validation(self) -> frozenset[str]:
        """The ids of those that are kept apart."""
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
        """Return the phases whose models speak in a phase, or which it goes on from."""
        earlier = self.phases[: self.phases.index(phase)]
        return tuple({each.role: each for each in earlier}.values())

    def begins_in(self, phase: Phase) -> Path:
        """Return the folder of the weights that a phase goes on from, in Hugging Face's format.

        Raises
        ------
        InputError
            A server answers for the model, and nothing says where its weights are.
        """
        earlier = [each.folder for each in self.phases[: self.phases.index(phase)] if each.role == phase.role]
        if earlier:
            return Path(earlier[-1])
        if phase.begins.model.startswith(TINY):
            return find_folder(phase.begins.model).path
        if self.said.weights is None:
            raise InputError(
                f"training {self.name}: nothing says where the weights of {phase.begins.model} are\n"
                f"    write train: {{{self.name}: {{weights: env:NAME}}}}, with the path of their folder in NAME"
            )
        return Path(path_of(self.said.weights, self.weights_at, os.environ))


def slug_of(training: str, phase: str) -> str:
    """Return what the jobs of a phase are called among those of the experiment, where no cell can be called so."""
    return f"(train)~{training}~{phase}"


def phases_of(
    name: str, said: TrainText, method: Method, learned: Learned | None, templates: Templates, layout: Layout, seed: int
) -> tuple[Phase, ...]:
    """Lay out the phases of a training, each with what came out of those before it.

    Parameters
    ----------
    name : str
    said : TrainText
    method : Method
        Untrained.
    learned : Learned or None
        None where the questions cannot be read: then the digests mean nothing.
    templates : Templates
    layout : Layout
    seed : int
        Of the experiment.
    """
    found: list[Phase] = []
    for repeat in range(1, said.repeats + 1):
        for role in said.roles:
            begins = method.cast[role][0].model
            own = method_digest(
                method, seed, templates.digest, templates.digest(said.guide), role, said.samples, said.opening,
                learned.task.digest if learned else None,
            )  # fmt: skip
            pairs = digest(own, said.threshold, sorted(learned.validation) if learned else [])
            how = said.optimiser.model_dump(mode="json"), said.weights
            made = digest(pairs, how, begins)
            folder = layout.trained(name, f"{repeat}-{role}")
            trained = trained_model(begins, folder, f"{name.partition('~')[0]}-{repeat}-{role}", made)
            found.append(Phase(name, repeat, role, method, begins, folder, trained, own, pairs, made))
            if trained is None:
                return tuple(found)
            method = _with_model(method, role, trained)
    return tuple(found)


def trained_model(base: Model, folder: str, served: str, made: str) -> Model | None:
    """Return what comes out of a phase as a model.

    A small model lies in its folder, and is known by the digest of what it was made from until its weights are there. A
    server answers for it under a name of its own, which ends in that digest: so calls never mix two trainings.
    """
    if base.is_program:
        return None
    if base.model.startswith(TINY):
        return replace(base, model=f"{TINY}./{folder}", options={**base.options, WEIGHTS: f"{MADE_BY}{made}"})
    provider = base.model.partition("/")[0]
    return replace(base, model=f"{provider}/{served}-{made[:8]}")


def is_pinned(model: Model) -> bool:
    """Say whether the spec itself names the weights of a model, which need not be there for a replay."""
    return WEIGHTS in model.options and not str(model.options[WEIGHTS]).startswith(MADE_BY)


def _with_model(method: Method, role: str, model: Model) -> Method:
    cast = {**method.cast, role: tuple(replace(agent, model=model) for agent in method.cast[role])}
    return replace(method, cast=cast)
