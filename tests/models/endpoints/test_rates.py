"""Rates of models: figures worked out by hand, with a clock that nobody waits for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import ceil

import pytest

from cortexdsl.core import Model, Rate, RateLimit
from cortexdsl.models.endpoints.rates import RateMeter, RateReservation, RateState
from cortexdsl.models.transports.rate_headers import Allowance
from tests.models.kit import Time

A_MINUTE = Rate((RateLimit(60, 60.0),))
TOKENS = Rate((), (RateLimit(6000, 60.0),))


def moments(rate: Rate, until: float, tokens: int = 1, late: float = 0.0) -> Iterator[float]:
    """Yield when requests are sent that all come after an idle time, at 0, each seen so many seconds late."""
    state, idle = RateState(), 1e6
    now = idle
    while now < idle + until:
        wait = state.wait(rate, now)
        now += wait + (late if wait else 0.0)
        state = state.used(rate, now, {"requests": 1, "tokens": tokens})
        yield now - idle


def most_in(sent: Sequence[float], span: float) -> int:
    """Return the most requests in any span, half open."""
    return max(bisect_left(sent, start + span * (1 - 1e-6)) - k for k, start in enumerate(sent))


@pytest.mark.parametrize("seconds", [1.0, 60.0, 3600.0])
@pytest.mark.parametrize("amount", [1, 2, 7, 500])
def test_no_span_has_more_than_its_amount_and_the_rate_is_used_to_98_percent(amount: int, seconds: float) -> None:
    """After idle time the first requests come at once, and still fit: that costs 1 %, and 0.5 % is spared."""
    sent = list(moments(Rate((RateLimit(amount, seconds),)), 20 * seconds))
    assert most_in(sent, seconds) == ceil(amount / 1.005)
    assert len(sent) == pytest.approx(20 * amount / 1.01 / 1.005, abs=2 + amount // 100)


def test_delays_of_less_than_the_slack_cost_nothing() -> None:
    """Of 60 a minute each is sent 0.2 s late: the minute's slack is 0.6 s, so that the fifth ends as it would."""
    assert len(list(moments(A_MINUTE, 300, late=0.2))) == pytest.approx(len(list(moments(A_MINUTE, 300))), abs=1)


def test_idle_time_is_not_saved_up() -> None:
    """After an hour 0.6 s of a minute may be made up for: with 600 a minute the request of now and six more."""
    rate = Rate((RateLimit(600, 60.0),))
    state, at_once = RateState(), 0
    while state.wait(rate, 3600.0) == 0.0:
        state, at_once = state.used(rate, 3600.0, {"requests": 1, "tokens": 0}), at_once + 1
    assert at_once == 6


def test_half_of_a_day_may_be_used_at_once_and_no_day_has_more_than_its_limit() -> None:
    day = Rate((RateLimit(250, 86_400.0),))
    sent = list(moments(day, 3 * 86_400.0))
    assert sum(at == 0.0 for at in sent) == 125
    assert most_in(sent, 86_400.0) == 249


def test_tokens_that_were_not_needed_are_given_back_and_others_are_charged() -> None:
    """2,000 reserved of 6,000 a minute; the call took 100, and then another one 4,000 of its 100."""
    time = Time()
    meter = RateMeter(time.clock, time.sleep)
    reservation = meter.take(TOKENS, 2000)
    assert reservation is not None
    meter.settle(reservation, 100)
    time.now = 1.1  # 100 tokens take 1.015 s
    again = meter.take(TOKENS, 100)
    assert again is not None
    meter.settle(again, 4000)
    time.now = 40.0
    assert meter.take(TOKENS, 1) is None
    time.now = 43.0
    assert meter.take(TOKENS, 1) is not None


def test_a_request_that_is_not_sent_gives_its_place_back() -> None:
    time = Time()
    meter = RateMeter(time.clock, time.sleep)
    reservation = meter.take(A_MINUTE, 0)
    assert reservation is not None
    meter.give_back(reservation)
    assert meter.take(A_MINUTE, 0) is not None


def test_what_is_reserved_follows_what_calls_took() -> None:
    """First all that a reply may have; from the fifth reply on the mean beyond the estimate of the prompt, 120."""
    time = Time()
    meter = RateMeter(time.clock, time.sleep)
    model = Model("m", "openai/m", options={"max_tokens": 4000})
    assert meter.expected_tokens(model, 50) == 4050
    assert meter.expected_tokens(Model("m", "openai/m", reasoning_tokens=300), 50) == 850
    for beyond in (100, 110, 120, 130, 140):
        meter.settle(RateReservation(Rate(), 0, {"requests": 0, "tokens": 0}), 0, beyond)
    assert meter.expected_tokens(model, 50) == 170


def test_a_server_with_nothing_left_is_sent_nothing_until_its_limit_is_reset() -> None:
    """Three were sent since the request whose reply says that 3 are left: none is left, for 20 s."""
    time = Time()
    meter = RateMeter(time.clock, time.sleep)
    many = Rate((RateLimit(1000, 1.0),))
    tickets = []
    for _ in range(3):
        time.now += 1.0
        tickets.append(meter.take(many, 10))
    assert tickets[0] is not None
    meter.listen([Allowance("requests", 3, 20.0)], tickets[0], 900.0)
    time.now += 1.0
    assert meter.take(many, 10) is not None
    meter.listen([Allowance("requests", 3, 20.0)], tickets[0], 900.0)
    time.now += 19.9
    assert meter.take(many, 10) is None
    time.now += 0.2
    assert meter.take(many, 10) is not None


def test_a_server_that_asks_for_hours_is_not_waited_for() -> None:
    """Its own refusal of the next call says more than a run that stands still."""
    time = Time()
    meter = RateMeter(time.clock, time.sleep)
    reservation = meter.take(Rate(), 10)
    assert reservation is not None
    meter.listen([Allowance("requests", 0, 7200.0)], reservation, 900.0)
    assert meter.take(Rate(), 10) is not None
