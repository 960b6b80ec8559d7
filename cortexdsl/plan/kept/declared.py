"""declared.json, written before the first call: the claims, and the seal that the ledger had then.

The workflow makes it once. It is an anchor for the ledger: entries removed from its beginning are missed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records.files import write_lines
from cortexdsl.spec.claims.language import claims_digest

DECLARED_VERSION = 2


def write_declared(layout: Layout, claims: Sequence[str], seal: str) -> None:
    """Write the claims and the seal; an equal file keeps its age, which jobs look at."""
    record = {
        "schema_version": DECLARED_VERSION,
        "claims": list(claims),
        "claims_digest": claims_digest(claims),
        "ledger": seal,
    }
    if _record(layout) != record:
        write_lines(Path(layout.declared), [json.dumps(record, indent=1)])


def claims_of_earlier_version(layout: Layout) -> list[str] | None:
    """Return the claims in a file of an earlier version, which held nothing else; None for any other file."""
    record = _record(layout) or {}
    if record.get("schema_version") != 1 or not isinstance(record.get("claims"), list):
        return None
    return [" ".join(str(claim).split()) for claim in record["claims"]]


def anchor(layout: Layout) -> str:
    """Return the seal that the ledger had before the first call; empty if no file says so."""
    return str((_record(layout) or {}).get("ledger", ""))


def _record(layout: Layout) -> dict[str, Any] | None:
    try:
        record = json.loads(Path(layout.declared).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None
