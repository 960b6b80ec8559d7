"""Questions and their datasets, and what is read from a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cortexdsl.core.types import EMPTY


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that belongs to a question.

    Attributes
    ----------
    digest : str
        SHA-256 of its bytes, in hexadecimal digits; calls and records refer to it.
    kind : str
        `image/png`, `image/jpeg`, `image/gif` or `image/webp`, by its first bytes.
    source : str
        The absolute path of its file, or a data URI.
    """

    digest: str
    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question as agents may see it. Its gold answer is part of the task only.

    Attributes
    ----------
    id : str
        Unique within its dataset.
    text : str
        The question.
    options : tuple of (str, str)
        (label, text) of a multiple-choice question; empty otherwise.
    context : str
        Its passage; empty if there is none.
    cluster : str or None
        What it has in common with other questions (passage, template, subject); the unit of clustered inference.
    images : tuple of Image
        Shown with every prompt about the question, before its text.
    """

    id: str
    text: str
    options: tuple[tuple[str, str], ...] = ()
    context: str = ""
    cluster: str | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset entry of the spec: which questions, where from, how they are read and scored.

    Attributes
    ----------
    label : str
        Its name in the results.
    name : str or None
        A dataset of the registry, such as `gsm8k`; None for your own file or a dataset of the hub.
    path : str or None
        The official file or folder, or your own JSONL, CSV or Parquet file, as an absolute path; None for a
        generated dataset or one from the hub.
    hub, config : str or None
        The id of any dataset of the Hugging Face hub, and its configuration.
    revision : str or None
        The commit of the hub's dataset; None: the registry's commit, or else the newest one.
    subset, split : tuple of str, str or None
    size : int or None
        The number of questions; None for all. A larger size begins with the questions of a smaller one.
    seed : int
        Of sampling and of shuffling options.
    stratify : str or None
        A field, such as `subject`, that the sample is balanced over.
    ids : tuple of str
        Explicit question ids instead of a sample.
    fields : mapping
        For your own file or a dataset of the hub: question, answer, and perhaps id, context, choices, cluster
        -> column names.
    kind, metric : str or None
        Answer kind and metric of your own file, or instead of those of the registry.
    tolerance : str or None
        How far a number may be from the gold: `0.01`, or `5%` of it.
    reading : str
        `lenient` or `strict`: which reading scores.
    shuffle_options : bool or None
        None: as the registry says.
    delimiter, encoding : str or None
        Of your own CSV file; None: detected, or refused if it is not certain.
    decimal : str or None
        The decimal mark of your own answers, `.` or `,`; None: detected from the answers.
    """

    label: str
    name: str | None = None
    path: str | None = None
    subset: tuple[str, ...] = ()
    split: str | None = None
    size: int | None = None
    seed: int = 0
    stratify: str | None = None
    ids: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    kind: str | None = None
    metric: str | None = None
    reading: Literal["lenient", "strict"] = "lenient"
    shuffle_options: bool | None = None
    hub: str | None = None
    config: str | None = None
    revision: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None
    tolerance: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading one reply. If it cannot be read, `value` is None and `unparsed` says why.

    Attributes
    ----------
    value : str or None
        An answer in canonical form (equal answers are equal strings); for a verdict `agree` or `disagree`;
        for a selection comma-separated numbers; for a review the judgement of the reviewed answer; for a
        summary or comment the text itself.
    unparsed : str or None
        Why nothing could be read.
    confidence : float or None
        As stated, in units of 1 (95 % is 0.95), not clipped; None if none was stated.
    """

    value: str | None
    unparsed: str | None = None
    confidence: float | None = None
