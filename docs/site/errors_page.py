"""The reference page of errors: exit statuses, classes, and the kinds of failed calls with their remedies."""

from __future__ import annotations

import inspect

from cortexdsl import errors
from cortexdsl.models.transports.failure_kinds import FailureKind

TO_DO = {
    "CortexError": "Catch it for every error of cortexdsl.",
    "InputError": "Correct what the message names. Nothing has been spent.",
    "SpecError": "Correct each place that the message lists. `cortexdsl check` finds them without a run.",
    "DataError": "Correct the file, or the keys of `dataset` that describe it.",
    "SpecDataError": "Copy the data to this machine, or correct the place that the message names.",
    "DebateError": "Correct the protocol at the step that the message names.",
    "ModelError": "See [failed calls](#failed-calls).",
    "KnowledgeError": "See that the source is there and its key is set. Then run again.",
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
        "An error message says where the error is (`file:line:column`), what is wrong, and what to do.",
        "## Exit status",
        "| status | meaning |\n|---|---|\n| 0 | success |\n| 1 | the experiment failed, or is not finished |\n"
        "| 2 | the input is wrong: a spec, a file, an argument, a missing variable |\n"
        "| 3 | [`gate`](../howto/gate-a-pull-request.md): a claim is undecided |",
        "## Failed calls",
        "[When a call fails](../failures.md) says how often each is tried, and what happens after the last attempt.",
        "| a message begins with | what to do |\n|---|---|\n"
        + "\n".join(f"| {kind.value} (`{kind.slug}`){NOTES.get(kind, '')} | {kind.remedy} |" for kind in FailureKind),
        "## Classes in Python",
        "| class | exit status | meaning | what to do |\n|---|---|---|---|\n"
        + "\n".join(
            f"| `{one.__name__}` | {2 if issubclass(one, errors.InputError) else 1} "
            f"| {inspect.getdoc(one).splitlines()[0]} | {TO_DO[one.__name__]} |"
            for one in error_classes()
        ),
    ]
    return "\n\n".join(parts) + "\n"
