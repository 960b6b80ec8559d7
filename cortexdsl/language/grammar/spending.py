"""What calls may cost, and how fast they go: prices, rates, batches, and limits."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from cortexdsl.core import BatchSettings, Engine, Limits, Price, Rate, RateLimit
from cortexdsl.language.grammar.core_words import FromCore
from cortexdsl.language.grammar.entries import Duration, Text, Variable, invalid

_Dollars: TypeAlias = Annotated[float, Field(ge=0, le=1e6, strict=True), AfterValidator(lambda million: million / 1e6)]
PriceEntry: TypeAlias = Annotated[
    Price,
    FromCore(
        input=_Dollars,
        output=_Dollars,
        cached=_Dollars | None,
    ),
]


_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMG]?)\s*/\s*(s|sec|min|hour|h|day|d)")
_TIMES = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_SPANS = {"s": 1.0, "sec": 1.0, "min": 60.0, "hour": 3600.0, "h": 3600.0, "day": 86_400.0, "d": 86_400.0}


def rate_limit(value: Any) -> Any:
    """Return the limit that a text such as `500/min` or `200k/min` means; other values as they are.

    Raises
    ------
    PydanticCustomError
        The text is not a rate, or its amount is not a whole number of 1 or more.
    """
    if not isinstance(value, str):
        return value
    written = _AMOUNT.fullmatch(value.strip())
    amount = float(written[1]) * _TIMES[written[2]] if written else 0.0
    if written is None or amount != int(amount) or not 1 <= amount <= 1e15:
        raise invalid(
            "this is not a rate", "write a whole number and a unit: 10/s, 500/min, 200k/min, 1M/hour, 250/day"
        )
    return RateLimit(int(amount), _SPANS[written[3]])


def _rate_limits(value: Any) -> Any:
    return tuple(map(rate_limit, value if isinstance(value, list | tuple) else [value]))


def _several(value: tuple[Any, ...]) -> tuple[RateLimit, ...]:
    if not value or not all(isinstance(each, RateLimit) for each in value):
        raise invalid("this is not a rate", "write 500/min, or several: [10/min, 250/day]")
    spans = [each.seconds for each in value]
    if len(set(spans)) < len(spans):
        raise invalid("two rates have the same unit", "keep the smaller one")
    return value


RateLimitsText: TypeAlias = Annotated[
    tuple[Any, ...],
    AfterValidator(_several),
    BeforeValidator(_rate_limits, json_schema_input_type=str | list[str]),
]


def _limits_something(rate: Rate, written: Collection[str]) -> None:
    if not rate.has_limits:
        raise invalid("this rate limits nothing", f"write {_RATE}")


_RATE = "{requests: 500/min, tokens: 200k/min}"
RateEntry: TypeAlias = Annotated[
    Rate,
    FromCore(_RATE, _limits_something, requests=RateLimitsText, tokens=RateLimitsText),
]
BatchEntry: TypeAlias = Annotated[
    BatchSettings, FromCore("{requests: 10000, tokens: 2000000, wait: 600}", wait=Duration)
]


def _names_both_files(engine: Engine, written: Collection[str]) -> None:
    """Refuse a command that is not given both files, or that is not words."""
    for place in ("{requests}", "{replies}"):
        if place not in engine.command:
            raise invalid(f"the command names no {place}", "write PROGRAM -i {requests} -o {replies}")
    try:
        shlex.split(engine.command)
    except ValueError as error:
        raise invalid(f"the command cannot be read as words ({error})", "close the quotation mark") from None


EngineEntry: TypeAlias = Annotated[
    Engine,
    FromCore(
        "{command: PROGRAM -i {requests} -o {replies}}",
        _names_both_files,
        resources=dict[Variable, Annotated[int, Strict()] | Text] | None,
    ),
]


def _share(value: Any) -> Any:
    percent = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value) if isinstance(value, str) else None
    if percent is not None:
        return float(percent[1]) / 100
    if isinstance(value, str):
        raise invalid("this is not a share", "write 5%, or 0.05")
    return value


Percentage: TypeAlias = Annotated[
    float, Strict(), Field(ge=0, le=1), BeforeValidator(_share, json_schema_input_type=float | str)
]


LimitsEntry: TypeAlias = Annotated[Limits, FromCore(failed=Percentage, wait=Duration)]
