"""The error tree. An error says where, what and the remedy, and inherits from the built-in a caller expects.

Exit status of the command line: `InputError` and its children are 2 (the input is wrong), every other
`CortexError` is 1 (the experiment failed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class CortexError(Exception):
    """The root of everything that cortexdsl raises on purpose."""


class InputError(CortexError, ValueError):
    """What the user gave is wrong: a spec, a data file, a table, an argument."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a text that a user wrote.

    Attributes
    ----------
    where : str
        `file:line:column`, lines and columns counted from 1; or a file alone.
    what : str
        What is wrong, with the offending value.
    remedy : str
        What is allowed, the nearest spelling, or what to do. May be empty.
    """

    where: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"\n    {self.remedy}" if self.remedy else "")


class SpecError(InputError):
    """One or more mistakes in a spec, protocol or prompt file, reported together.

    Attributes
    ----------
    problems : tuple of Problem
        In the order of the text.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        Exception.__init__(self, "\n".join(map(str, self.problems)))


class DataError(InputError):
    """A dataset or table file is missing, malformed or lacks a column.

    Attributes
    ----------
    word : str
        The word of a dataset entry that it is about (`size`, `file`); empty where it is about none alone.
    """

    def __init__(self, message: str, *, word: str = "") -> None:
        self.word = word
        super().__init__(message)


class SpecDataError(SpecError, DataError):
    """A spec whose text is right, and whose data is wrong or not on this machine."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.word = ""
        SpecError.__init__(self, problems)


class DebateError(CortexError, RuntimeError):
    """A debate cannot go on as its protocol says; names the step, the round and the agent."""


class ModelError(CortexError, RuntimeError):
    """A model call failed for good; says what, which model, which address, and the remedy."""


class KnowledgeError(CortexError, RuntimeError):
    """A knowledge source failed for good; says which source, which address, and the remedy (never a key)."""


class BudgetError(CortexError, RuntimeError):
    """The limits of the spec (calls, tokens, dollars, seconds) are reached; nothing finished is lost."""


class RecordError(CortexError, ValueError):
    """A stored record (debate, call log, plan) cannot be read or belongs to another version."""
