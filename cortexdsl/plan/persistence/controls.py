"""Changes of an experiment while it runs: pauses and limits, put in force and kept in its ledger."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cortexdsl.models.control import Controls, Pause, read_controls, write_controls
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.recording import journal_lock, record_control


def who() -> str:
    """Return the name of this user, for the ledger."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without an entry, as in containers
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "an unknown user"


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def pause(layout: Layout, why: str = "") -> Pause | None:
    """Pause an experiment; return the pause that held already, or None."""
    with _locked(layout) as controls:
        if controls.paused is not None:
            return controls.paused
        said = f"paused by {who()}" + (f": {why}" if why else "")
        _put(layout, replace(controls, paused=Pause(now(), who(), why)), said)
        return None


def resume(layout: Layout) -> Pause | None:
    """Let a paused experiment go on; return the pause, or None if there was none."""
    with _locked(layout) as controls:
        if controls.paused is not None:
            _put(layout, replace(controls, paused=None), f"resumed by {who()}")
        return controls.paused


def change(plan: Plan, limits: Mapping[str, float]) -> None:
    """Put limits in force instead of those of the spec."""
    with _locked(plan.layout) as controls:
        held = controls.applied(plan.limits)
        said = [
            f"{word} {plain(value)}, before {plain(getattr(held, word))}"
            for word, value in limits.items()
            if value != getattr(held, word)
        ]
        changed = {
            word: value for word, value in {**controls.limits, **limits}.items() if value != getattr(plan.limits, word)
        }
        if said:
            _put(plan.layout, replace(controls, limits=changed), f"limited by {who()}: {'; '.join(said)}")


def back_to_spec(plan: Plan) -> None:
    """Put the limits of the spec in force again."""
    with _locked(plan.layout) as controls:
        if controls.limits:
            said = f"limits of the spec again, by {who()}: {', '.join(controls.limits)}"
            _put(plan.layout, Controls(controls.paused), said)


def in_words(plan: Plan) -> list[str]:
    """Return what is in force beside the spec, in words; without anything, nothing."""
    controls = read_controls(Path(plan.layout.spent))
    paused = [f"paused since {controls.paused.at} by {controls.paused.by}"] if controls.paused else []
    limits = controls.limits.items()
    return paused + [
        f"{word} {plain(value)}, and not {plain(getattr(plan.limits, word))} as in the spec" for word, value in limits
    ]


@contextmanager
def _locked(layout: Layout) -> Iterator[Controls]:
    """Hold the lock of the journal, and return what is in force."""
    with journal_lock(layout):
        yield read_controls(Path(layout.spent))


def _put(layout: Layout, controls: Controls, said: str) -> None:
    record_control(layout, said)
    write_controls(Path(layout.spent), controls)


def plain(value: Any) -> str:
    """Return a limit in words."""
    return "unlimited" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,g}"
