"""Model servers that specs declare, for the workflow's handlers."""

from __future__ import annotations

from collections.abc import Sequence

from cortexdsl.plan import Plan


def start_servers(plans: Sequence[Plan]) -> list[object]:
    return []


def stop_servers(servers: Sequence[object]) -> None:
    return None
