"""The phases of a training: one role after the other learns from debates with the models of the phases before."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from cortexdsl.core import Method, Model
from cortexdsl.errors import InputError
from cortexdsl.language.grammar.training import TrainText
from cortexdsl.language.spec import path_of
from cortexdsl.models.transports.interface import WEIGHTS_OPTION
from cortexdsl.models.transports.registry import transport_type, weights_of
from cortexdsl.plan.digests import digest, method_digest
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.training import GUIDE, MADE_BY, Phase, Training, TrainingQuestions
from cortexdsl.templates.templates import Templates


def phases_of(
    name: str,
    said: TrainText,
    method: Method,
    learned: TrainingQuestions | None,
    templates: Templates,
    layout: Layout,
    seed: int,
) -> tuple[Phase, ...]:
    """Lay out the phases of a training, each with what came out of those before it.

    Parameters
    ----------
    name : str
    said : TrainText
    method : Method
        Untrained.
    learned : TrainingQuestions or None
        None if the questions cannot be read: then the digests are not used.
    templates : Templates
    layout : Layout
    seed : int
        The seed of the experiment.
    """
    found: list[Phase] = []
    for repeat in range(1, said.repeats + 1):
        for role in said.roles:
            begins = method.role_agents[role][0].model
            own = method_digest(
                method, seed, templates.digest, templates.digest(GUIDE), role, said.samples, True,
                learned.task.digest if learned else None, *(() if said.is_guided else (said.by_majority,)),
            )  # fmt: skip
            pairs = digest(own, said.threshold, sorted(learned.validation) if learned else [])
            former = {"alpha": None, "seed": None}  # digests of 0.2.0 have these words
            how = said.optimiser.settings | former, said.weights
            made = digest(pairs, how, begins)
            folder = layout.trained(name, f"{repeat}-{role}")
            trained = trained_model(begins, folder, f"{name.partition('~')[0]}-{repeat}-{role}", made)
            found.append(Phase(name, repeat, role, method, begins, folder, trained, own, pairs, made))
            if trained is None:
                return tuple(found)
            method = _with_model(method, role, trained)
    return tuple(found)


def trained_model(base: Model, folder: str, served: str, made: str) -> Model | None:
    """Return what comes out of a phase as a model; None for a model without weights that could change.

    A model that this machine computes is in its folder, and is identified by the digest of what it is made from until
    its weights are there. A server answers for any other under a name of its own, which ends in that digest: so calls
    never mix two trainings.
    """
    if base.is_program:
        return None
    transport = transport_type(base.model)
    if transport.weights is not None:
        options = {**base.options, WEIGHTS_OPTION: f"{MADE_BY}{made}"}
        return replace(base, model=f"{transport.prefix}/./{folder}", options=options)
    provider = base.model.partition("/")[0]
    return replace(base, model=f"{provider}/{served}-{made[:8]}")


def base_folder(training: Training, phase: Phase) -> Path:
    """Return the folder of the weights that a phase starts from, in Hugging Face's format.

    Raises
    ------
    InputError
        A server answers for the model, and nothing says where its weights are.
    """
    earlier = training.phases[: training.phases.index(phase)]
    same_role = [each.folder for each in earlier if each.role == phase.role]
    if same_role:
        return Path(same_role[-1])
    files = weights_of(phase.begins.model)
    if files is not None:
        return files.path
    if training.said.weights is None:
        raise InputError(
            f"training {training.name}: nothing says where the weights of {phase.begins.model} are\n"
            f"    write train: {{{training.name}: {{weights: env:NAME}}}}, with the path of their folder in NAME"
        )
    return Path(path_of(training.said.weights, training.weights_at, os.environ))


def _with_model(method: Method, role: str, model: Model) -> Method:
    role_agents = {**method.role_agents, role: tuple(replace(agent, model=model) for agent in method.role_agents[role])}
    return replace(method, role_agents=role_agents)
