"""`cortexdsl check --online`: ask every model of a spec a few small questions, and say what was found."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from cortexdsl.models.probe import Probe, probe
from cortexdsl.plan import Plan
from cortexdsl.plan.rehearse import longest_prompts
from cortexdsl.terms import Model


def ask_models(plan: Plan, *, is_json: bool) -> bool:
    """Ask the models of a plan, print what they said, and return whether all of them answered."""
    found = asyncio.run(probe(models_of(plan)))
    warnings = too_long(plan, found)
    if is_json:
        for one in found:
            print(json.dumps({"level": "error" if one.problem else "model", **asdict(one)}))
        for warning in warnings:
            print(json.dumps({"level": "warning", "where": plan.spec_path, "what": warning}))
        return not any(one.problem for one in found)
    print(_table(found))
    for one in found:
        if one.problem:
            print(f"error: model {one.entry} ({one.model}): {one.problem}\n    {one.remedy}", file=sys.stderr)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return not any(one.problem for one in found)


def models_of(plan: Plan) -> list[Model]:
    """Return the models that a plan chats with, each once: those of its agents and its judge."""
    models = [agent.model for cell in plan.cells for cast in cell.debate.cast.values() for agent in cast]
    models += [plan.judging.model] if plan.judging is not None else []
    used = {_way(model): model for model in models if not model.model.startswith("builtin/")}
    return sorted(used.values(), key=lambda model: model.name)


def _way(model: Model) -> tuple[str, str | None, str | None, str]:
    """Return what tells two entries apart: a grid over a temperature asks the same model of the same server."""
    return model.name, model.api_base, model.api_key_env, model.model


def too_long(plan: Plan, found: Sequence[Probe]) -> list[str]:
    """Return a warning for each cell whose longest prompt and reply may not fit the context of its model."""
    windows = {one.entry: one.context for one in found if one.context is not None}
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


def _table(found: Sequence[Probe]) -> str:
    rows = [("model", "name", "answers", "context", "seed", "price")]
    rows += [
        (
            one.entry, one.model, "no" if one.problem else "yes",
            "unknown" if one.context is None else f"{one.context:,}",
            "-" if one.problem else one.seed, "known" if one.is_priced else "unknown",
        )
        for one in found
    ]  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines if found else ["no model is asked: all are built in"])
