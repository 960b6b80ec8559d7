"""An experiment as a whole, as plain values for the pages: verdicts, cells, tables, the facts of its plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.claims.meaning import estimate_unit
from cortexdsl.claims.parser import parse_claim
from cortexdsl.core.columns import is_share
from cortexdsl.errors import CortexError
from cortexdsl.explorer.folders import ResultsFolder, number, read_rows
from cortexdsl.plan.persistence.run_record import stop_note
from cortexdsl.plan.record import PlanRecord, plan_json
from cortexdsl.records.links import claim_link

CELL_WORDS = ("cell", "slug", "method", "protocol", "aliases", "settings", "agents")
NO_PLAN = dict.fromkeys(("spec", "seed", "replicates"))


def overview(place: ResultsFolder) -> dict[str, Any]:
    """Return an experiment as plain values: everything but its progress."""
    plan = place.plan()
    root = place.root
    written = plan_json(plan)
    return {
        "name": place.name,
        "root": root.as_posix(),
        "title": plan.title or place.name,
        **({word: written[word] for word in ("spec", "seed", "replicates")} if plan else NO_PLAN),
        "datasets": {label: len(ids) for label, ids in plan.questions.items()},
        "agents": written["agents"],
        "cells": [{name: cell[name] for name in CELL_WORDS} for cell in written["cells"]],
        "metrics": [
            row | {"unit": "share" if is_share(str(row["metric"])) else "number"}
            for row in _rows(root / "metrics.csv", ("dataset", "cell", "metric"), ("estimate", "ci_low", "ci_high"))
        ],
        "verdicts": _verdicts(place, plan),
        "comparisons": _rows(
            root / "comparisons.csv", ("family", "dataset", "metric", "cell", "reference"),
            ("difference", "ci_low", "ci_high", "p_adjusted"),
        ),
        "labels": plan.labels,
        "meaning": plan_facts(plan),
        "stopped": stop_note(root),
        "has_report": any((root / page).is_file() for page in ("report.html", "stopped.html")),
    }  # fmt: skip


def _verdicts(place: ResultsFolder, plan: PlanRecord) -> list[dict[str, Any]]:
    words, numbers = ("claim", "verdict", "note", "test"), ("estimate", "ci_low", "ci_high", "p_adjusted")
    rows = _rows(place.root / "hypotheses.csv", words, numbers)
    return [
        row | {"link": claim_link(place.name, str(row["claim"]), plan.arms), "unit": _claim_unit(str(row["claim"]))}
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


def plan_facts(plan: PlanRecord) -> dict[str, str]:
    """Return the facts of a plan that can change a result, by a readable path.

    Two experiments differ in the facts that differ. The order of the spec's text, comments, settings written with their
    default values, and the paths of files make no difference.
    """
    return dict(_facts(plan))


def _facts(plan: PlanRecord) -> Iterator[tuple[str, str]]:
    written = plan_json(plan)
    groups: dict[str, Mapping[str, Any]] = {"": {word: written[word] for word in ("seed", "replicates") if plan}}
    for label, facts in written["datasets"].items():
        known = {word: facts[word] for word in ("name", "kind", "metric", "digest")}
        groups[f"dataset {label}"] = {"questions": len(plan.questions.get(label, ())), **known}
    for agent in written["agents"]:
        options = dict(sorted(agent["options"].items()))
        groups[f"agent {agent['name']}"] = {word: agent[word] for word in ("model", "persona")} | options
    for cell in written["cells"]:
        known = {word: cell[word] for word in ("protocol", "agents")}
        settings = dict(sorted(cell["settings"].items()))
        groups[f"cell {cell['cell']}"] = known | settings | {"all of it (digest)": cell["digest"]}
    for family in plan.families:
        yield f"family {family.name}", f"{', '.join(family.compare)} against {family.to} ({family.correction})"
    for word, name in (("analysis", "analysis"), ("limits", "limit")):
        groups[name] = dict(sorted(written[word].items())) if plan else {}
    yield from ((f"claim {claim}", "declared") for claim in plan.hypotheses)
    if plan.stopping:
        yield "early stopping", _text(written["stopping"])
    for where, facts in groups.items():
        yield from ((f"{where}: {word}" if where else word, _text(value)) for word, value in facts.items())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, sort_keys=True)
