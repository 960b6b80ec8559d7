"""The errors of cortexdsl. A message says where, what and the remedy; classes inherit from fitting built-in ones.

Exit status of the command line: `InputError` and its children are 2 (the input is wrong), every other
`CortexError` is 1 (the experiment failed).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cortexdsl.plain_text import printable


class CortexError(Exception):
    """The base of all errors that cortexdsl raises.

    Messages may quote servers and files, so that they are made printable here, for every place that shows them.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(CortexError, ValueError):
    """An input of the user is wrong: a spec, a data file, a table, an argument."""


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

    @classmethod
    def of(cls, where: str, error: object) -> Problem:
        """Return the problem that an error states: its first line says what is wrong, the others the remedy."""
        what, _, remedy = str(error).partition("\n")
        return cls(where, what, remedy.strip())

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"\n    {self.remedy}" if self.remedy else "")


class SpecError(InputError):
    """One or more mistakes in a spec, protocol or prompt file. The message lists them all.

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
        The word of a dataset entry that is wrong (`size`, `file`); empty if it is not a single one.
    """

    def __init__(self, message: str, *, word: str = "") -> None:
        self.word = word
        super().__init__(message)


class SpecDataError(SpecError, DataError):
    """The text of a spec is right, but its data is wrong or not on this machine."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.word = ""
        SpecError.__init__(self, problems)


class DebateError(CortexError, RuntimeError):
    """A debate cannot continue as its protocol says. The message has the step, the round and the agent."""


class ModelError(CortexError, RuntimeError):
    """A model call failed for good. The message has the model, its address, and what to do."""


class KnowledgeError(CortexError, RuntimeError):
    """A knowledge source failed for good. The message has the source, its address, and what to do, never a key."""


class BudgetError(CortexError, RuntimeError):
    """A limit of the spec (calls, tokens, dollars, seconds) is reached. Finished calls are kept."""


class RecordError(CortexError, ValueError):
    """A stored record (debate, call log, plan) cannot be read or belongs to another version."""


def nearest(word: object, allowed: Iterable[str], *, say: str = "allowed") -> str:
    """Return the remedy for a word that is not allowed: the nearest spelling, and the allowed words."""
    known = list(dict.fromkeys(allowed))
    same = [one for one in known if one.casefold() == str(word).casefold()]
    near = same or difflib.get_close_matches(str(word), known, 1, 0.6)
    listed = ", ".join(known[:40]) + (" ..." if len(known) > 40 else "")
    return (f"did you mean {near[0]}? " if near else "") + (f"{say}: {listed}" if known else "")
