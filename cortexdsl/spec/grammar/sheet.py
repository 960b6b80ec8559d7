"""A spec as it is written: every section, every key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from cortexdsl.spec.grammar.protocols.protocol import ProtocolText, RoleText
from cortexdsl.spec.grammar.protocols.steps import PromptText
from cortexdsl.spec.grammar.sections.confidence import ConfidenceText
from cortexdsl.spec.grammar.sections.limits import LimitsText, ServerText
from cortexdsl.spec.grammar.sections.sources import DatasetText, KnowledgeText
from cortexdsl.spec.grammar.sections.speakers import AgentText, ModelText, ToolText
from cortexdsl.spec.grammar.sections.training import TrainText
from cortexdsl.spec.grammar.sections.whatif import WhatifText
from cortexdsl.spec.grammar.values.words import (
    Entry,
    Flag,
    Name,
    Number,
    Plain,
    Positive,
    Share,
    Text,
    Variable,
    Whole,
    said,
)

Correction: TypeAlias = Literal["holm", "hommel", "bh", "by", "none"]


# ---------------------------------------------------------------- methods
class MatchText(Entry):
    """The budget that a method is matched to: `{calls: METHOD}` or `{tokens: METHOD}`."""

    calls: Text | None = None
    tokens: Text | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.calls is None) == (self.tokens is None):
            raise said("match takes one budget", "write {calls: METHOD} or {tokens: METHOD}")
        return self


class MethodText(Entry, extra="allow"):
    """A protocol (or a method to begin from) and settings of it; other keys are settings of the protocol."""

    example: ClassVar[str] = "{protocol: NAME}"

    protocol: Text | None = Field(None, description="A protocol's name, or ./FILE.yaml beside the spec.")
    like: Name | None = Field(None, description="The method whose settings this one changes.")
    match: MatchText | None = Field(None, description="Choose samples so that it costs what a method costs.")
    team: Name | None = Field(None, description="The team that debates; else every agent.")
    agents: Annotated[tuple[Name, ...], Field(min_length=1)] | None = Field(None, description="Or agents by name.")
    roles: dict[Variable, RoleText] = Field(default_factory=dict, description="Roles, bound otherwise.")
    prompts: dict[Variable, PromptText] = Field(default_factory=dict, description="Steps, and other templates.")
    confidence: ConfidenceText = Field("stated", description="Where the confidence of an answer comes from.")

    @model_validator(mode="after")
    def _source(self) -> Self:
        if (self.protocol is None) == (self.like is None):
            raise said(
                "a method has either a protocol or another method to be like", "write protocol: NAME or like: METHOD"
            )
        if self.team is not None and self.agents is not None:
            raise said("a method has either a team or agents", "remove one of them")
        return self


METHOD_WORDS = tuple(MethodText.model_fields)
"""What a method may say besides settings; no protocol may call a setting so."""


# ---------------------------------------------------------------- the grid
def _values(value: Any) -> Any:
    if isinstance(value, list) and not value:
        raise said("an axis has no values", "list at least one")
    return value


AxesText: TypeAlias = Annotated[
    dict[Text, Annotated[tuple[Plain, ...], BeforeValidator(_values, json_schema_input_type=list[Plain])]],
    Field(min_length=1),
]


class VaryText(Entry):
    """One grid: every combination of the values of its axes."""

    example: ClassVar[str] = "{method: NAME, vary: {AXIS: [VALUES]}}"

    method: Name
    vary: AxesText


GridText: TypeAlias = Annotated[
    Annotated[dict[Name, AxesText], Tag("<mapping>")] | Annotated[tuple[VaryText, ...], Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<mapping>"),
]


# ---------------------------------------------------------------- the analysis
class FamilyText(Entry):
    """Comparisons that belong together: each of `compare` against `to`, p adjusted at once."""

    example: ClassVar[str] = "{compare: [METHODS], to: METHOD}"

    compare: Annotated[
        Annotated[Text, Tag("<word>")] | Annotated[tuple[Text, ...], Field(min_length=1), Tag("<names>")],
        Discriminator(lambda value: "<names>" if isinstance(value, list) else "<word>"),
    ] = Field(description="Names of methods and cells; or all, grid, grid.AXIS.")
    to: Text = Field(description="The method or cell that they are compared to.")
    correction: Correction | None = None


class JudgeText(Entry):
    """The model that judges free answers."""

    model: Name


class AnalysisText(Entry):
    """What is measured and compared."""

    metrics: Annotated[tuple[Name, ...], Field(min_length=1)] = ("accuracy",)
    families: dict[Name, FamilyText] = Field(default_factory=dict)
    correction: Correction = Field("holm", description="Of families that name none, and of the hypotheses.")
    alpha: Annotated[float, Field(gt=0, lt=1, strict=True)] = Field(0.05, description="The error a verdict may have.")
    judge: JudgeText | None = None


class StoppingText(Entry):
    """Stop when every claim is decided, looking after each batch of questions."""

    rule: Literal["together", "racing"] = Field("together", description="Whether cells stop together, or one by one.")
    batch: Annotated[Whole, Field(ge=1)] = Field(50, description="Questions between two looks.")
    fewest: Annotated[Whole, Field(ge=1)] = Field(50, description="Questions before the first look.")
    alpha: Annotated[float, Field(gt=0, lt=1, strict=True)] | None = None


class ExpectedText(Entry):
    """What is expected before the run, for power."""

    discordance: Share | None = Field(None, description="Share of questions on which two methods differ.")
    correlation: Annotated[float, Field(ge=-1, le=1, strict=True)] | None = None
    accuracy: (
        Annotated[
            Annotated[Share, Tag("<value>")] | Annotated[dict[Text, Share], Tag("<mapping>")],
            Discriminator(lambda value: "<mapping>" if isinstance(value, dict) else "<value>"),
        ]
        | None
    ) = Field(None, description="Of every cell, or by cell.")
    differences: dict[Text, Number] = Field(default_factory=dict)
    spread: dict[Text, Positive] = Field(
        default_factory=dict, description="Standard deviation over questions, by metric or claim."
    )
    power: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.8
    refuse: Flag = False
    reply_tokens: Annotated[Whole, Field(ge=1, le=10_000_000)] = Field(200, description="Assumed length of a reply.")


# ---------------------------------------------------------------- the whole
Seed: TypeAlias = Annotated[Whole, Field(ge=0, lt=2**63)]


def _one_seed(value: Any) -> Any:
    if isinstance(value, list):
        remedy = f"write one number, and replicates: {max(1, len(value))} to debate each question so many times"
        raise said("an experiment has one seed, from which all draws derive", remedy)
    return value


class SpecText(Entry):
    """An experiment on debating language models."""

    hints: ClassVar[Mapping[str, str]] = {
        "protocol": "write methods: {NAME: {protocol: ...}}",
        "rounds": "rounds is a setting of a method: methods: {NAME: {protocol: ..., rounds: 5}}",
        "metrics": "write analysis: {metrics: [...]}",
        "families": "write analysis: {families: {...}}",
    }

    title: Text = Field("", description="The question that the experiment asks.")
    seed: Annotated[Seed, BeforeValidator(_one_seed, json_schema_input_type=Seed)] = 0
    replicates: Annotated[Whole, Field(ge=1, le=10_000)] = 1
    dataset: DatasetText | None = None
    datasets: Annotated[dict[Name, DatasetText], Field(min_length=1)] | None = None
    models: Annotated[dict[Name, ModelText], Field(min_length=1)]
    agents: Annotated[tuple[AgentText, ...], Field(min_length=1, max_length=1_000)]
    teams: dict[
        Name,
        Annotated[
            Annotated[Literal["everyone"], Tag("<word>")]
            | Annotated[tuple[Name, ...], Field(min_length=1, max_length=1_000), Tag("<names>")],
            Discriminator(lambda value: "<word>" if isinstance(value, str) else "<names>"),
        ],
    ] = Field(default_factory=dict)
    methods: Annotated[dict[Name, MethodText], Field(min_length=1)]
    grid: GridText = Field(default_factory=dict)
    analysis: AnalysisText = Field(default_factory=lambda: AnalysisText.model_validate({}))
    hypotheses: tuple[Text, ...] = ()
    whatif: dict[Text, WhatifText] = Field(
        default_factory=dict, description="Counterfactuals, by the cell whose debates they branch from."
    )
    train: dict[Name, TrainText] = Field(
        default_factory=dict, description="Debates to learn from; models name what comes out by trained: NAME."
    )
    limits: LimitsText = Field(default_factory=lambda: LimitsText.model_validate({}))
    protocols: dict[Name, ProtocolText] = Field(default_factory=dict)
    knowledge: dict[Name, KnowledgeText] = Field(default_factory=dict)
    tools: dict[Name, ToolText] = Field(default_factory=dict, description="Speakers without a model.")
    servers: dict[Name, ServerText] = Field(default_factory=dict)
    expected: ExpectedText | None = None
    stopping: StoppingText | None = None
    shard_size: Annotated[
        Annotated[Literal["auto"], Tag("<word>")] | Annotated[Whole, Field(ge=1), Tag("<value>")],
        Discriminator(lambda value: "<word>" if isinstance(value, str) else "<value>"),
    ] = Field("auto", description="Questions per job.")
    extends: Text | tuple[Text, ...] | None = Field(None, description="Files that this one builds on.")

    @model_validator(mode="after")
    def _questions(self) -> Self:
        if (self.dataset is None) == (self.datasets is None):
            raise said("a spec has either dataset or datasets", "write dataset: {name: arithmetic, size: 100}")
        return self
