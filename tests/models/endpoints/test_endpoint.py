"""The adaptive limit follows traces that were worked out by hand; the gate keeps to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cortexdsl.core import Model
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.endpoint import MOST_ROUTES, AdaptiveLimit, Endpoint, Endpoints
from tests.models.kit import settle


@asynccontextmanager
async def place_in(endpoint: Endpoint) -> AsyncIterator[None]:
    await endpoint.enter()
    try:
        yield
    finally:
        endpoint.leave()


def window(control: AdaptiveLimit, now: float, in_flight: int | None = None) -> int:
    """As many successes as the limit, with so many in flight (the limit by default)."""
    control.sent(control.limit if in_flight is None else in_flight)
    for _ in range(control.limit):
        control.succeeded(now)
    return control.limit


def test_it_starts_low_and_doubles_until_the_first_refusal() -> None:
    """20, 40, 80, then the most that is allowed, 100; the refusal cuts it to 80 %: 80."""
    control = AdaptiveLimit(100)
    assert [control.limit, *(window(control, now=0.0) for _ in range(3))] == [20, 40, 80, 100]
    control.rate_limited(1.0, None)
    assert control.limit == 80


def test_after_a_refusal_it_climbs_by_a_twentieth() -> None:
    """From 40: 42 (40 * 1.05), 44 (44.1), 46 (46.2); from 8 by one, since 5 % of it is none."""
    control = AdaptiveLimit(50)
    for _ in range(4):
        window(control, 0.0)
    control.rate_limited(1.0, None)
    assert [window(control, 16.0) for _ in range(3)] == [42, 44, 46]
    small = AdaptiveLimit(10)
    window(small, 0.0)
    window(small, 0.0)
    small.rate_limited(1.0, None)
    assert [small.limit, window(small, 16.0), window(small, 16.0)] == [8, 9, 10]


def test_refusals_of_one_burst_cut_once() -> None:
    """At 1 s a cut from 32 to 25; those until 16 s belong to it; at 16 s the next, to 20."""
    control = AdaptiveLimit(32)
    for _ in range(3):
        window(control, 0.0)
    limits = []
    for now in (1.0, 1.1, 9.0, 15.9, 16.0):
        control.rate_limited(now, None)
        limits.append(control.limit)
    assert limits == [25, 25, 25, 25, 20]


def test_retry_after_extends_the_cooldown() -> None:
    """A refusal at 0 s that asks for 40 s: no growth at 39 s, growth at 40 s."""
    control = AdaptiveLimit(32)
    window(control, 0.0)
    control.rate_limited(0.0, 40.0)
    assert control.limit == 25
    assert window(control, 39.0) == 25
    assert window(control, 40.0) == 26


def test_one_refused_call_pauses_nothing_and_a_refusing_server_pauses_everything() -> None:
    control = AdaptiveLimit(32)
    assert control.rate_limited(1.0, 5.0) == 0.0
    assert control.rate_limited(2.0, 5.0) == 5.0
    control.succeeded(8.0)
    assert control.rate_limited(9.0, 5.0) == 0.0


def test_a_failing_server_stops_growth_without_shrinking() -> None:
    """39 of the 40 successes that growth needs, a failure, and the count starts over."""
    control = AdaptiveLimit(100)
    window(control, 0.0)
    control.sent(40)
    for _ in range(39):
        control.succeeded(0.0)
    control.failed()
    control.succeeded(0.0)
    assert control.limit == 40
    assert window(control, 0.0) == 80


def test_growth_needs_four_fifths_of_the_limit_in_flight() -> None:
    """Of 40: 31 in flight are too few, 32 are enough."""
    control = AdaptiveLimit(100)
    window(control, 0.0)
    assert window(control, 0.0, in_flight=31) == 40
    assert window(control, 0.0, in_flight=32) == 80


def test_it_never_falls_below_one_nor_starts_above_the_most() -> None:
    control = AdaptiveLimit(2)
    assert control.limit == 2
    for burst in range(5):
        control.rate_limited(burst * 20.0, None)
    assert control.limit == 1
    with pytest.raises(ValueError, match="at least one"):
        AdaptiveLimit(0)


def test_the_gate_lets_through_as_many_as_the_limit_and_in_order() -> None:
    async def scene() -> None:
        endpoint = Endpoint(AdaptiveLimit(2), clock=lambda: 0.0)
        order: list[int] = []
        leave = asyncio.Event()

        async def one(number: int) -> None:
            async with place_in(endpoint):
                order.append(number)
                await leave.wait()

        tasks = [asyncio.create_task(one(number)) for number in range(5)]
        await settle()
        assert order == [0, 1]
        tasks[2].cancel()
        leave.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [0, 1, 3, 4]
        assert endpoint.in_flight == 0

    asyncio.run(scene())


def test_a_place_given_to_one_who_was_cancelled_is_handed_on() -> None:
    async def scene() -> None:
        endpoint = Endpoint(AdaptiveLimit(1), clock=lambda: 0.0)
        entered: list[str] = []

        waiting: list[asyncio.Task[None]] = []

        async def one(name: str) -> None:
            async with place_in(endpoint):
                entered.append(name)
                await settle(3)
            if name == "first":  # the second has been given the place by now, and has not run yet
                waiting[0].cancel()

        first = asyncio.create_task(one("first"))
        waiting += [asyncio.create_task(one(name)) for name in ("second", "third")]
        await first
        await asyncio.gather(*waiting, return_exceptions=True)
        assert entered == ["first", "third"]
        assert endpoint.in_flight == 0

    asyncio.run(scene())


def test_models_made_for_single_turns_share_an_endpoint_and_are_not_kept() -> None:
    """A step with sampling of its own makes a model for each turn."""
    endpoints = Endpoints(Secrets({}))
    made = [Model("m", "direct/m", api_base="http://127.0.0.1:1/v1") for _ in range(2 * MOST_ROUTES + 1)]
    routes = [endpoints.routes(model, 4) for model in made]
    assert len({id(route.endpoint) for (route,) in routes}) == 1
    assert endpoints.routes(made[-1], 4) is routes[-1]
    assert endpoints.routes(made[0], 4) is not routes[0]
