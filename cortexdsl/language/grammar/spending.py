"""What calls may cost, and how fast they go: prices, rates, engines, and limits."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from cortexdsl.core import Engine, Limits, Price, Rate, RateLimit
from cortexdsl.language.grammar.core_words import FromCore, WrittenAs
from cortexdsl.language.grammar.entries import Duration, Text, Variable, invalid, listed

_Dollars: TypeAlias = Annotated[float, Field(ge=0, le=1e6, strict=True), AfterValidator(lambda million: million / 1e6)]
PriceEntry: TypeAlias = Annotated[
    Price,
    FromCore(
        input=_Dollars,
        output=_Dollars,
        cached=_Dollars | None,
    ),
]


_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMG]?)\s*(tokens)?\s*/\s*(s|sec|min|hour|h|day|d)")
_TIMES = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_SPANS = {"s": 1.0, "sec": 1.0, "min": 60.0, "hour": 3600.0, "h": 3600.0, "day": 86_400.0, "d": 86_400.0}


def _rate_texts(value: Any) -> Any:
    if isinstance(value, dict):
        limits = [(kind == "tokens", str(each)) for kind in value for each in listed(value[kind]) if kind != "per"]
        texts = [each.replace("/", " tokens/") if is_tokens else each for is_tokens, each in limits]
        raise invalid("a rate is one text or a list", f"write rate: [{', '.join(texts or ['500/min'])}]")
    return [str(each) if isinstance(each, int) else each for each in listed(value)]


def _rate(texts: tuple[str, ...]) -> Rate:
    """Return the rate that texts such as `500/min` and `200k tokens/min` mean.

    Raises
    ------
    PydanticCustomError
        A text is not a limit, its amount is not a whole number of 1 or more, or two limits differ in the amount alone.
    """
    limits: dict[tuple[str | None, float], RateLimit] = {}
    for text in texts:
        written = _AMOUNT.fullmatch(text.strip())
        amount = float(written[1]) * _TIMES[written[2]] if written else 0.0
        if written is None or amount != int(amount) or not 1 <= amount <= 1e15:
            remedy = "write a whole number and a unit: 10/s, 500/min, 250/day, or of tokens: 200k tokens/min"
            raise invalid(f"{text} is not a rate", remedy)
        span = _SPANS[written[4]]
        if (written[3], span) in limits:
            raise invalid("two rates have the same unit", "keep the smaller one")
        limits[written[3], span] = RateLimit(int(amount), span)
    return Rate(*(tuple(limit for (kind, _), limit in limits.items() if kind == of) for of in (None, "tokens")))


_Limits: TypeAlias = Annotated[tuple[Text, ...], Field(min_length=1)]
RateEntry: TypeAlias = Annotated[
    Rate,
    WrittenAs(
        Annotated[
            _Limits,
            BeforeValidator(_rate_texts, json_schema_input_type=Text | _Limits),
            AfterValidator(_rate),
        ]
    ),
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
        container=Annotated[str, Strict(), Field(pattern=r"^\S+$", max_length=1_000)] | None,
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
