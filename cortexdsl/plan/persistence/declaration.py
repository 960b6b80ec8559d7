"""An experiment's declaration: everything that its verdicts depend on, its changes in words, and declared.json.

`declared.json` is written before the first call. It holds the claims and the seal that the ledger had then, so that
entries removed from the beginning of the ledger are noticed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl.checksums import write_lines
from cortexdsl.claims.parser import claims_digest
from cortexdsl.claims.values import one_line
from cortexdsl.plan.digests import templates_of
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.record import PlanRecord

Declaration: TypeAlias = Mapping[str, Any]

SEED = "seed"
WORDS = (
    "seed", "replicates", "alpha", "correction", "judge", "stopping",
    "datasets", "cells", "prompts", "families", "metrics", "claims",
)  # fmt: skip
LEARNED = "learned"
"""The word of a declaration with fitted functions, which most experiments lack."""
BINDING = ("alpha", "correction", "replicates", "dataset", "stopping", "judge", "cell", "fit")
"""First words of changes that can affect a verdict, other than changes of its claim and the seed."""


def declaration_of(plan: Plan) -> dict[str, Any]:
    """Return the declaration of a plan. Digests of cells leave out the seed, so that another seed is one change."""
    return {
        **{word: plan.analysis.get(word) for word in ("alpha", "correction", "judge")},
        **plan_words(plan),
        "datasets": {label: asdict(facts) for label, facts in plan.facts.items()},
        "cells": dict(plan.meanings),
        "prompts": {
            name: plan.templates.digest(name)
            for name in sorted({n for c in plan.cells for n in templates_of(c.debate)})
        },
        **({LEARNED: _fitted(plan)} if plan.learned else {}),
    }


def plan_words(plan: Plan | PlanRecord) -> dict[str, Any]:
    """Return those words of a declaration that plan.json states, too, in a form that JSON keeps."""
    return {
        "seed": plan.seed,
        "replicates": plan.replicates,
        "metrics": list(plan.metrics),
        "families": {
            family.name: {"compare": list(family.compare), "to": family.to, "correction": family.correction}
            for family in plan.families
        },
        "stopping": asdict(plan.stopping) if plan.stopping else None,
        "claims": [one_line(claim) for claim in plan.hypotheses],
    }


def _fitted(plan: Plan) -> dict[str, Any]:
    """Return what each function is fitted on: how, and which questions, by their number and digest."""
    return {
        each.name: {
            "predicts": each.predicts,
            "from": list(each.features),
            "by": each.by,
            "method": each.cell,
            "questions": len(each.task.questions),
            "questions_digest": each.task.questions_digest,
        }
        for each in plan.learned
    }


def changes(before: Declaration, after: Declaration) -> list[str]:
    """Return the differences from an earlier declaration, in words; empty if the two are equal.

    Another seed draws other questions from a sampled dataset. That is one change, not two.
    """
    return list(_changes(before, after))


def _changes(before: Declaration, after: Declaration) -> Iterator[str]:
    for word in ("seed", "replicates", "alpha", "correction", "judge", "stopping"):
        if before[word] != after[word]:
            yield f"{word}: {_brief(before[word])}, then {_brief(after[word])}"
    yield from _named("dataset", before["datasets"], after["datasets"], same_seed=before["seed"] == after["seed"])
    yield from _named("cell", before["cells"], after["cells"])
    if before["prompts"] and after["prompts"]:  # declarations of version 0.2.0 have none
        shared = before["prompts"].keys() & after["prompts"].keys()
        yield from (
            f"prompt changed: {name}" for name in sorted(shared) if before["prompts"][name] != after["prompts"][name]
        )
    yield from _named("fit", before.get(LEARNED, {}), after.get(LEARNED, {}))
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
    """Yield the changes of a dataset; earlier versions declared no digest of its questions alone."""
    if old["questions"] != new["questions"]:
        yield f"dataset {name}: {old['questions']} questions, then {new['questions']}"
    elif old["name"] == new["name"] and (not same_seed or old["digest"] == new["digest"]):
        return
    elif old.get("questions_digest") == new.get("questions_digest") is not None:
        yield f"dataset {name}: read or graded otherwise"
    else:
        yield f"dataset {name}: other questions or golds"


def binding_changes(sentences: Sequence[str], claim_cells: Sequence[str] | None = None) -> list[str]:
    """Return those changes that a verdict depends on besides its claim and the seed.

    Parameters
    ----------
    sentences : sequence of str
        From `changes`.
    claim_cells : sequence of str or None
        The cells of the claim: changes of other cells do not count. None counts every cell.
    """
    relevant = []
    for change in sentences:
        kind, _, rest = change.partition(" ")
        if kind.rstrip(":") not in BINDING:
            continue
        if kind == "cell":
            what, _, name = rest.partition(": ")
            if what == "added" or (claim_cells is not None and name not in claim_cells):
                continue
        relevant.append(change)
    return relevant


def _brief(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key} {inner}" for key, inner in value.items())
    return "none" if value is None else str(value)


DECLARED_VERSION = 2


def write_declared(layout: Layout, claims: Sequence[str], seal: str) -> None:
    """Write the claims and the seal; an equal file keeps its time, which jobs compare."""
    record = {
        "schema_version": DECLARED_VERSION,
        "claims": list(claims),
        "claims_digest": claims_digest(claims),
        "ledger": seal,
    }
    if _record(layout) != record:
        write_lines(Path(layout.declared), [json.dumps(record, indent=1)])


def claims_of_earlier_version(layout: Layout) -> list[str] | None:
    """Return the claims in a file of version 1, which held nothing else; None for any other file."""
    record = _record(layout) or {}
    if record.get("schema_version") != 1 or not isinstance(record.get("claims"), list):
        return None
    return [one_line(str(claim)) for claim in record["claims"]]


def first_seal(layout: Layout) -> str:
    """Return the seal that the ledger had before the first call; empty if it is not known."""
    return str((_record(layout) or {}).get("ledger", ""))


def _record(layout: Layout) -> dict[str, Any] | None:
    try:
        record = json.loads(Path(layout.declared).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None
