"""The process that runs one Python function: a line of JSON with a text in, a line with a text or an error out."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

LONGEST_ERROR = 300


def main() -> None:
    """Import the function named on the command line, say so, and answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever is printed must not look like an answer

    def answer(**fields: str) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    module, _, name = sys.argv[1].partition(":")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - the function is found as `source_of` does, and was trusted
    try:
        function = getattr(import_module(module), name)
        if not callable(function):
            raise TypeError(f"{name} is not a function")
    except Exception as error:  # a user's module may raise anything
        answer(error=_error_text(error))
        return
    answer(ready=name)
    for line in sys.stdin:
        try:
            text = function(json.loads(line)["text"])
            if not isinstance(text, str):
                raise TypeError(f"it returned {type(text).__name__}, and no text")
            answer(text=text)
        except Exception as error:  # and so may its function
            answer(error=_error_text(error))


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_ERROR]


if __name__ == "__main__":
    main()
