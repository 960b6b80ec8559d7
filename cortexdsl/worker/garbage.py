"""When garbage is looked for: seldom, since what a run throws away hardly ever refers to itself.

By default Python looks through everything that a process keeps whenever that has grown by a quarter, which is a
good part of the processor time of a grid of debates. What refers to itself is still found, among what is young.
"""

from __future__ import annotations

import gc

YOUNG, OLDER, OLDEST = 50_000, 20, 20
"""Objects made until the young are looked through, and how often until the older and the oldest are, too."""


def look_seldom() -> None:
    """Leave what is there now, which is imported, out of it for good, and look through the rest seldom."""
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDEST)
