"""`cortexdsl VERB ...`: handed to the worker of this run if there is one, run in this process otherwise.

Every job starts here, so this imports only what a job needs that is handed over.
"""

from __future__ import annotations

import sys

from cortexdsl.import_path import protect_children
from cortexdsl.worker.client import hand_over
from cortexdsl.worker.process import collect_garbage_rarely, end_with_run

TYPE_CHECKING = False  # that of typing takes some milliseconds, too
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    if arguments is None:
        protect_children()
        arguments = sys.argv[1:]
        status = hand_over(arguments)
        if status is not None:
            return status
        end_with_run()
        collect_garbage_rarely()
        if arguments[:1] == ["run"]:  # loading the verb takes a while, and its process becomes Snakemake
            from cortexdsl.display.launch import end_on_signals

            end_on_signals()
        from cortexdsl.program import note_program  # a job that is handed over is the worker's

        note_program()
    from cortexdsl.cli.verbs import run  # half of the start of a job that is handed over, as measured

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
