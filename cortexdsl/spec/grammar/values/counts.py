"""Whole numbers of agents, samples and rounds, which a setting may give."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field, Tag

from cortexdsl.spec.grammar.values.words import SETTING_OR_VALUE, Asked, Whole

MOST = 10_000
"""The largest count that the language takes: agents, groups, samples, rounds."""

AtLeastOne: TypeAlias = Annotated[Whole, Field(ge=1, le=MOST)]
Count: TypeAlias = Annotated[Annotated[AtLeastOne, Tag("<value>")] | Asked, SETTING_OR_VALUE]
MaybeNone: TypeAlias = Annotated[Annotated[Whole, Field(ge=0, le=MOST), Tag("<value>")] | Asked, SETTING_OR_VALUE]


def number(value: int | float | str) -> float:
    """Return a number whose settings have all been put in."""
    assert not isinstance(value, str), value
    return value
