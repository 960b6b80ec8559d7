"""The reference page of errors: exit statuses, classes, and the kinds of failed calls with their remedies."""

from __future__ import annotations

import inspect

from cortexdsl import errors
from cortexdsl.models.transports.failures import REMEDIES, FailureKind

TO_DO = {
    "CortexError": "Catch it to catch every error of cortexdsl.",
    "InputError": "Correct what the message names; nothing has been spent.",
    "SpecError": "Correct each place that it lists; `cortexdsl check` finds them without a run.",
    "DataError": "Correct the file, or the words that describe it in the spec.",
    "SpecDataError": "Bring the data to this machine, or correct the place that the message names.",
    "DebateError": "Correct the protocol at the step that the message names.",
    "ModelError": "See the kinds of failed calls below.",
    "KnowledgeError": "See that the source is there and that its key is set, then run again.",
    "BudgetError": "Raise the limit in the spec, then run the same command again.",
    "RecordError": "Run `cortexdsl verify NAME`, which says which files are damaged and how to make them again.",
}
"""What to do about each class."""


def error_classes() -> list[type[Exception]]:
    """Return the classes of `cortexdsl.errors`, in their order there."""
    found = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.CortexError)]
    return sorted(found, key=lambda one: inspect.getsourcelines(one)[1])


def errors_page() -> str:
    """Exit statuses, error classes, and kinds of failed calls."""
    parts = [
        "# Every error",
        "A message says where (`file:line:column`), what is wrong, and what to do.",
        "## Exit status",
        "| status | meaning |\n|---|---|\n| 0 | success |\n| 1 | the experiment failed, or is not finished |\n"
        "| 2 | the input is wrong: a spec, a file, an argument, a missing variable |",
        "## Classes in Python",
        "| class | status | meaning | what to do |\n|---|---|---|---|\n"
        + "\n".join(
            f"| `{one.__name__}` | {2 if issubclass(one, errors.InputError) else 1} "
            f"| {inspect.getdoc(one).splitlines()[0]} | {TO_DO[one.__name__]} |"
            for one in error_classes()
        ),
        "## Failed calls",
        "A call is tried again if the same request may succeed later; "
        "[the table of failures](../failures.md) says how often. If it fails for good, it is either "
        "recorded as data (the agent abstains) or ends the job.",
        "| a message begins with | tried again | then | what to do |\n|---|---|---|---|\n"
        + "\n".join(
            f"| {kind.value} (`{kind.slug}`) | {'yes' if kind.is_retried else 'no'} "
            f"| {'recorded as data' if kind.is_data else 'the job ends'} "
            f"| {REMEDIES[kind]} |"
            for kind in FailureKind
        ),
        "`cortexdsl run NAME --errors-again` sends failed calls again, and only these. A job ends if more of its "
        "calls fail than `limits: {failed: 5%}` allows (five at least).",
    ]
    return "\n\n".join(parts) + "\n"
