"""How a spec differs from the results that lie beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortexdsl.errors import CortexError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.kept.declaration import Declaration, changes, declaration_of


def spec_changes(declared: Declaration, plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how the spec of a plan record differs by now from what was declared last, in words.

    Empty if it is the same, and if the spec is not there or cannot be read: results may be far from their spec.
    """
    path = str(plan.get("spec") or "")
    if not Path(path).is_file():
        return ()
    try:
        current = compile_spec(path, experiment=plan.get("experiment"))
    except (CortexError, OSError):
        return ()
    return tuple(changes(declared, declaration_of(current)))


def plan_changes(declared: Declaration, plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how a plan record differs from what was declared last, in words: it was replaced or edited then."""
    analysis = plan.get("analysis") or {}
    stated = {
        **{word: plan[word] for word in ("seed", "replicates", "metrics", "stopping") if word in plan},
        **{word: analysis[word] for word in ("alpha", "correction", "judge") if word in analysis},
    }
    if "hypotheses" in plan:
        stated["claims"] = [" ".join(str(claim).split()) for claim in plan["hypotheses"] or ()]
    if "families" in plan:
        stated["families"] = {
            family["name"]: {word: family[word] for word in ("compare", "to", "correction")}
            for family in plan["families"] or ()
        }
    return tuple(changes(declared, {**declared, **stated}))
