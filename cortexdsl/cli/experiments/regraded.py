"""Which cells were read again already, by this very program: they are not read once more."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import cortexdsl
from cortexdsl.plan import PARTS, Plan

NAME = ".regraded"


def is_regraded(plan: Plan, dataset: str, slug: str) -> bool:
    """Say whether nothing has changed since a cell was read again: no debate or judgement, no setting, no code."""
    parts = [Path(plan.layout.part(table, dataset, slug)) for table in PARTS]
    try:
        noted = _note(plan, dataset, slug).read_text(encoding="ascii")
    except OSError:
        return False
    return all(part.exists() for part in parts) and noted == _state(plan, dataset, slug)


def note_regraded(plan: Plan, dataset: str, slug: str) -> None:
    """Note that a cell was read again and scored as it is now."""
    _note(plan, dataset, slug).write_text(_state(plan, dataset, slug), encoding="ascii")


def _note(plan: Plan, dataset: str, slug: str) -> Path:
    return Path(plan.layout.part(PARTS[0], dataset, slug)).parent / NAME


def _state(plan: Plan, dataset: str, slug: str) -> str:
    read = [*plan.debates_of(dataset, slug), plan.layout.judgements(dataset, slug)]
    found = [(path, os.stat(path)) for path in read if os.path.exists(path)]  # noqa: PTH110, PTH116 (they are texts)
    files = [(path, state.st_mtime_ns, state.st_size) for path, state in found]
    said = [_program(), plan.digest, plan.score_digest(dataset, slug), files]
    return hashlib.sha256(repr(said).encode()).hexdigest()


@cache
def _program() -> str:
    """Digest of the package's code: after a reader or a grader was edited everything is read anew."""
    root, found = Path(cortexdsl.__file__).parent, hashlib.sha256(cortexdsl.__version__.encode())
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()
