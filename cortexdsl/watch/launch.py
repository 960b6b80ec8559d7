"""`python -m cortexdsl.watch.launch`: Snakemake, which Ctrl-C ends at once and silently as long as no job has started.

There is nothing to clean up until then, and Python would print where in its imports it was interrupted.
"""

import signal
import sys

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    from snakemake.cli import main

    sys.exit(main())
