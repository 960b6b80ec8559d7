"""Several experiments: what they found of the same comparison, each by itself and pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortexdsl.analysis.tests.experiments import pool_experiments
from cortexdsl.analysis.units.table import ScoreTable, read_table
from cortexdsl.errors import CortexError
from cortexdsl.spec.claims.checks import FEWEST
from cortexdsl.view.places import Place


def pooled(places: Sequence[Place], metric: str = "score") -> dict[str, Any]:
    """Pool what experiments have in common: each shared cell's difference from a shared reference.

    The reference is that of the first experiment's first family, where all have it. Returns `rows` (those of
    `pool_experiments`) and `why` there are none, if so.
    """
    tables: dict[str, ScoreTable] = {}
    for place in places:
        try:
            tables[place.name] = read_table(place.root / "scores.csv")
        except CortexError:
            continue
    if len(tables) < FEWEST:
        return _none(f"{len(tables)} experiments have scores; {FEWEST} or more can be pooled")
    shared = [
        cell for cell in next(iter(tables.values())).cells if all(cell in table.cells for table in tables.values())
    ]
    references = [family["to"] for place in places for family in place.plan().get("families") or ()]
    reference = next((cell for cell in [*references, *shared] if cell in shared), None)
    others = [cell for cell in shared if cell != reference]
    if reference is None or not others:
        return _none("they have no two cells in common")
    try:
        found = pool_experiments(tables, others, reference, [metric])
    except CortexError as error:
        return _none(str(error))
    rows = found.astype(object).where(found.notna(), None).to_dict(orient="records")
    return {"reference": reference, "rows": rows, "why": ""}


def _none(why: str) -> dict[str, Any]:
    return {"reference": None, "rows": [], "why": why}
