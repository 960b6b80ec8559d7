"""An experiment as a whole, as plain values for the pages: verdicts, cells, tables, the facts of its plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.meaning import estimate_unit
from cortexdsl.claims.parser import parse_claim
from cortexdsl.core.metrics import is_share
from cortexdsl.errors import CortexError
from cortexdsl.explorer.folders import ResultsFolder, number, read_rows
from cortexdsl.plan.persistence.run_record import stop_note
from cortexdsl.records.links import claim_link


def overview(place: ResultsFolder) -> dict[str, Any]:
    """Return an experiment as plain values: everything but its progress."""
    plan = place.plan()
    root = place.root
    cells = [_cell(cell) for cell in plan.get("cells") or ()]
    return {
        "name": place.name,
        "root": root.as_posix(),
        "title": plan.get("title") or place.name,
        "spec": plan.get("spec"),
        "seed": plan.get("seed"),
        "replicates": plan.get("replicates"),
        "datasets": {label: len(ids) for label, ids in (plan.get("questions") or {}).items()},
        "agents": plan.get("agents") or [],
        "cells": cells,
        "metrics": [
            row | {"unit": "share" if is_share(str(row["metric"])) else "number"}
            for row in _rows(root / "metrics.csv", ("dataset", "cell", "metric"), ("estimate", "ci_low", "ci_high"))
        ],
        "verdicts": _verdicts(place, plan),
        "comparisons": _rows(
            root / "comparisons.csv", ("family", "dataset", "metric", "cell", "reference"),
            ("difference", "ci_low", "ci_high", "p_adjusted"),
        ),
        "meaning": plan_facts(plan),
        "stopped": stop_note(root),
        "has_report": any((root / page).is_file() for page in ("report.html", "stopped.html")),
    }  # fmt: skip


def _cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    known = ("cell", "slug", "method", "protocol", "aliases", "settings", "agents")
    return {name: cell.get(name) for name in known}


def _verdicts(place: ResultsFolder, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    words, numbers = ("claim", "verdict", "note", "test"), ("estimate", "ci_low", "ci_high", "p_adjusted")
    rows = _rows(place.root / "hypotheses.csv", words, numbers)
    arms = [CellNames.of(cell) for cell in plan.get("cells") or ()]
    return [
        row | {"link": claim_link(place.name, str(row["claim"]), arms), "unit": _claim_unit(str(row["claim"]))}
        for row in rows
    ]


def _claim_unit(text: str) -> str:
    try:
        return estimate_unit(parse_claim(text), is_share)
    except CortexError:  # a claim of another version
        return "number"


def _rows(path: Path, words: Sequence[str], numbers: Sequence[str]) -> list[dict[str, Any]]:
    """Return some columns of a table of results."""
    return [
        {word: row.get(word) for word in words} | {name: number(row, name) for name in numbers}
        for row in read_rows(path)
    ]


def plan_facts(plan: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of a plan that can change a result, by a readable path.

    Two experiments differ in the facts that differ. The order of the spec's text, comments, settings written with their
    default values, and the paths of files make no difference.
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
