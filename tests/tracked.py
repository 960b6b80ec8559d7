"""What of the repository is ours: files that git tracks, so that a user's own spec in specs/ fails no test of ours."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def _all() -> tuple[Path, ...] | None:
    try:
        said = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        return None
    return tuple(ROOT / name for name in said.split("\0") if name)


def tracked(folder: str, pattern: str) -> list[Path]:
    """Return the files below a folder that git tracks and whose names match, in order; all where there is no git."""
    ours = _all()
    found = (path for path in (ROOT / folder).rglob(pattern) if path.is_file())
    return sorted(path for path in found if ours is None or path in ours)
