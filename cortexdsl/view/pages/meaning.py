"""What a plan means, as one flat list of facts: two experiments differ in the facts that differ, not in their text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def meaning(plan: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of a plan: what could change a result, by a path that people can read.

    The order of a text, its comments, its names for settings left at their defaults, and where files lie make no
    difference.
    """
    return dict(_facts(plan))


def _facts(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for word in ("seed", "replicates"):
        if word in plan:
            yield word, _text(plan[word])
    for label, facts in (plan.get("datasets") or {}).items():
        ids = (plan.get("questions") or {}).get(label) or ()
        yield f"dataset {label}: questions", _text(len(ids))
        yield from (
            (f"dataset {label}: {word}", _text(facts.get(word))) for word in ("name", "kind", "metric", "digest")
        )
    for agent in plan.get("agents") or ():
        where = f"agent {agent.get('name')}"
        yield f"{where}: model", _text(agent.get("model"))
        yield f"{where}: persona", _text(agent.get("persona"))
        yield from ((f"{where}: {word}", _text(value)) for word, value in sorted((agent.get("options") or {}).items()))
    for cell in plan.get("cells") or ():
        where = f"cell {cell.get('cell')}"
        yield f"{where}: protocol", _text(cell.get("protocol"))
        yield f"{where}: agents", _text(cell.get("agents"))
        yield from ((f"{where}: {word}", _text(value)) for word, value in sorted((cell.get("settings") or {}).items()))
        yield f"{where}: all of it (digest)", _text(cell.get("digest"))
    for family in plan.get("families") or ():
        yield (
            f"family {family.get('name')}",
            (f"{_text(family.get('compare'))} against {family.get('to')} ({family.get('correction')})"),
        )
    yield from ((f"claim {claim}", "declared") for claim in plan.get("hypotheses") or ())
    yield from ((f"analysis: {word}", _text(value)) for word, value in sorted((plan.get("analysis") or {}).items()))
    yield from ((f"limit: {word}", _text(value)) for word, value in sorted((plan.get("limits") or {}).items()))
    if plan.get("stopping"):
        yield "early stopping", _text(plan["stopping"])


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, sort_keys=True)
