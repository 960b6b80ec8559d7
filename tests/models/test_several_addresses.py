"""One model at several servers: calls are spread, one that is down is left out, and no key of a call changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from cortexdsl.core import Call
from cortexdsl.errors import ModelError
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.client import open_client
from cortexdsl.models.endpoints.endpoint import LEFT_OUT_SECONDS
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw
from tests.models.kit import Fake, Time, call_of

ONE, TWO, THREE = (f"http://127.0.0.1:{port}/v1" for port in (8001, 8002, 8003))


class Servers(Fake):
    """A transport to several servers, of which some are down."""

    def __init__(self, *down: str) -> None:
        super().__init__()
        self.down = set(down)
        self.calls = Counter[str]()

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        assert api_base is not None
        self.calls[api_base] += 1
        if api_base in self.down:
            raise Failure(FailureKind.TRANSIENT, "connection refused")
        return await super().send(call, api_base, api_key)


def spread(number: int) -> Call:
    return call_of(str(number), api_base=ONE, copies=(TWO, THREE))


async def _ask(folder: Path, servers: Servers, time: Time, calls: int = 30) -> list[str]:
    async with open_client(folder / "own.jsonl", transports=servers.transports, runtime=time.runtime()) as client:
        replies = await asyncio.gather(*(client(spread(number)) for number in range(calls)))
    return [reply.text for reply in replies]


def test_calls_are_spread_evenly(tmp_path: Path) -> None:
    servers = Servers()
    assert len(set(asyncio.run(_ask(tmp_path, servers, Time())))) == 30
    assert servers.calls == {ONE: 10, TWO: 10, THREE: 10}


def test_a_server_that_is_down_is_left_out_and_nothing_waits(tmp_path: Path) -> None:
    """Its first calls go elsewhere at once; later ones are not sent to it until half a minute has passed."""
    servers, time = Servers(TWO), Time()
    asyncio.run(_ask(tmp_path, servers, time))
    assert (time.slept, servers.calls[ONE] + servers.calls[THREE]) == ([], 30)
    tried = servers.calls[TWO]
    asyncio.run(_ask(tmp_path / "more", servers, time))
    assert servers.calls[TWO] <= 2 * tried
    assert time.now < LEFT_OUT_SECONDS


def test_if_all_are_down_the_run_ends_as_with_one_server(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="connection refused"):
        asyncio.run(_ask(tmp_path, Servers(ONE, TWO, THREE), Time(), calls=1))


def test_further_addresses_are_in_no_key() -> None:
    """So that a server can be added or removed in the middle of a run."""
    assert call_key(spread(1)) == call_key(call_of("1", api_base=ONE))
