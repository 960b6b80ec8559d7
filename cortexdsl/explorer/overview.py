"""An experiment as a whole, as plain values for the pages: verdicts, cells, tables, the facts of its plan."""

from __future__ import annotations

from collections.abc import Sequence
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
