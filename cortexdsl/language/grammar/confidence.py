"""The words of a method about confidence, of answers and debates, what is done if it is too low, and placebos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cortexdsl.core import PlaceboKind
from cortexdsl.language.grammar.entries import Name, OneOf, Share, StrictEntry, Text, Variable, Whole, invalid
from cortexdsl.language.grammar.expressions import expression

SAMPLES = 5
"""Number of further replies for `consistency` without a number."""


class ConsistencyForm(StrictEntry):
    """`{consistency: k}`: the share of k further replies to the same prompt that give the same answer."""

    example: ClassVar[str] = "{consistency: number of replies}"

    consistency: Annotated[Whole, Field(ge=1, le=100)]
    """The number of further replies."""


class VerifierForm(StrictEntry):
    """`{verifier: NAME}`: the score that the model NAME gives to the solution."""

    verifier: Name
    """The name of an entry of models."""


ConfidenceWord: TypeAlias = Literal["stated", "logprob", "consistency", "verifier"]
ConfidenceText: TypeAlias = Annotated[ConfidenceWord | ConsistencyForm | VerifierForm, OneOf()]


FORMER_DEBATE_CONFIDENCE = ("linear", "log_odds", "verifier")


def _refuse_former(value: Any) -> Any:
    """Refuse the words of earlier versions with what to write instead."""
    word = next(iter(value), "") if isinstance(value, dict) else value
    if word in FORMER_DEBATE_CONFIDENCE:
        remedy = "write weighted, or leave the key out: votes"
        if word == "verifier":
            remedy += "; confidence: verifier measures each answer"
        raise invalid(f"{word} is no longer a source of the confidence of a debate", remedy)
    return value


DebateConfidenceText: TypeAlias = Annotated[
    Literal["votes", "weighted"], BeforeValidator(_refuse_former, json_schema_input_type=Literal["votes", "weighted"])
]


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
