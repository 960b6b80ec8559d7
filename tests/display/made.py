"""Tallies and expectations made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cortexdsl.display.expected import ExpectedRun
from cortexdsl.plan.job_files import DebateJob

EXPECTED = ExpectedRun(
    "e",
    (
        DebateJob("d", "a", "a", "r1-s01", 10),
        DebateJob("d", "a", "a", "r1-s02", 10),
        DebateJob("d", "b[keep=mean]", "b~keep=mean", "r1-s01", 10),
        DebateJob("d", "b[keep=mean]", "b~keep=mean", "r1-s02", 10),
    ),
)


def said(cell: str = "a", shard: str = "r1-s01", **changes: Any) -> dict[str, Any]:
    """A tally as its job writes it: by default four of ten debates in 20 seconds, of which the last was at 1,020."""
    tally: dict[str, Any] = {
        "schema_version": 2,
        "job": f"d~{cell}~{shard}",
        "dataset": "d",
        "cell": cell,
        "shard": shard,
        "state": "running",
        "debates": {"done": 4, "total": 10},
        "calls": {"asked": 40, "replayed": 2, "shared": 8, "failed": 1, "retried": 3, "in_flight": 5},
        "tokens": {"input": 4000, "output": 400},
        "dollars": 0.5,
        "seconds": 20.0,
        "failures": {"content_filter": 1},
        "retries": {"rate_limit": 2, "timeout": 1},
        "began": 1000.0,
        "updated": 1020.0,
        "message": "",
    }
    return tally | changes


def write(folder: Path, *tallies: dict[str, Any]) -> Path:
    """Write tallies as jobs do."""
    folder.mkdir(parents=True, exist_ok=True)
    for tally in tallies:
        (folder / f"{tally['job']}.json").write_text(json.dumps(tally))
    return folder
