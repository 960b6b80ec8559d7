"""Samples of a log: what one run of another tool says of each question."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cortexdsl.core import EMPTY
from cortexdsl.errors import DataError
from cortexdsl.stats.tables.score_table import TRUTH

LETTERS: Mapping[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Grades of Inspect and of judges that copy it: correct, partial, incorrect, no answer."""
WORDS: Mapping[str, float] = {**TRUTH, "pass": 1.0, "fail": 0.0, "correct": 1.0, "incorrect": 0.0}


@dataclass(frozen=True, slots=True)
class LoggedSample:
    """One answer to one question.

    Attributes
    ----------
    id : str
        As the tool numbers its samples.
    epoch : int
        Which of several answers to the same question, from 1.
    digest : str
        Of what was asked, so that samples are paired although tools number them in their own ways; empty if the log
        does not hold it.
    scores : mapping of str to float or None
        By the name of the score; None where the tool has none, as for a sample that ended in an error.
    numbers : mapping of str to float
        Costs: `input_tokens, output_tokens, seconds, dollars`, those that are known.
    labels : mapping of str to str
        Further facts of the question, such as its topic.
    """

    id: str
    epoch: int
    digest: str
    scores: Mapping[str, float | None]
    numbers: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Log:
    """One run of a tool: a model, or a method, on one dataset.

    Attributes
    ----------
    source : str
        The file, for messages.
    tool, dataset, model : str
    samples : tuple of LoggedSample
    """

    source: str
    tool: str
    dataset: str
    model: str
    samples: tuple[LoggedSample, ...]


def digest_of(asked: Any) -> str:
    """Return a digest of what a model was asked; empty if it is not known."""
    return sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:16] if asked else ""


def score_of(value: Any, place: str) -> float | None:
    """Return a score as a number, as its tool counts it: letters, pass and fail, truth values; None if there is none.

    Raises
    ------
    DataError
        It is neither; `place` names the score and its sample.
    """
    if value is None:
        return None
    if isinstance(value, bool | int | float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        known = LETTERS.get(value, WORDS.get(value.lower()))
        if known is not None:
            return known
        try:
            number = float(value)
        except ValueError:
            raise DataError(
                f"{place} is {value[:60]!r}, which is not a number\n"
                "    scores are numbers, true and false, pass and fail, or the letters C, P, I and N"
            ) from None
        return number if math.isfinite(number) else None
    raise DataError(f"{place} is a {type(value).__name__}, and scores are numbers\n    choose another one with --score")


def facts_of(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Return those facts of a question that are single words or numbers: what samples can be grouped by."""
    return {str(name): str(value) for name, value in (values or {}).items() if isinstance(value, str | int | float)}
