"""`cortexdsl VERB ...`: handed to the worker where this run has one, run here otherwise.

Imports nothing that a job which is handed over does not need: it is the start of every job.
"""

import sys
from collections.abc import Sequence

from cortexdsl.worker.client import hand_over
from cortexdsl.worker.garbage import look_seldom
from cortexdsl.worker.holder import end_with_run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    if arguments is None:
        arguments = sys.argv[1:]
        status = hand_over(arguments)
        if status is not None:
            return status
        end_with_run()
        look_seldom()
    from cortexdsl.cli.verbs import run  # measured: half of what the start of a job that is handed over costs

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
