"""A whole spec: every section and key of it, and the JSON Schema of the language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema, TaggedUnionSchema

from cortexdsl.core import Correction, Limits, StoppingRule
from cortexdsl.language.grammar.core_words import FromCore
from cortexdsl.language.grammar.counterfactuals import WithoutText
from cortexdsl.language.grammar.entries import (
    Name,
    Number,
    OneOf,
    Positive,
    Share,
    StrictEntry,
    Text,
    Variable,
    Whole,
    invalid,
)
from cortexdsl.language.grammar.labels import LabelText
from cortexdsl.language.grammar.learned import LearnedText
from cortexdsl.language.grammar.methods import GridText, MethodText
from cortexdsl.language.grammar.protocol import ProtocolText
from cortexdsl.language.grammar.questions import AskedDataset, DatasetText, KnowledgeEntry
from cortexdsl.language.grammar.speakers import AgentText, ModelText, ToolText
from cortexdsl.language.grammar.spending import EngineEntry, LimitsEntry
from cortexdsl.language.grammar.training import TrainText
from cortexdsl.language.nodes import Route


class ServerText(StrictEntry):
    """A model server that the run starts and stops, or waits for if it has no command."""

    command: Text | None = None
    """The command line that starts the server. {port} becomes a free port. Without this key, you start the server
    yourself."""
    env: Variable
    """What models call the server: api_base: env:NAME. With a command, its address is http://127.0.0.1:{port}/v1;
    without, it is in your environment variable of this name."""


# ---------------------------------------------------------------- the analysis
CellsWord: TypeAlias = Literal["all", "grid"]
"""Sets of cells that a family may compare."""


class FamilyText(StrictEntry):
    """Comparisons whose p-values are corrected together: each of `compare` against `to`."""

    example: ClassVar[str] = "{compare: [METHODS], to: METHOD}"

    compare: Annotated[Text | Annotated[tuple[Text, ...], Field(min_length=1)], OneOf()]
    """Methods or cells, by name. all: all cells. grid: the cells of all grids. grid.SETTING: the cells of grids that
    vary this setting."""
    to: Text
    """The method or cell that they are compared to."""


class AnalysisText(StrictEntry):
    """Which metrics are computed, and which cells are compared."""

    metrics: Annotated[tuple[Name, ...], Field(min_length=1)] = ("accuracy",)
    """Metrics that are computed for each cell."""
    families: dict[Name, FamilyText] = Field(default_factory=dict)
    """Comparisons that are corrected together, by name."""
    correction: Correction = "holm"
    """How p-values of claims and families are corrected."""
    alpha: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.05
    """The significance level."""
    judge: Name | None = None
    """The entry of models that grades answers for the metric `judged`."""
    tournament: Annotated[tuple[Name, ...], Field(min_length=1)] = ()
    """Entries of models that compare the answers of each two cells, in both orders, so that cells are ranked."""


class ExpectedText(StrictEntry):
    """What you expect of the results, to compute the power of the claims before the run."""

    discordance: Share | None = None
    """The share of questions on which exactly one of two methods is right."""
    correlation: Annotated[float, Field(ge=-1, le=1, strict=True)] | None = None
    """How much replicates agree. 1: on each question, the difference between two methods is the same in all replicates,
    so more replicates add no power. Default: 1."""
    differences: dict[Text, Number] = Field(default_factory=dict)
    """The expected difference, for each claim or comparison; for a claim about one accuracy, the accuracy."""
    spread: dict[Text, Positive] = Field(default_factory=dict)
    """The standard deviation over questions, for each metric or claim."""
    power: Annotated[float, Field(gt=0, lt=1, strict=True)] | None = None
    """The least power, which is the probability to find a difference of the expected size: the run does not start if a
    claim has less. Default: 0.8 is reported, and the run starts anyway."""


# ---------------------------------------------------------------- the whole
Seed: TypeAlias = Annotated[Whole, Field(ge=0, lt=2**63)]


def _one_seed(value: Any) -> Any:
    if isinstance(value, list):
        remedy = f"write one number, and replicates: {max(1, len(value))} to debate each question so many times"
        raise invalid("an experiment has one seed, from which all draws derive", remedy)
    return value


def _agents(value: Any) -> Any:
    if isinstance(value, dict) and value and all(isinstance(model, str) for model in value.values()):
        entries = ", ".join(f"{{name: {name}, model: {model}}}" for name, model in value.items())
        raise invalid("agents are a list, so that they have an order", f"write [{entries}]")
    if isinstance(value, int) or (isinstance(value, list) and value and all(isinstance(each, str) for each in value)):
        raise invalid(
            "agents are listed, each with a name and a model", "write agents: [{name: ann, model: NAME}, ...]"
        )
    return value


_Agents: TypeAlias = Annotated[tuple[AgentText, ...], Field(min_length=1, max_length=1_000)]


class SpecText(StrictEntry):
    """An experiment on debating language models."""

    hints: ClassVar[Mapping[str, str]] = {
        "protocol": "write methods: {NAME: {protocol: ...}}",
        "claims": "claims are listed under `hypotheses`",
        "claim": "claims are listed under `hypotheses`",
        "seeds": "one seed, and how often each question is debated: seed: 1 and replicates: 5",
        "samples": "write replicates: 5, or methods: {NAME: {protocol: self-consistency, samples: 5}}",
        "questions": "write dataset: {name: ..., size: ...}",
        "cells": "a cell is a method with its settings: write methods: {...} and, to vary a setting, grid: {...}",
        "metrics": "write analysis: {metrics: [...]}",
        "families": "write analysis: {families: {...}}",
    }

    title: Text = ""
    """The question that the experiment asks."""
    seed: Annotated[Seed, BeforeValidator(_one_seed, json_schema_input_type=Seed)] = 0
    """Every random choice derives from this number: samples of questions, seeds of calls, and draws."""
    replicates: Annotated[Whole, Field(ge=1, le=10_000)] = 1
    """How often each question is debated."""
    dataset: AskedDataset | None = None
    """The questions: a listed dataset, your own file, or a dataset of the Hugging Face hub."""
    datasets: Annotated[dict[Name, AskedDataset], Field(min_length=1)] | None = None
    """Several datasets instead of one, each with a label."""
    models: Annotated[dict[Name, ModelText], Field(min_length=1)]
    """Models, each with the name that agents use."""
    agents: Annotated[_Agents, BeforeValidator(_agents, json_schema_input_type=_Agents)]
    """The agents, each with a model."""
    teams: dict[
        Name,
        Annotated[
            Literal["everyone"] | Annotated[tuple[Name, ...], Field(min_length=1, max_length=1_000)],
            OneOf(),
        ],
    ] = Field(default_factory=dict)
    """Named lists of agents. An agent may be listed twice."""
    methods: Annotated[dict[Name, MethodText], Field(min_length=1)]
    """Methods to compare: protocols with settings, each with a name."""
    grid: GridText = Field(default_factory=dict)
    """For each method, the settings that vary, and their values. Each combination of values is a cell. A list has
    several grids of the method."""
    analysis: AnalysisText = Field(default_factory=lambda: AnalysisText.model_validate({}))
    """Metrics, comparisons, and how p-values are corrected."""
    hypotheses: tuple[Text, ...] = ()
    """Claims to test, such as accuracy(a) > accuracy(b)."""
    labels: dict[Variable, LabelText] = Field(default_factory=dict)
    """Labels of the turns of finished debates, by name: built-in, a rule such as `changed and not heard`, or a prompt
    for the judge of analysis."""
    whatif: dict[Text, WithoutText] = Field(default_factory=dict)
    """By cell, what is left out of its finished debates, to see what changes: agent=NAME leaves out this agent, and the
    word agent alone each agent in turn. edge, round and step work alike."""
    train: dict[Name, TrainText] = Field(default_factory=dict)
    """Trainings from debates, by name. A model trained/NAME/ROLE uses the result."""
    learned: dict[Variable, LearnedText] = Field(default_factory=dict)
    """Functions that are fitted on debates about other questions, by name. Expressions use one as learned(NAME)."""
    limits: LimitsEntry = Limits()
    """What the experiment may spend."""
    protocols: dict[Name, ProtocolText] = Field(default_factory=dict)
    """Your own protocols, by name."""
    knowledge: dict[Name, KnowledgeEntry] = Field(default_factory=dict)
    """Sources of passages, by name."""
    tools: dict[Name, ToolText] = Field(default_factory=dict)
    """Tools that speak in debates, by name. They call no model."""
    servers: dict[Name, ServerText] = Field(default_factory=dict)
    """Model servers that the run starts or waits for."""
    engines: dict[Name, EngineEntry] = Field(default_factory=dict)
    """Programs that answer the calls of models in files."""
    expected: ExpectedText | None = None
    """What you expect of the results, for estimates of power and cost."""
    stopping: Annotated[StoppingRule, FromCore()] | None = None
    """Stop the run when the claims are decided."""
    shard_size: Annotated[Whole, Field(ge=1)] | None = None
    """The number of questions per job. Default: the first run chooses it."""
    extends: Text | tuple[Text, ...] | None = None
    """A file or files that this spec builds on."""

    @property
    def asked(self) -> list[tuple[Route, DatasetText]]:
        """The datasets whose questions are asked, each with its route."""
        named: list[tuple[Route, DatasetText]] = [
            (("datasets", label), entry) for label, entry in (self.datasets or {}).items()
        ]
        return named if self.dataset is None else [(("dataset",), self.dataset), *named]

    @model_validator(mode="after")
    def _questions(self) -> Self:
        if (self.dataset is None) == (self.datasets is None):
            raise invalid("a spec has either dataset or datasets", "write dataset: {name: arithmetic, size: 100}")
        return self


DIALECT = "https://json-schema.org/draft/2020-12/schema"
Kind: TypeAlias = Literal["spec", "protocol"]


class _SchemaWriter(GenerateJsonSchema):
    """Describes keys. Writes unions as `anyOf`: a value may look like two members, such as an agent called `say`."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        for key, text in schema["cls"].descriptions().items():
            made["properties"][key].setdefault("description", text)
        return made

    def tagged_union_schema(self, schema: TaggedUnionSchema) -> JsonSchemaValue:
        made = super().tagged_union_schema(schema)
        return {"anyOf" if key == "oneOf" else key: value for key, value in made.items()}


def json_schema(kind: Kind, *, is_alone: bool = False) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a spec or of a protocol file.

    It knows every key, word and bound; what needs several sections at once (names that must exist, counts against
    the number of agents) is for `cortexdsl check` alone. A spec that extends others may leave sections, and keys of
    their named entries, to them; with `is_alone` these entries have all keys that they need.
    """
    entry = SpecText if kind == "spec" else ProtocolText
    schema = entry.model_json_schema(by_alias=True, mode="validation", schema_generator=_SchemaWriter)
    if kind == "spec":
        schema["anyOf"] = [{"required": ["extends"]}, {"required": schema.pop("required")}]
        for section in () if is_alone else schema["properties"].values():
            for entry_of_name in section.get("patternProperties", {}).values():
                if "$ref" in entry_of_name:
                    schema["$defs"][entry_of_name["$ref"].rpartition("/")[2]].pop("required", None)
    return {"$schema": DIALECT, **schema, "title": f"cortexdsl {kind}"}
