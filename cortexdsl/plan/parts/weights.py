"""Models that run in the process have files: which ones an experiment means, and how large the models are.

The digest of a folder becomes an option of its model, `weights`: calls, cells and records then belong to these weights,
and a model that was trained again is another model. A spec that names the digest itself needs no folder to be replayed.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from cortexdsl.errors import InputError, Problem
from cortexdsl.models.tiny.sampling import DIGEST
from cortexdsl.models.tiny.shelf import PREFIX, find
from cortexdsl.spec.load import Spec
from cortexdsl.terms import Agent, Model


def with_weights(spec: Spec) -> tuple[Spec, tuple[Problem, ...]]:
    """Return a spec whose models say which weights they have, and what is wrong with their folders.

    `parameters` and `tokens` are those of the model's card where the spec gives none.
    """
    models: dict[str, Model] = {}
    problems = []
    for name, model in spec.models.items():
        try:
            models[name] = weighed(model)
        except InputError as error:
            what, _, remedy = str(error).partition("\n")
            problems.append(spec.problem(("models", name, "model"), what, remedy.strip()))
    if not any(model is not spec.models[name] for name, model in models.items()):
        return spec, tuple(problems)

    def agent(found: Agent) -> Agent:
        return replace(found, model=models.get(found.model.name, found.model))

    found = replace(
        spec,
        models=MappingProxyType({**spec.models, **models}),
        agents=MappingProxyType({name: agent(each) for name, each in spec.agents.items()}),
        teams=MappingProxyType({name: tuple(map(agent, team)) for name, team in spec.teams.items()}),
    )
    return found, tuple(problems)


def weighed(model: Model) -> Model:
    """Return a model that says which weights it has, and how large it is; one without files is returned as it is.

    Raises
    ------
    InputError
        There is no such folder, and the spec does not name the weights; or it names others.
    """
    if not model.model.startswith(PREFIX):
        return model
    pinned = model.options.get(DIGEST)
    try:
        folder = find(model.model)
        digest, card = folder.digest, folder.card
    except InputError:
        if pinned is None:
            raise
        return model
    if pinned not in (None, digest):
        raise InputError(f"{model.model} has the weights {digest}, and the spec asks for {pinned}")
    return replace(
        model,
        options=MappingProxyType({**model.options, DIGEST: digest}),
        parameters=model.parameters or _count(card.get("parameters")),
        tokens=model.tokens or _count(card.get("tokens")),
    )


def _count(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
