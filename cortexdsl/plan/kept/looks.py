"""What the looks at an experiment that may stop early have found, and how far they let it run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.parts.layout import Layout

SCHEMA_VERSION = 1


def read_look(path: Path) -> dict[str, Any]:
    """Read what one look found.

    Raises
    ------
    RecordError
        It is missing or no look.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["schema_version"] > SCHEMA_VERSION:
            raise RecordError(f"{path}: written by a later version of cortexdsl\n    update cortexdsl")
        return dict(record, decided=bool(record["decided"]))
    except OSError as error:
        raise RecordError(f"{path}: there is no such look ({error.strerror})\n    run the experiment first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: this is no look\n    delete it; the workflow writes it anew") from error


def last_look(layout: Layout) -> dict[str, Any] | None:
    """Return the look at which an experiment stopped: the first that found all decided, else the last; None without.

    Looks after it are of an older plan, which needed more questions.
    """
    found, batch = None, 1
    while Path(layout.look(batch)).exists():
        found = read_look(Path(layout.look(batch)))
        if found["decided"]:
            break
        batch += 1
    return found


def batches_run(plan: Plan) -> int | None:
    """Return of how many batches the results are made; None where the plan has no stopping.

    Raises
    ------
    RecordError
        The looks have not come to an end.
    """
    if plan.stopping is None:
        return None
    look = last_look(plan.layout)
    if look is None or not (look["decided"] or look["batch"] >= plan.batches):
        raise RecordError(f"{plan.layout.root}/looks: claims are undecided and questions left\n    run snakemake again")
    return min(int(look["batch"]), plan.batches)


def live_in(plan: Plan, batch: int) -> list[str]:
    """Return the slugs of the cells that are debated in a batch: all, unless the look before dropped some.

    Raises
    ------
    RecordError
        That look was not taken.
    """
    every = [cell.slug for cell in plan.cells]
    if batch == 1 or not plan.is_racing:
        return every
    named = set(read_look(Path(plan.layout.look(batch - 1))).get("live", ()))
    return [slug for slug in every if slug in named]


def batches_by_cell(plan: Plan, last: int) -> dict[str, int]:
    """Return for each cell, by its slug, the last of some batches in which it is debated."""
    return {slug: batch for batch in range(1, last + 1) for slug in live_in(plan, batch)}


def batches_of(plan: Plan, slug: str) -> int | None:
    """Return of how many batches one cell's results are made; None where the plan has no stopping.

    Raises
    ------
    RecordError
        The looks have not come to an end.
    """
    last = batches_run(plan)
    return None if last is None else batches_by_cell(plan, last)[slug]
