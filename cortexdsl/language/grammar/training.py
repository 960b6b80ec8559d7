"""`train:`: the debates to learn from, their questions, and the optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from cortexdsl.language.grammar.addresses import Place
from cortexdsl.language.grammar.entries import Name, Share, StrictEntry, Variable, Whole, invalid
from cortexdsl.language.grammar.questions import DatasetText

MAJORITY = "majority"
"""The `gold` of questions to learn from whose right answer is what their debates decide."""


def _to_learn_from(entry: DatasetText) -> DatasetText:
    if entry.size is None:
        raise invalid("it does not say how many questions to learn from", "write size: 200")
    if entry.ids:
        raise invalid("questions to learn from are drawn, so that none is asked", "write size: instead of ids:")
    return entry


class OptimiserText(StrictEntry):
    """How a model learns from pairs."""

    example: ClassVar[str] = "{loss: sft, rank: 256, rate: 5.0e-6}"
    hints: ClassVar[Mapping[str, str]] = {"learning_rate": "write rate: 5.0e-6", "lr": "write rate: 5.0e-6"}

    loss: Literal["dpo", "sft", "grpo"] = "dpo"
    """dpo learns from pairs; sft imitates good replies; grpo rewards replies that it draws while it trains."""
    nll: Annotated[float, Field(ge=0, le=1_000, strict=True)] = 1.0
    """The weight of the negative log-likelihood of the chosen replies."""
    beta: Annotated[float, Field(gt=0, le=1_000, strict=True)] = 0.1
    """The weight of staying close to the untrained model."""
    rank: Annotated[Whole, Field(ge=1, le=4_096)] = 256
    """The rank of the adapter (LoRA)."""
    rate: Annotated[float, Field(gt=0, le=1, strict=True)] = 5e-6
    """The learning rate."""
    epochs: Annotated[float, Field(gt=0, le=10_000, strict=True)] = 1.0
    """The number of passes over the pairs."""
    batch: Annotated[Whole, Field(ge=1, le=1_000_000)] = 8
    """The number of pairs per step; with grpo of prompts."""
    at_once: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """The number of pairs in memory at the same time. Default: all pairs of a step."""

    @property
    def settings(self) -> dict[str, Any]:
        """Its words."""
        return self.model_dump(mode="json")


class TrainText(StrictEntry):
    """A training from debates (ACC-Debate, Algorithm 1).

    Agents learn from pairs of replies. A guided reply is an extra reply whose prompt asks for a given answer.
    """

    example: ClassVar[str] = "{method: METHOD, questions: {size: 200}}"
    hints: ClassVar[Mapping[str, str]] = {
        "rounds": "the rounds are the method's",
        "opening": "remove it: guided replies begin at the opening",
        "protocol": "write method: NAME, a method of this spec; it says which protocol and which agents",
        **dict.fromkeys(OptimiserText.model_fields, "it goes under optimiser"),
        **dict.fromkeys(("size", "split"), "it goes under questions"),
    }

    method: Name
    """The method of this spec whose agents learn."""
    roles: Annotated[tuple[Variable, ...], Field(min_length=1)] = ("critic", "actor")
    """The roles that learn, in this order."""
    questions: Annotated[DatasetText, AfterValidator(_to_learn_from)]
    """The questions to learn from: a dataset, or keys of the experiment's dataset that are changed, such as split. None
    of them is a question of the experiment. With gold: majority, the answer of most debates counts as right."""
    validation: Annotated[Whole, Field(ge=0, le=100_000_000)] = 0
    """The number of further questions for validation."""
    samples: Annotated[Whole, Field(ge=1, le=10_000)] = 5
    """How many times a debate is continued from a reply, to estimate the value of the reply; with gold: majority or
    grpo, the number of whole debates of a question, and of replies that grpo compares."""
    threshold: Share = 0.2
    """The least difference of values between the two replies of a pair."""
    repeats: Annotated[Whole, Field(ge=1, le=100)] = 1
    """How many times all roles learn. ACC-Debate+ learns twice."""
    weights: Place | None = None
    """The folder with the model's weights, if a server runs the model."""
    optimiser: OptimiserText = Field(default_factory=lambda: OptimiserText.model_validate({}))
    """How the roles learn from pairs."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.roles)) < len(self.roles):
            raise invalid("a role is named twice", "name each once; repeats says how often they learn")
        if self.optimiser.loss == "grpo" and self.samples < 2:
            raise invalid("grpo compares several replies to one prompt, and samples is 1", "write samples: 8")
        return self

    @property
    def by_majority(self) -> bool:
        """Whether what the debates decide counts as right, instead of the gold answers."""
        return self.questions.gold == MAJORITY

    @property
    def is_guided(self) -> bool:
        """Whether guided replies are asked for: not if replies are right by a majority, or drawn while it trains."""
        return not self.by_majority and self.optimiser.loss != "grpo"
