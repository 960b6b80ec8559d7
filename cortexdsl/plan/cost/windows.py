"""Context windows: which cells may ask more of a model than it can read, told before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping

from cortexdsl.models.tiny.shelf import window_of
from cortexdsl.models.transports.prices import context_of
from cortexdsl.plan.cost.rehearse import longest_prompts
from cortexdsl.plan.experiment import Plan
from cortexdsl.terms import Model


def models_of(plan: Plan) -> list[Model]:
    """Return the models that a plan chats with, each once: those of its agents and its judge."""
    models = [model for cell in plan.cells for model in cell.debate.models]
    models += [plan.judging.model] if plan.judging is not None else []
    models.sort(key=lambda model: bool(model.options.get("logprobs")))  # who asks for more is asked for it, too
    used = {_way(model): model for model in models if not model.model.startswith("builtin/")}
    return sorted(used.values(), key=lambda model: model.name)


def _way(model: Model) -> tuple[str, str | None, str | None, str]:
    """Return what tells two entries apart: a grid over a temperature asks the same model of the same server."""
    return model.name, model.api_base, model.api_key_env, model.model


def known_windows(plan: Plan) -> dict[str, int]:
    """Return the window of each model entry of which it is known without asking.

    What the entry says (`context`), what a folder of weights says, what litellm's list has for a provider's model. A
    server of one's own may serve a model with less than its name allows: there only the entry counts.
    """
    found = {}
    for model in models_of(plan):
        listed = None if model.api_base is not None else context_of(model.model)
        window = model.context or window_of(model.model) or listed
        if window is not None:
            found[model.name] = window
    return found


def too_long(plan: Plan, asked: Mapping[str, int] | None = None) -> list[str]:
    """Return a warning for each cell whose longest prompt and reply may not fit the context of its model.

    Parameters
    ----------
    plan : Plan
    asked : mapping of model entry to tokens
        What servers said; it counts before what is known otherwise.
    """
    windows = {**known_windows(plan), **(asked or {})}
    if not windows:
        return []
    limits = {model.name: int(model.options.get("max_tokens", plan.reply_tokens)) for model in models_of(plan)}
    warnings = []
    for (cell, entry), tokens in longest_prompts(plan).items():
        window = windows.get(entry)
        if window is not None and tokens + limits[entry] > window:
            warnings.append(
                f"{cell}: a prompt of about {tokens:,} tokens and a reply of {limits[entry]:,} do not fit the "
                f"{window:,} of model {entry}\n    fewer rounds or agents, passes: answer, tells: latest, a shorter "
                "max_tokens, or a model with a longer context"
            )
    return warnings
