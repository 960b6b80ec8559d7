"""Where the confidence of an answer comes from, as it is written: a word, or a word with a value."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field, Tag

from cortexdsl.spec.grammar.values.words import Entry, Name, Whole, one_of

SAMPLES = 5
"""Further replies, where `consistency` says no number."""


class ConsistencyForm(Entry):
    """`{consistency: k}`: k further replies to the same prompt; the share of them that give the same answer."""

    consistency: Annotated[Whole, Field(ge=1, le=100)]


class VerifierForm(Entry):
    """`{verifier: NAME}`: a model of the spec is asked whether the answer is right."""

    verifier: Name


ConfidenceWord: TypeAlias = Literal["stated", "logprob", "consistency", "verifier"]
ConfidenceText: TypeAlias = Annotated[
    Annotated[ConfidenceWord, Tag("<word>")]
    | Annotated[ConsistencyForm, Tag("<consistency>")]
    | Annotated[VerifierForm, Tag("<verifier>")],
    one_of(
        get_args(ConfidenceWord),
        {"consistency": "{consistency: number of replies}", "verifier": "{verifier: MODEL}"},
    ),
]


class ConfidenceEntry(Entry):
    """The one word of a method, so that a value of a grid is checked as one of a method."""

    confidence: ConfidenceText
