"""What an experiment declares: everything that its verdicts depend on, and how two declarations differ, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from cortexdsl.plan.experiment import Plan

Declaration: TypeAlias = Mapping[str, Any]

SEED = "seed"
WORDS = (
    "seed", "replicates", "alpha", "correction", "judge", "stopping",
    "datasets", "cells", "families", "metrics", "claims",
)  # fmt: skip
BINDING = ("alpha", "correction", "replicates", "dataset", "stopping", "judge", "cell")
"""What a verdict on a claim depends on besides the claim and the seed; the first words of a change say which it is."""


def declaration_of(plan: Plan) -> dict[str, Any]:
    """Return what a plan declares; a cell is what it means without the seed, so that another seed is one change."""
    return {
        "seed": plan.seed,
        "replicates": plan.replicates,
        "alpha": plan.analysis.get("alpha"),
        "correction": plan.analysis.get("correction"),
        "judge": plan.analysis.get("judge"),
        "metrics": list(plan.metrics),
        "families": {
            family.name: {"compare": list(family.compare), "to": family.to, "correction": family.correction}
            for family in plan.families
        },
        "datasets": {
            label: {
                "name": task.name,
                "questions": len(task.questions),
                "digest": task.digest,
                "questions_digest": task.questions_digest,
            }
            for label, task in plan.tasks.items()
        },
        "cells": dict(plan.meanings),
        "stopping": asdict(plan.stopping) if plan.stopping else None,
        "claims": [" ".join(claim.split()) for claim in plan.hypotheses],
    }


def changes(before: Declaration, after: Declaration) -> list[str]:
    """Say in words how a declaration differs from an earlier one; nothing where they are the same.

    Another seed draws other questions where they are sampled, and is not said twice.
    """
    return list(_changes(before, after))


def _changes(before: Declaration, after: Declaration) -> Iterator[str]:
    for word in ("seed", "replicates", "alpha", "correction", "judge", "stopping"):
        if before[word] != after[word]:
            yield f"{word}: {_brief(before[word])}, then {_brief(after[word])}"
    yield from _named("dataset", before["datasets"], after["datasets"], same_seed=before["seed"] == after["seed"])
    yield from _named("cell", before["cells"], after["cells"])
    yield from _named("family", before["families"], after["families"])
    for kind in ("metric", "claim"):
        old, new = before[f"{kind}s"], after[f"{kind}s"]
        yield from (f"{kind} added: {one}" for one in new if one not in old)
        yield from (f"{kind} withdrawn: {one}" for one in old if one not in new)


def _named(kind: str, old: Mapping[str, Any], new: Mapping[str, Any], *, same_seed: bool = True) -> Iterator[str]:
    yield from (f"{kind} added: {name}" for name in new if name not in old)
    yield from (f"{kind} withdrawn: {name}" for name in old if name not in new)
    for name in old:
        if name not in new or old[name] == new[name]:
            continue
        if kind == "dataset":
            yield from _dataset(name, old[name], new[name], same_seed=same_seed)
        else:
            yield f"{kind} changed: {name}"


def _dataset(name: str, old: Mapping[str, Any], new: Mapping[str, Any], *, same_seed: bool) -> Iterator[str]:
    """Say how a dataset changed; earlier versions declared no digest of its questions alone."""
    if old["questions"] != new["questions"]:
        yield f"dataset {name}: {old['questions']} questions, then {new['questions']}"
    elif old["name"] == new["name"] and (not same_seed or old["digest"] == new["digest"]):
        return
    elif old.get("questions_digest") == new.get("questions_digest") is not None:
        yield f"dataset {name}: read or graded otherwise"
    else:
        yield f"dataset {name}: other questions or golds"


def binding(said: Sequence[str], claim_cells: Sequence[str] | None = None) -> list[str]:
    """Return those changes that a verdict depends on besides its claim and the seed.

    Parameters
    ----------
    said : sequence of str
        Of `changes`.
    claim_cells : sequence of str or None
        The cells that the claim is about: changes of others do not count. None counts every cell.
    """
    found = []
    for change in said:
        kind, _, rest = change.partition(" ")
        if kind.rstrip(":") not in BINDING:
            continue
        if kind == "cell":
            what, _, name = rest.partition(": ")
            if what == "added" or (claim_cells is not None and name not in claim_cells):
                continue
        found.append(change)
    return found


def _brief(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key} {inner}" for key, inner in value.items())
    return "none" if value is None else str(value)
