"""The entries of a spec that say what an experiment runs on and what it may spend: servers and limits."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, Strict

from cortexdsl.spec.grammar.values.addresses import Address
from cortexdsl.spec.grammar.values.words import Entry, Text, Variable, Whole, said


class ServerText(Entry):
    """A model server that the workflow starts, waits for and stops; without a command, one that runs elsewhere."""

    command: Text | None = Field(
        None, description="The command line; {port} is a free port. Without it the server runs elsewhere."
    )
    url: Address | None = Field(
        None, description="Where it will answer; else http://127.0.0.1:{port}/v1, or elsewhere what the variable holds."
    )
    env: Variable = Field(description="The environment variable that its address is put in, for api_base: env:NAME.")
    ready: Text = Field("/models", description="The path below the address that answers once it is up.")
    seconds: Annotated[float, Field(gt=0, le=86_400, strict=True)] | None = Field(
        None, description="How long to wait: 600 for one that is started, 10 for one that runs elsewhere."
    )


def _share(value: Any) -> Any:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value) if isinstance(value, str) else None
    if found is not None:
        return float(found[1]) / 100
    if isinstance(value, str):
        raise said("this is no share", "write 5%, or 0.05")
    return value


_UNITS = {"s": 1, "min": 60, "h": 3600}


def _duration(value: Any) -> Any:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h)", value) if isinstance(value, str) else None
    if found is not None:
        return float(found[1]) * _UNITS[found[2]]
    if isinstance(value, str):
        raise said("this is no length of time", "write 30s, 10min or 2h, or a number of seconds")
    return value


Percentage: TypeAlias = Annotated[
    float, Strict(), Field(ge=0, le=1), BeforeValidator(_share, json_schema_input_type=float | str)
]
Duration: TypeAlias = Annotated[
    float, Strict(), Field(ge=0, le=604_800), BeforeValidator(_duration, json_schema_input_type=float | str)
]


class LimitsText(Entry):
    """What an experiment may spend, and what it puts up with; nothing written is no limit."""

    calls: Annotated[Whole, Field(ge=0)] | None = None
    tokens: Annotated[Whole, Field(ge=0)] | None = None
    dollars: Annotated[float, Field(ge=0, strict=True)] | None = None
    seconds: Annotated[float, Field(gt=0, strict=True)] | None = None
    connections: Annotated[Whole, Field(ge=1, le=100_000)] = Field(
        16, description="The most calls in flight to one endpoint."
    )
    failed: Percentage = Field(0.05, description="The share of calls that may bring no reply, such as 5%.")
    wait: Duration = Field(0.0, description="How long to wait for a server that does not answer, such as 10min.")
