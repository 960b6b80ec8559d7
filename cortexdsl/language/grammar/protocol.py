"""A protocol: who speaks, the schedule, the decision, the roles, and recalibration.

Any value may be `$name`, a setting that a method may set; a count or a weight may contain one. The same types
validate a protocol before and after its settings have values.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cortexdsl.core import Bin, Decide, Method
from cortexdsl.engine.decisions import DECISION_RULES
from cortexdsl.language.grammar.core_words import with_words_of
from cortexdsl.language.grammar.entries import (
    NAME,
    Name,
    Number,
    OneOf,
    Plain,
    Setting,
    Share,
    StrictEntry,
    Text,
    Variable,
    Whole,
    invalid,
    listed,
    number,
)
from cortexdsl.language.grammar.expressions import Ballot
from cortexdsl.language.grammar.hears import HearsText
from cortexdsl.language.grammar.schedule import EndsText, ItemText
from cortexdsl.language.grammar.steps import StepText


def three_steps(high: float, middle: float, low: float) -> tuple[Bin, ...]:
    """Return CortexDebate's bins (Eq. 2): >= high is high, [middle, high) middle, [low, middle) kept, the rest low."""
    edges = (
        Bin(high, 1.0, high, high_closed=True),
        Bin(middle, high, middle),
        Bin(low, middle, None),
        Bin(0.0, low, low),
    )
    return tuple(bin_ for bin_ in edges if bin_.low < bin_.high or bin_.high_closed)


NAMED_BINS: dict[str, tuple[Bin, ...]] = {
    "none": (),
    "cortexdebate": three_steps(0.8, 0.6, 0.3),
    "reconcile": (
        Bin(1.0, 1.0, 1.0, high_closed=True),
        Bin(0.9, 1.0, 0.8),
        Bin(0.8, 0.9, 0.5),
        Bin(0.6, 0.8, 0.3, low_open=True),
        Bin(0.0, 0.6, 0.1, high_closed=True),
    ),
}
"""Sun et al. 2025 (arXiv 2507.03928), Algorithm 1; Chen et al. 2023 (arXiv 2309.13007), section 3."""


class StepsForm(StrictEntry):
    """`{steps: [a, b, c]}`: confidences are corrected by three thresholds.

    With `[0.8, 0.6, 0.3]`, confidences from 0.8 become 0.8. From 0.6 to 0.8 they become 0.6. From 0.3 to 0.6 they
    stay. Below 0.3 they become 0.3.
    """

    steps: Annotated[tuple[Share, ...], Field(min_length=3, max_length=3)]
    """Three thresholds, the highest first."""

    @model_validator(mode="after")
    def _falling(self) -> Self:
        if not self.steps[0] >= self.steps[1] >= self.steps[2]:
            raise invalid(
                f"steps {list(self.steps)} rise", "write them from the highest to the lowest: [0.8, 0.6, 0.3]"
            )
        return self

    def value(self) -> tuple[Bin, ...]:
        """Return the bins, the highest first."""
        return three_steps(*self.steps)


class BinText(StrictEntry):
    """One bin: `{from: 0.6, to: 0.8, value: 0.6}`. Write one lower and one upper bound."""

    from_: Share | None = Field(None, alias="from")
    """The lower bound; it belongs to the bin."""
    above: Share | None = None
    """The lower bound; it does not belong to the bin."""
    to: Share | None = None
    """The upper bound; it does not belong to the bin. But the highest bin contains 1."""
    through: Share | None = None
    """The upper bound; it belongs to the bin."""
    value: Annotated[
        Share | Literal["keep"],
        OneOf(),
    ]
    """What a confidence in the bin becomes. keep: it stays as it is."""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if (self.from_ is None) == (self.above is None):
            raise invalid("a bin has one lower bound", "write from: x (x is in the bin) or above: x (it is not)")
        if (self.to is None) == (self.through is None):
            raise invalid("a bin has one upper bound", "write to: x (x is not in the bin) or through: x (it is)")
        bin_ = self.bin()
        if bin_.low > bin_.high or (bin_.low == bin_.high and (bin_.low_open or not bin_.high_closed)):
            raise invalid("the bin is empty", "its lower bound lies below its upper bound")
        return self

    def bin(self) -> Bin:
        """Return the bin."""
        low = self.from_ if self.from_ is not None else self.above
        high = self.to if self.to is not None else self.through
        assert low is not None
        assert high is not None
        value = None if isinstance(self.value, str) else self.value
        return Bin(low, high, value, low_open=self.above is not None, high_closed=self.through is not None)


