"""Models that were trained here: whether they are those that are meant, and which weights they have."""

from __future__ import annotations

from dataclasses import replace

from cortexdsl.errors import InputError
from cortexdsl.models.tiny.shelf import find
from cortexdsl.plan.training.phases import MADE_BY, WEIGHTS
from cortexdsl.terms import Agent, Method, Model

CARD = "training"
"""What a trained model's card calls the digest of all that it was made from."""


def with_trained(method: Method) -> Method:
    """Return a method whose trained models are known by their weights, as other small models are.

    So that a call belongs to the very weights that answered it, and a model that was trained again is another model.

    Raises
    ------
    InputError
        A model is not there, or was trained from something else than the spec says by now.
    """

    def told(agent: Agent) -> Agent:
        return replace(agent, model=_weighed(agent.model))

    if not any(map(_made_by, method.models)):
        return method
    how = method.confidence
    return replace(
        method,
        cast={role: tuple(map(told, agents)) for role, agents in method.cast.items()},
        confidence=how if how.verifier is None else replace(how, verifier=_weighed(how.verifier)),
    )


def _made_by(model: Model) -> str:
    said = str(model.options.get(WEIGHTS, ""))
    return said.removeprefix(MADE_BY) if said.startswith(MADE_BY) else ""


def _weighed(model: Model) -> Model:
    meant = _made_by(model)
    if not meant:
        return model
    folder = find(model.model)
    if folder.card.get(CARD) != meant:
        raise InputError(
            f"{folder.path}: these weights were trained from something else than the spec says by now\n"
            "    run the workflow, which trains them again"
        )
    return replace(model, options={**model.options, WEIGHTS: folder.digest})
