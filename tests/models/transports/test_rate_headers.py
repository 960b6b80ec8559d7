"""What servers say of their limits, in the spellings of OpenAI, Anthropic, Azure, Groq and OpenRouter."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cortexdsl.models.transports.rate_headers import Allowance, allowances

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (
            {
                "x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-tokens": "149984",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            [Allowance("requests", 59, 1), Allowance("tokens", 149984, 360)],
        ),
        (
            {"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "2m59.56s"},
            [Allowance("requests", 0, 179.56)],
        ),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "20ms"}, [Allowance("tokens", 7, 0.02)]),
        ({"x-ratelimit-remaining-requests": "7", "x-ratelimit-reset-requests": "10"}, [Allowance("requests", 7, 10)]),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset":
                "2027-01-15T08:00:30Z", "anthropic-ratelimit-input-tokens-remaining": "0",
            },
            [Allowance("requests", 0, 30)],
        ),
        ({"X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1800000004000"}, [Allowance("requests", 1, 4)]),
        ({"x-ratelimit-remaining": "1", "x-ratelimit-reset": "1799999999"}, [Allowance("requests", 1, 0)]),
        (
            {"x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": "1d2h"},
            [Allowance("requests", 0, 93600)],
        ),
        ({"x-ratelimit-remaining-requests": "nan", "x-ratelimit-reset-requests": "1s"}, []),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "soon"}, []),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": ""}, []),
        ({"x-ratelimit-remaining-requests": "5"}, [Allowance("requests", 5, 1)]),  # Azure names no reset
        ({"ratelimitbysize-remaining": "0", "ratelimitbysize-reset": "42"}, [Allowance("tokens", 0, 42)]),  # Mistral
        ({"x-ratelimit-remaining-tokens-minute": "0"}, [Allowance("tokens", 0, 1)]),  # Mistral
        ({"x-ratelimit-remaining-req-minute": "3"}, [Allowance("requests", 3, 1)]),  # Mistral
        ({"anthropic-ratelimit-requests-remaining": "5", "anthropic-ratelimit-requests-reset": "2027-01-15"}, []),
        ({}, []),
    ],
)  # fmt: skip
def test_what_headers_say(headers: Mapping[str, str], said: list[Allowance]) -> None:
    found = allowances(headers, NOW)
    assert [(each.kind, each.remaining) for each in found] == [(each.kind, each.remaining) for each in said]
    assert [each.reset for each in found] == pytest.approx([each.reset for each in said])