class BinsForm(StrictEntry):
    """`{bins: [...]}`: a value for each range of confidences. The ranges cover 0 to 1 without gaps or overlaps."""

    example: ClassVar[str] = "{bins: [{from, to, value}]}"

    bins: Annotated[tuple[BinText, ...], Field(min_length=1, max_length=1_000)]
    """The bins, in any order."""

    @model_validator(mode="after")
    def _cover(self) -> Self:
        rising = self.value()[::-1]
        if rising[0].low > 0 or rising[0].low_open:
            raise invalid(f"no bin holds 0; the lowest begins at {rising[0].low:g}", "bins cover [0, 1]")
        if not rising[-1].high_closed:
            raise invalid(f"no bin holds 1; the highest ends at {rising[-1].high:g}", "bins cover [0, 1]")
        for lower, upper in pairwise(rising):
            if lower.high < upper.low or (lower.high == upper.low and not lower.high_closed and upper.low_open):
                raise invalid(f"no bin holds what lies between {lower.high:g} and {upper.low:g}", "bins leave no hole")
            if lower.high > upper.low or (lower.high_closed and not upper.low_open):
                raise invalid(f"two bins hold {upper.low:g}", "bins do not overlap")
        return self

    def value(self) -> tuple[Bin, ...]:
        """Return the bins, the highest first; the highest `to: 1` holds 1."""
        bins = sorted((bin_.bin() for bin_ in self.bins), key=lambda b: (b.low, not b.low_open, b.high), reverse=True)
        top = bins[0]
        if top.high == 1.0 and not top.high_closed:
            bins[0] = Bin(top.low, 1.0, top.value, top.low_open, high_closed=True)
        return tuple(bins)


RecalibrationWord: TypeAlias = Literal["none", "cortexdebate", "reconcile"]
RecalibrationText: TypeAlias = Annotated[
    RecalibrationWord | Setting | StepsForm | BinsForm,
    OneOf(),
]


def bins(recalibration: str | StepsForm | BinsForm) -> tuple[Bin, ...]:
    """Return the bins that a validated `recalibration:` means."""
    return NAMED_BINS[recalibration] if isinstance(recalibration, str) else recalibration.value()


Tie: TypeAlias = Literal["confidence", "none"]
_CONFIDENCE = "confidence: the answer with the highest sum of confidences wins."
_DEBATERS = "confidence: the answer that the most debaters gave wins."
_NONE = (
    "none: if all last answers differ, the debate has no answer. Other ties are decided by the rule of `confidence`."
)


# ---------------------------------------------------------------- the decision
_RULES = tuple(name for name, rule in DECISION_RULES.items() if rule.is_word)


class BallotForm(StrictEntry):
    """`{vote: EXPRESSION}`: each answer of each round has as many votes as EXPRESSION says."""

    example: ClassVar[str] = "{vote: weight of an answer}"

    vote: Ballot
    """An expression with a value for each answer."""


class TrimmedForm(StrictEntry):
    """`{trimmed: share}`: the mean of the answers that are numbers, without this share at each end."""

    trimmed: Annotated[Annotated[Number, Field(ge=0, le=0.5)] | Setting, OneOf()]
    """The share of the answers that is left out at each end: 0 gives the mean, 0.5 the median."""


def _role_or_rule(value: str) -> str:
    if not re.fullmatch(NAME, value):
        raise invalid("this is neither a rule nor a role", f"write {{vote: {value}}} if answers have so many votes")
    return value


def _ordered(value: tuple[str, ...]) -> tuple[str, ...]:
    role, *others = value
    if role in (*_RULES, "none") or len(others) != 1 or others[0] not in (*_RULES, "none"):
        rules = ", ".join((*_RULES, "none"))
        raise invalid(
            "a list names a role and the rule if it gave no answer", f"write [judge, majority]; rules: {rules}"
        )
    return value


