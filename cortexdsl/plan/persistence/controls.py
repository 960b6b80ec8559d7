"""Changes of an experiment while it runs: pauses, limits and rates, put in force and kept in its ledger."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cortexdsl.core import Rate, RateLimit
from cortexdsl.models.control import Controls, Pause, Replacement, read_controls, write_controls
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.ledger import ledger_lock, record_control

_UNITS = {1.0: "s", 60.0: "min", 3600.0: "hour", 86_400.0: "day"}


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


def change(plan: Plan, limits: dict[str, float], rates: dict[str, Rate | None]) -> Controls:
    """Put limits and rates in force instead of those of the spec; a value that the spec has needs no replacement."""
    with _locked(plan.layout) as in_force:
        controls = in_force.without(set(in_force.outdated(plan.limits, plan.models)))
        new_limits, new_rates, at, by = dict(controls.limits), dict(controls.rates), now(), who()
        said = []
        for word, value in limits.items():
            before, held = getattr(plan.limits, word), getattr(controls.applied(plan.limits), word)
            new_limits[word] = Replacement(value, before, at, by)
            said += [f"{word} {plain(value)}, before {plain(held)}"] if value != held else []
        for name, rate in rates.items():
            model = plan.models[name]
            held_rate = controls.rate(model)
            new_rates[name] = Replacement(rate, model.rate, at, by)
            said += [f"rate of {name} {rate_text(rate)}, before {rate_text(held_rate)}"] if rate != held_rate else []
        changed = replace(
            controls,
            limits={word: each for word, each in new_limits.items() if each.value != each.before},
            rates={name: each for name, each in new_rates.items() if each.value != each.before},
        )
        if said:
            _put(plan.layout, changed, f"limited by {by}: {'; '.join(said)}")
        return changed


def back_to_spec(plan: Plan) -> Controls:
    """Put the limits and rates of the spec in force again; return what was in force."""
    with _locked(plan.layout) as controls:
        if controls.limits or controls.rates:
            names = [*controls.limits, *(f"rate of {name}" for name in controls.rates)]
            _put(plan.layout, Controls(controls.paused), f"limits of the spec again, by {who()}: {', '.join(names)}")
        return controls


def settle(plan: Plan) -> list[str]:
    """Drop the replacements of values that the spec says otherwise by now, and return them in words: the spec wins."""
    with _locked(plan.layout) as controls:
        outdated = set(controls.outdated(plan.limits, plan.models))
        said = list(_outdated_words(plan, controls, outdated))
        if outdated:
            _put(plan.layout, controls.without(outdated), "; ".join(said))
        return said


def in_words(plan: Plan) -> list[str]:
    """Return what is in force beside the spec, and what is not any more, in words; without anything, nothing."""
    controls = read_controls(Path(plan.layout.spent))
    outdated = set(controls.outdated(plan.limits, plan.models))
    kept = controls.without(outdated)
    lines = [f"paused since {controls.paused.at} by {controls.paused.by}"] if controls.paused else []
    return [*lines, *replacements(kept), *_outdated_words(plan, controls, outdated)]


def replacements(controls: Controls) -> Iterator[str]:
    """Yield in words each limit and rate that replaces one of the spec."""
    changed = [(word, plain(each.value), plain(each.before), each) for word, each in controls.limits.items()]
    changed += [
        (f"rate of {name}", rate_text(each.value), rate_text(each.before), each)
        for name, each in controls.rates.items()
    ]
    for what, value, before, each in changed:
        yield f"{what} {value}, and not {before} as in the spec ({each.by}, {each.at})"


def _outdated_words(plan: Plan, controls: Controls, outdated: set[tuple[str, str]]) -> Iterator[str]:
    for kind, name in sorted(outdated):
        if kind == "limits":
            each = controls.limits[name]
            spec = plain(getattr(plan.limits, name))
            yield f"the spec now has {name} {spec}, which replaces {plain(each.value)} ({each.by}, {each.at})"
        else:
            each, model = controls.rates[name], plan.models.get(name)
            spec = rate_text(model.rate) if model is not None else "no such model"
            yield (
                f"the spec now has for the rate of {name}: {spec}, which replaces {rate_text(each.value)} "
                f"({each.by}, {each.at})"
            )


@contextmanager
def _locked(layout: Layout) -> Iterator[Controls]:
    """Hold the lock of the ledger, and return what is in force."""
    with ledger_lock(layout):
        yield read_controls(Path(layout.spent))


def _put(layout: Layout, controls: Controls, said: str) -> None:
    record_control(layout, said)
    write_controls(Path(layout.spent), controls)


def plain(value: Any) -> str:
    """Return a limit in words."""
    return "unlimited" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def rate_text(rate: Rate | None) -> str:
    """Return a rate as specs write it."""
    if rate is None or not (rate.requests or rate.tokens):
        return "unlimited"
    pairs = (("requests", rate.requests), ("tokens", rate.tokens))
    return " ".join(f"{kind}={','.join(map(limit_text, limits))}" for kind, limits in pairs if limits)


def limit_text(limit: RateLimit) -> str:
    """Return one limit of a rate as specs write it: `500/min`."""
    amount = next(
        (f"{limit.amount // size}{letter}" for size, letter in ((10**6, "M"), (1000, "k")) if not limit.amount % size),
        str(limit.amount),
    )
    return f"{amount}/{_UNITS[limit.seconds]}"
