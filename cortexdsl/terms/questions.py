"""What is asked, and what is read from a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cortexdsl.terms.base import EMPTY


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that belongs to a question.

    Attributes
    ----------
    digest : str
        SHA-256 of its bytes, in hexadecimal digits: what calls and records know it by, wherever it lies.
    kind : str
        `image/png`, `image/jpeg`, `image/gif` or `image/webp`, by its first bytes.
    source : str
        Where its bytes are: the absolute path of a file, or a data URI.
    """

    digest: str
    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question as agents may see it. Its gold answer lives in the task and is never here.

    Attributes
    ----------
    id : str
        Unique within its dataset.
    text : str
        What is asked.
    options : tuple of (str, str)
        (label, text) of a multiple-choice question; empty otherwise.
    context : str
        The passage that belongs to it; empty otherwise.
    cluster : str or None
        What it shares with other questions (passage, template, subject); the unit of clustered inference.
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
    """A dataset entry of the spec: which questions, from where, read and scored how.

    Attributes
    ----------
    label : str
        Its name in the results.
    name : str or None
        A dataset of the registry (`arithmetic`, `gsm8k` ...); None for your own file or a dataset of the hub.
    path : str or None
        The official file or folder, or your own JSONL, CSV or Parquet file, as an absolute path; None for a
        generated dataset or one from the hub.
    hub, config : str or None
        The id of any dataset of the Hugging Face hub, and its configuration.
    revision : str or None
        The commit of the hub's dataset; None: the registry's commit, or else the newest one.
    subset, split : tuple of str, str or None
    size : int or None
        How many questions; None for all. A larger size keeps the questions of a smaller one, in order.
    seed : int
        Of the sampling and of the shuffling of options.
    stratify : str or None
        A field (subject, task, level ...) that the sample is balanced over.
    ids : tuple of str
        Explicit question ids in place of a sample.
    fields : mapping
        For your own file or a dataset of the hub: question, answer, and perhaps id, context, choices, cluster
        -> column names.
    kind, metric : str or None
        Answer kind and metric, where the registry's are to be replaced, or for a file of one's own.
    reading : str
        `lenient` or `strict`: which reading scores.
    shuffle_options : bool or None
        None: as the registry says.
    delimiter, encoding : str or None
        Of your own CSV file; None: found out from the file, or refused if it is not certain.
    decimal : str or None
        The decimal mark of your own answers, `.` or `,`; None: found out from the answers.
    drop_unanswered : bool
        Leave out rows without an answer, instead of refusing them.
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
    drop_unanswered: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one reply. A failed parse is data: `value` is None and `unparsed` says why.

    Attributes
    ----------
    value : str or None
        An answer in canonical form (equal answers are equal strings); for a verdict `agree` or `disagree`;
        for a selection comma-separated numbers; for a review the judgement of the reviewed answer; for a
        summary or comment the text itself.
    unparsed : str or None
        The reason why nothing could be read.
    confidence : float or None
        As stated, in units of 1 (95 % is 0.95), not clipped; None where none was stated.
    """

    value: str | None
    unparsed: str | None = None
    confidence: float | None = None
