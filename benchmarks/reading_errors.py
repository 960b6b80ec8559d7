"""Print how often the lenient reading is wrong, by kind: replies written for this purpose, with labels.

Wrong: another answer than the label. Guessed: an answer, although the label says that there is none. Missed: no answer,
although there is one.

The rules were changed with the replies of `written_replies.jsonl` at hand. Those of `held_out_replies.jsonl` were
written and labelled before any reader had read them; classes of their errors were mended afterwards.

    python benchmarks/reading_errors.py
"""

from __future__ import annotations

import json
import string
from collections import Counter
from pathlib import Path
from typing import Any

from cortexdsl.tasks.grading.math import equivalent
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader

CASES = Path(__file__).parents[1] / "tests" / "cases"


def error_of(case: dict[str, Any]) -> str | None:
    """Return `wrong`, `guessed` or `missed`; None if a reply is read as its label says."""
    options = tuple(zip(string.ascii_uppercase, case.get("options", ()), strict=False))
    kind = kind_named(case["kind"], options, decimal=case.get("decimal", "."))
    reader = AnswerReader(kind, agents=tuple(case.get("agents", ())))
    answer, label = reader.lenient(case["reply"]).value, case["answer"]
    if answer is None or label is None:
        return None if answer is label else "missed" if answer is None else "guessed"
    is_math = case["kind"] == "expression"
    right = equivalent([(label, answer)])[0] if is_math else answer in (label, kind.canonical(label))
    return None if right else "wrong"


def main() -> None:
    """Print a table for each file."""
    for name in ("written_replies", "held_out_replies"):
        cases = [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        errors = Counter((case["kind"], error_of(case)) for case in cases)
        print(f"{name}\n\n| kind | replies | wrong | guessed | missed |\n|---|---|---|---|---|")
        for kind, replies in Counter(case["kind"] for case in cases).items():
            counts = (errors[kind, error] for error in ("wrong", "guessed", "missed"))
            print(f"| {kind} | {replies} | " + " | ".join(map(str, counts)) + " |")
        print()


if __name__ == "__main__":
    main()
