"""The reference page of errors: exit statuses, classes, and the kinds of failed calls with their remedies."""

from __future__ import annotations

import inspect

from cortexdsl import errors
from cortexdsl.models.transports.failure_kinds import FailureKind

TO_DO = {
    "CortexError": "Catch it to catch every error of cortexdsl.",
    "InputError": "Correct what the message names. Nothing has been spent.",
    "SpecError": "Correct each place that the message lists. `cortexdsl check` finds them without a run.",
    "DataError": "Correct the file, or the keys of `dataset` that describe it.",
    "SpecDataError": "Copy the data to this machine, or correct the place that the message names.",
    "DebateError": "Correct the protocol at the step that the message names.",
    "ModelError": "See [failed calls](#failed-calls).",
    "KnowledgeError": "Make sure that the source is there and that its key is set. Then run again.",
    "BudgetError": "Raise the limit in the spec, or with `cortexdsl limit`. Then run the same command again.",
    "RecordError": "Run `cortexdsl verify NAME`. It says which files are damaged, and how to make them again.",
}
"""What to do about each class."""


NOTES = {
    FailureKind.FOREIGN: "; for example, a web page came back",
    FailureKind.MALFORMED: "; for example, an empty reply",
}
"""What else a reader needs to know about kinds of failed calls, after their names."""


def error_classes() -> list[type[Exception]]:
    """Return the classes of `cortexdsl.errors`, in their order there."""
    found = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.CortexError)]
    return sorted(found, key=lambda one: inspect.getsourcelines(one)[1])


def errors_page() -> str:
    """Exit statuses, error classes, and kinds of failed calls."""
    parts = [
        "# Every error",
        "This page lists the exit statuses, the kinds of failed calls, and the error classes in Python. A message says "
        "where the error is (`file:line:column`), what is wrong, and what to do.",
        "## Exit status",
        "| status | meaning |\n|---|---|\n| 0 | success |\n| 1 | the experiment failed, or is not finished |\n"
        "| 2 | the input is wrong: a spec, a file, an argument, a missing variable |",
        "## Failed calls",
        "A call is tried again if the same request may succeed later. [The table of failures](../failures.md) says how "
        "often. After the last attempt, one of two things happens:",
        "- *Recorded as data*: the failure is written into the debate, and the agent gives no answer in this turn.\n"
        "- *The job ends*: nothing is recorded. Finished calls are kept, and `cortexdsl run NAME` continues there.",
        "| a message begins with | tried again | after the last attempt | what to do |\n|---|---|---|---|\n"
        + "\n".join(
            f"| {kind.value} (`{kind.slug}`){NOTES.get(kind, '')} | {'yes' if kind.is_retried else 'no'} "
            f"| {'recorded as data' if kind.is_data else 'the job ends'} "
            f"| {kind.remedy} |"
            for kind in FailureKind
        ),
        "`cortexdsl run NAME --errors-again` sends the calls again that were recorded as data.",
        "A job also ends if more than 5 % of its calls fail. "
        "[Too many failures](../failures.md#too-many-failures) says how to change this share.",
        "## Classes in Python",
        "| class | exit status | meaning | what to do |\n|---|---|---|---|\n"
        + "\n".join(
            f"| `{one.__name__}` | {2 if issubclass(one, errors.InputError) else 1} "
            f"| {inspect.getdoc(one).splitlines()[0]} | {TO_DO[one.__name__]} |"
            for one in error_classes()
        ),
    ]
    return "\n\n".join(parts) + "\n"