DecideWord: TypeAlias = Literal[(*_RULES, "median")]  # type: ignore[valid-type]
DecideText: TypeAlias = Annotated[
    DecideWord
    | Setting
    | Annotated[Text, AfterValidator(_role_or_rule)]
    | Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(_ordered)]
    | BallotForm
    | TrimmedForm,
    OneOf("ROLE", "[ROLE, rule]"),
]


def deciding_role(text: ProtocolText) -> tuple[str, str | None] | None:
    """Return the role whose last answer decides, and the rule if it gave none; None if no role decides."""
    if isinstance(text.decide, tuple):
        return text.decide[0], text.decide[1]
    if isinstance(text.decide, str) and text.decide not in get_args(DecideWord) and "$" not in text.decide:
        return text.decide, None
    return None


def decision(text: ProtocolText) -> Decide:
    """Return what a validated `decide:` means, once settings have their values."""
    if (deciding := deciding_role(text)) is not None:
        role, otherwise = deciding
        if otherwise in (None, "none"):
            return Decide("last", role)
        return Decide("last", role, tie=text.tie, otherwise=otherwise)  # type: ignore[arg-type]
    match text.decide:
        case BallotForm(vote=weight):
            return Decide("vote", tie=text.tie, weight=weight)  # type: ignore[arg-type]
        case "median":
            return Decide("trimmed", share=0.5)
        case TrimmedForm(trimmed=share):
            return Decide("trimmed", share=number(share))
        case rule:
            return Decide(rule, tie=text.tie)  # type: ignore[arg-type]


# ---------------------------------------------------------------- roles
class ModelForm(StrictEntry):
    """`{model: NAME}`: an extra agent with this model. It has the name of the role."""

    model: Name
    """The name of an entry of models."""
    persona: Text | None = None
    """The system message: a role or a manner."""


class ToolForm(StrictEntry):
    """`{tool: NAME}`: a tool of the spec instead of an agent. It has the name of the role."""

    tool: Annotated[Name | Setting, OneOf()]
    """The name of an entry of tools."""


RoleWord: TypeAlias = Literal["everyone", "extra"]
RoleText: TypeAlias = Annotated[
    RoleWord
    | Setting
    | Annotated[Whole, Field(ge=1)]
    | Annotated[tuple[Name, ...], Field(min_length=1)]
    | ModelForm
    | ToolForm,
    OneOf("the number of an agent", "[agent names]"),
]


# ---------------------------------------------------------------- the whole
@with_words_of(Method, settable=True)
class ProtocolText(StrictEntry):
    """A debate protocol: its roles, its kinds of turns, their order, and the decision."""

    example: ClassVar[str] = "{steps: ..., schedule: ..., decide: ...}"

    title: Text = ""
    """A title for readers."""
    source: Text | None = None
    """Where the method was published."""
    settings: dict[Variable, Plain] = Field(default_factory=dict)
    """The names that methods may set and grids may vary, each with its default."""
    roles: Annotated[dict[Variable, RoleText], Field(min_length=1)] = Field({"debater": "everyone"})
    """The agents of each role."""
    voters: Annotated[tuple[Name, ...], BeforeValidator(listed, json_schema_input_type=Name | tuple[Name, ...])] = ()
    """The roles whose answers are the votes. Rounds count only these answers. Default: the role of the first step that
    reads an answer."""
    topologies: dict[Variable, HearsText] = Field(default_factory=dict)
    """Names for values of `hears`, which settings may have instead."""
    steps: Annotated[dict[Variable, StepText], Field(min_length=1)]
    """The kinds of turns, each with a name."""
    schedule: Annotated[tuple[ItemText, ...], Field(min_length=1)]
    """The steps in their order, with loops, choices and cases."""
    decide: DecideText
    """How the answer of a debate is chosen."""
    ends: EndsText | None = None
    """The largest number of rounds."""
    recalibration: RecalibrationText = "none"
    """How stated confidences are corrected before weights and votes use them."""
    similarity: Text = "ngram"
    """How the similarity of two replies is measured. ngram: by the words and characters that they share. asked: a
    model states it, in a step with `reads: similarity`. Or write an embedding model, sentence-transformers/NAME or
    nli/NAME."""
    tie: Annotated[Tie | Setting, OneOf()] = Field(
        "confidence",
        description=f"How a tie is decided. {_CONFIDENCE} With `weighted`, the answer that most debaters gave. {_NONE}",
    )
