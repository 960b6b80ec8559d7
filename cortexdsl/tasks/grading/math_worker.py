"""The process that runs math-verify: one JSON request a line in, one JSON answer a line out.

It is a process of its own because math-verify counts time by signals, which work in a main thread alone, and
because an expression can keep sympy busy for ever: then the process is ended and another started.
"""

from __future__ import annotations

import json
import sys

from cortexdsl.tasks.grading.math_rules import verified


def main() -> None:
    """Answer requests until standard input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints must not look like an answer
    for line in sys.stdin:
        gold, answer = json.loads(line)
        out.write(json.dumps(verified(gold, answer)) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
