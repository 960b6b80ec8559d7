"""What calls cost, read from the call logs of a shard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cortexdsl.core import CallCost
from cortexdsl.models.call_log.folder import LogFolder
from cortexdsl.models.call_log.records import paid_dollars
from cortexdsl.models.transports.registry import transport_type


def read_costs(log: Path, keys: Iterable[str]) -> dict[str, CallCost]:
    """Return the costs of calls; calls that are in no log are left out.

    Parameters
    ----------
    log : Path
        The call log of the job that made the calls. Calls that it shares are in other logs of its folder.
    keys : iterable of str
    """
    folder, costs = LogFolder(log.parent), {}
    try:
        folder.refresh()
        own = folder.log(log.absolute()) if log.exists() else None
        for key in dict.fromkeys(keys):
            record = folder.find(key, own, errors_again=False)
            if record is not None:
                costs[key] = cost_of(record)
    finally:
        folder.close()
    return costs


def cost_of(record: Mapping[str, Any]) -> CallCost:
    """Return the cost of a call from its line of the log."""
    usage = record.get("usage") or {}
    return CallCost(record.get("seconds"), _dollars(record), usage.get("cached_tokens"))


def _dollars(record: Mapping[str, Any]) -> float | None:
    """Return the dollars of a call: nothing if no reply came, or if this machine computed it."""
    dollars = paid_dollars(record)
    if isinstance(dollars, int | float):
        return float(dollars)
    is_free = record.get("error") is not None or transport_type(str(record.get("model", ""))).is_in_process
    return 0.0 if is_free else None
