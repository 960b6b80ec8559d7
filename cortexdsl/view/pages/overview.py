"""What the explorer first says of an experiment: its verdicts, its cells, how far it is, what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import CortexError
from cortexdsl.records.links import find_link
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.spec.claims.designs import design_of
from cortexdsl.spec.claims.language import parse_claim
from cortexdsl.spec.claims.meaning import estimate_unit
from cortexdsl.terms.metrics import is_share
from cortexdsl.view.pages.meaning import meaning
from cortexdsl.view.places import Place
from cortexdsl.view.tables import number, read_rows

_ANSWERS = ("accuracy", "opening_accuracy", "score", "strict_accuracy", "lenient_accuracy")


def overview(place: Place) -> dict[str, Any]:
    """Return an experiment as plain values: what does not change while somebody looks at it."""
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
        "meaning": meaning(plan),
        "has_report": (root / "report.html").is_file(),
    }  # fmt: skip


def _cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    known = ("cell", "slug", "method", "protocol", "aliases", "settings", "agents")
    return {name: cell.get(name) for name in known}


def _verdicts(place: Place, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    words, numbers = ("claim", "verdict", "note", "test"), ("estimate", "ci_low", "ci_high", "p_adjusted")
    rows = _rows(place.root / "hypotheses.csv", words, numbers)
    arms = [Arm.of(cell) for cell in plan.get("cells") or ()]
    return [
        row | {"link": claim_link(place.name, str(row["claim"]), arms), "unit": _claim_unit(str(row["claim"]))}
        for row in rows
    ]


def _claim_unit(text: str) -> str:
    try:
        return estimate_unit(parse_claim(text), is_share)
    except CortexError:  # a claim of another program or version
        return "number"


def claim_link(experiment: str, text: str, arms: Sequence[Arm] = ()) -> str:
    """Return the address of the debates behind a claim.

    Of a claim on the answers of two cells, those on which one was right and the other wrong; else those of its cells,
    the most expensive first where it is on tokens.
    """
    try:
        claim = parse_claim(text)
        cells = list(dict.fromkeys(design_of(claim, arms).cells)) if arms else []
        metrics = claim.metrics
    except CortexError:
        return find_link(experiment)
    dataset = getattr(claim, "dataset", None)
    dataset = dataset if isinstance(dataset, str) and dataset not in ("every", "no") else None
    if len(cells) == 2 and any(metric in _ANSWERS for metric in metrics):
        return find_link(experiment, dataset=dataset, apart=(cells[0], cells[1]))
    sort = "tokens" if any("tokens" in metric for metric in metrics) else None
    return find_link(experiment, dataset=dataset, cell=cells, sort=sort)  # type: ignore[arg-type]


def _rows(path: Path, words: Sequence[str], numbers: Sequence[str]) -> list[dict[str, Any]]:
    """Some columns of a table of results."""
    return [
        {word: row.get(word) for word in words} | {name: number(row, name) for name in numbers}
        for row in read_rows(path)
    ]
