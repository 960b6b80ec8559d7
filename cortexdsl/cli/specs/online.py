"""`cortexdsl check --online`: ask every model of a spec a few small questions, and say what was found."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from cortexdsl.models.probe import Probe, probe
from cortexdsl.plan import Plan
from cortexdsl.plan.cost.windows import models_of, too_long


def ask_models(plan: Plan, *, is_json: bool) -> bool:
    """Ask the models of a plan, print what they said, and return whether all of them answered."""
    found = asyncio.run(probe(models_of(plan)))
    warnings = too_long(plan, {one.entry: one.context for one in found if one.context is not None})
    warnings += [
        f"model {one.entry} gives no probabilities of its tokens: `confidence: logprob` will be empty\n"
        "    use consistency or verifier, or a server that gives them"
        for one in found
        if one.logprobs == "none"
    ]
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


def _table(found: Sequence[Probe]) -> str:
    rows = [("model", "name", "answers", "context", "seed", "price", "logprobs")]
    rows += [
        (
            one.entry, one.model, "no" if one.problem else "yes",
            "unknown" if one.context is None else f"{one.context:,}",
            "-" if one.problem else one.seed, "known" if one.is_priced else "unknown",
            one.logprobs,
        )
        for one in found
    ]  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - (not any(one.logprobs for one in found)))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    return "\n".join(lines if found else ["no model is asked: all are built in"])
