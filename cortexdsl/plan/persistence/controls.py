"""Changes of an experiment while it runs: pauses and limits, put in force and kept in its ledger."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cortexdsl.models.control import Controls, Pause, Replacement, read_controls, write_controls
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


def change(plan: Plan, limits: dict[str, float]) -> Controls:
    """Put limits in force instead of those of the spec; a value that the spec has needs no replacement."""
    with _locked(plan.layout) as in_force:
        controls = in_force.without(in_force.outdated(plan.limits))
        replaced, held, at, by = dict(controls.limits), controls.applied(plan.limits), now(), who()
        said = []
        for word, value in limits.items():
            replaced[word] = Replacement(value, getattr(plan.limits, word), at, by)
            before = getattr(held, word)
            said += [f"{word} {plain(value)}, before {plain(before)}"] if value != before else []
        changed = replace(controls, limits={word: each for word, each in replaced.items() if each.value != each.before})
        if said:
            _put(plan.layout, changed, f"limited by {by}: {'; '.join(said)}")
        return changed


def back_to_spec(plan: Plan) -> Controls:
    """Put the limits of the spec in force again; return what was in force."""
    with _locked(plan.layout) as controls:
        if controls.limits:
            said = f"limits of the spec again, by {who()}: {', '.join(controls.limits)}"
            _put(plan.layout, Controls(controls.paused), said)
        return controls


def settle(plan: Plan) -> list[str]:
    """Drop the replacements of values that the spec says otherwise by now, and return them in words: the spec wins."""
    with _locked(plan.layout) as controls:
        said = _outdated_words(plan, controls)
        if said:
            _put(plan.layout, controls.without(controls.outdated(plan.limits)), "; ".join(said))
        return said


def in_words(plan: Plan) -> list[str]:
    """Return what is in force beside the spec, and what is not any more, in words; without anything, nothing."""
    controls = read_controls(Path(plan.layout.spent))
    lines = [f"paused since {controls.paused.at} by {controls.paused.by}"] if controls.paused else []
    in_force = controls.without(controls.outdated(plan.limits))
    return [*lines, *replacements(in_force), *_outdated_words(plan, controls)]


def replacements(controls: Controls) -> Iterator[str]:
    """Yield in words each limit that replaces one of the spec."""
    for word, each in controls.limits.items():
        yield f"{word} {plain(each.value)}, and not {plain(each.before)} as in the spec ({each.by}, {each.at})"


def _outdated_words(plan: Plan, controls: Controls) -> list[str]:
    outdated = [(word, controls.limits[word]) for word in sorted(controls.outdated(plan.limits))]
    return [
        f"the spec now has {word} {plain(getattr(plan.limits, word))}, which replaces {plain(each.value)} "
        f"({each.by}, {each.at})"
        for word, each in outdated
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
