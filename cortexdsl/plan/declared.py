"""What was claimed before the run. A claim that is added when debates exist already is exploratory.

The file is written with the first plan and never changed once a call was made; whoever wants to declare anew moves the
results away.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cortexdsl.plan.layout import Layout
from cortexdsl.records.files import write_lines
from cortexdsl.spec.claims import claims_digest

SCHEMA_VERSION = 1


def declare(layout: Layout, claims: Sequence[str]) -> None:
    """Write down an experiment's claims, unless it has begun."""
    path = Path(layout.declared)
    has_begun = any(Path(layout.root, stage).is_dir() for stage in ("calls", "debates"))
    if path.exists() and has_begun:
        return
    record = {"schema_version": SCHEMA_VERSION, "claims": list(claims), "claims_digest": claims_digest(claims)}
    write_lines(path, [json.dumps(record, indent=1)])


def declared_claims(layout: Layout, claims: Sequence[str]) -> tuple[str, ...]:
    """Return the claims that were declared before the run; the plan's where nothing was written down."""
    path = Path(layout.declared)
    if not path.exists():
        return tuple(claims)
    return tuple(json.loads(path.read_text(encoding="utf-8"))["claims"])
