"""The cells of an experiment, their comparisons, limits and early stopping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from cortexdsl.core.protocol import Method
from cortexdsl.core.types import Scalar, word

Correction: TypeAlias = Literal["holm", "bh", "none"]
"""How the p-values of a family are adjusted together (see `cortexdsl.stats.inference.families.adjust`)."""
Retriever: TypeAlias = Literal["bm25", "dense", "search"]
FALSE_DISCOVERY: frozenset[str] = frozenset({"bh"})
"""Corrections that control the false discovery rate; the others control the error of the whole family."""


@dataclass(frozen=True, slots=True)
class Match:
    """The budget that a cell is matched to: what another method's cell spends on each question.

    Attributes
    ----------
    unit : str
        A metric that is a budget; `tokens` is short for `total_tokens`.
    cell : str
        The cell whose budget it is.
    grow : str
        The setting that grows: of the protocol, or `models.NAME.KEY` for one long thought. Empty: samples, by the rule
        for calls and tokens that needs no search.
    values : tuple
        The values of the setting that are tried, in growing order; empty: whole numbers.
    """

    unit: str
    cell: str
    grow: str = ""
    values: tuple[Scalar, ...] = ()

    @property
    def metric(self) -> str:
        """The metric that measures the budget."""
        return "total_tokens" if self.unit == "tokens" else self.unit

    @property
    def is_thought(self) -> bool:
        """Whether one reply grows, by a limit of tokens in the requests to a model."""
        return self.grow.startswith("models.") and not self.values

    def __str__(self) -> str:
        values = f" ({', '.join(map(str, self.values))})" if self.values else ""
        return f"{self.unit} of {self.cell}" + (f" by {self.grow}{values}" if self.grow else "")


@dataclass(frozen=True, slots=True)
class GrowthStep:
    """A method at one value of the setting that grows."""

    value: Scalar
    method: Method


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm of the experiment: a method at one point of its grid.

    Attributes
    ----------
    name : str
        `sparse[keep=median, recalibration=none]`, or the method's name alone.
    slug : str
        The name as a file name: `sparse~keep=median~recalibration=none`.
    method : str
        The method's name in the spec.
    aliases : tuple of str
        Names of other grid points with equal resolved settings.
    settings : mapping
        Settings of the protocol at this point, defaults included.
    axes : mapping
        The grid axes and their values at this point; empty for a base method.
    debate : Method
        What its debates run.
    digest : str
        Changes if and only if something changes that can change the cell's records.
    match : Match or None
    steps : tuple of GrowthStep
        Of a matched cell whose setting grows through known values; `debate` is the method of the last one.
    """

    name: str
    slug: str
    method: str
    aliases: tuple[str, ...]
    settings: Mapping[str, Any]
    axes: Mapping[str, Any]
    debate: Method
    digest: str
    match: Match | None = None
    steps: tuple[GrowthStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Comparisons of each cell of `compare` with `to`, on each metric; their p values are adjusted together."""

    name: str
    compare: tuple[str, ...]
    to: str
    correction: Correction = "holm"


YES_OR_NO = ("yes", "no")
"""The values of a label that a turn has or does not have."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label of the turns of finished debates.

    Attributes
    ----------
    name : str
    where : str
        The turns that the label is about, an expression of names of turns; without a prompt, those that have it.
    prompt : str
        The template that asks the judge about such a turn; empty if the rule alone decides.
    values : tuple of str
        What a turn may be labelled.
    """

    name: str
    where: str = "1"
    prompt: str = ""
    values: tuple[str, ...] = YES_OR_NO

    @property
    def counted(self) -> dict[str, str]:
        """What metrics count: the name after `debates_with_` and `turns_with_`, and the value that it counts."""
        if self.values == YES_OR_NO:
            return {self.name: self.values[0]}
        return {f"{self.name}_{value}": value for value in self.values}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on spending and on failures. Calls, tokens, dollars and seconds have no limit by default."""

    calls: int | None = word(None, ge=1)
    """The most requests."""
    tokens: int | None = word(None, ge=1)
    """The most tokens, of prompts and replies."""
    dollars: float | None = word(None, ge=0)
    """The most dollars; every model needs a price."""
    seconds: float | None = word(None, gt=0)
    """The most seconds of all jobs together. Two jobs of 60 seconds count as 120."""
    connections: int = word(16, ge=1, le=100_000)
    """The most calls that wait for a reply at the same time, for each address and API key."""
    failed: float = word(0.05)
    """The share of calls that may fail, in each job and in the run, such as 0.05 or 5%. Fewer than five failures are
    always allowed, unless the share is 0."""
    wait: float = word(0.0)
    """How long to wait for a server that does not answer: a number of seconds, or a text such as 10min."""


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """A source of passages that agents can use: a corpus, an index, or a web search."""

    top: int = word(5, ge=1, le=1_000)
    """The number of passages per question."""
    corpus: str | None = word(None)
    """A file of passages."""
    index: str | None = word(None)
    """A folder with an index of embeddings that pyserini built by Faiss; its texts are in corpus, or in the folder."""
    embedding: str | None = word(None)
    """Find passages by this embedding: ngram, a model of litellm, or sentence-transformers/NAME. Default: by their
    words (BM25)."""
    api_base: str | None = word(None)
    """For a web search: the address of a service that has the API of Serper, or env:NAME."""
    api_key_env: str | None = word(None)
    """For a web search: the environment variable that holds the API key."""

    @property
    def retriever(self) -> Retriever:
        """How passages are found: by embeddings (dense), by words (bm25), or by a web search (search)."""
        local: Retriever = "bm25" if self.embedding is None else "dense"
        return "search" if self.corpus is self.index is None else local

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All that decides what is found, as digests cover it."""
        return {"retriever": self.retriever, **asdict(self)}


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Stop the run when every claim is decided. Claims are tested after each batch of questions.

    Numbers of questions are those of the largest dataset, and the same fraction of smaller datasets.

    Attributes
    ----------
    alpha : float
        The probability of an error in any verdict, over all tests together.
    rule : str
        Results of earlier versions have another one: `racing`, by which each cell stopped by itself.
    """

    fewest: int = word(50, key="min_questions", ge=1)
    """The number of questions before the first test."""
    batch: int = word(50, ge=1)
    """The number of questions between two tests."""
    alpha: float = 0.05
    rule: str = "together"


def proportional_questions(questions: int, size: int, largest: int) -> int:
    """Return the number of questions of a dataset for a number of the largest one: the same fraction, rounded up.

    In this way datasets of any size end together.
    """
    return min(size, -(-questions * size // largest))
