"""The words of a method about confidence, of answers and debates, what is done if it is too low, and placebos."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from cortexdsl.core import STATED, Measure, PlaceboKind
from cortexdsl.language.grammar.core_words import WrittenAs
from cortexdsl.language.grammar.entries import OneOf, Share, StrictEntry, Text, Variable, invalid
from cortexdsl.language.grammar.expressions import expression
from cortexdsl.language.nodes import shown

PROMPT = "common/verify.j2"
_MEASURES = {
    "stated": STATED,
    "logprob": Measure("logprob"),
    "verifier": Measure("verifier", prompt=PROMPT),
}


def _measure(text: str) -> Measure | MeasureBy:
    """Return what `consistency(9)` or `verifier(MODEL)` means."""
    written = re.fullmatch(r"(consistency|verifier)\(\s*([^()\s]+)\s*\)", text)
    if written is not None and written[1] == "verifier":
        return MeasureBy(written[2])
    if written is not None and re.fullmatch(r"[1-9]\d?|100", written[2]):
        return Measure("consistency", int(written[2]))
    remedy = f"allowed: {', '.join(_MEASURES)}, consistency(5) with 1 to 100 replies, verifier(MODEL)"
    raise invalid(f"{shown(text)} is not a source of confidence", remedy)


@dataclass(frozen=True, slots=True)
class MeasureBy:
    """A verifier that is an entry of models, by its name."""

    model: str


_Measure: TypeAlias = Annotated[
    Annotated[Literal["stated", "logprob", "verifier"], AfterValidator(_MEASURES.__getitem__)]
    | Annotated[Text, AfterValidator(_measure)],
    OneOf("consistency(5)", "verifier(MODEL)"),
]
ConfidenceText: TypeAlias = Annotated[Measure | MeasureBy, WrittenAs(_Measure)]


DebateConfidenceText: TypeAlias = Literal["votes", "weighted"]


class DeferText(StrictEntry):
    """`{below: 0.7, to: METHOD}`: hand the question on if the debate is less sure than 0.7.

    `{where: CONDITION, to: METHOD}`: hand it on if the condition holds at the end of the debate.
    """

    example: ClassVar[str] = "{below: 0.7, to: METHOD}"
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("above", "threshold", "confidence"), "write below: and the confidence that is enough"),
        **dict.fromkeys(("method", "then", "else"), "write to: and the method that answers instead"),
    }

    below: Annotated[Share, Field(gt=0)] | None = None
    """The question is handed on if the confidence of the debate is below this number, or unknown."""
    where: Annotated[Text, AfterValidator(expression("condition"))] | None = None
    """The question is handed on if this condition on the finished debate holds."""
    to: Text
    """The method that answers instead: its name, or METHOD[SETTING=VALUE]."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.below is None) == (self.where is None):
            raise invalid("one rule says which questions are handed on", "write below: or where:")
        return self


PlaceboText: TypeAlias = Annotated[
    PlaceboKind | Annotated[dict[Variable, PlaceboKind], Field(min_length=1)],
    OneOf(),
]
