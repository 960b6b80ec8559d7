"""How fast replies are read and graded: 100,000 of every kind, and mathematics apart.

    python benchmarks/speed/grading.py [--replies 100000] [--mathematics 400]

Replies are made here from seeded templates: the asked format, other wordings, refusals, loops, cut-off text, with
reasoning before them of 100 to 2,000 characters, as language models write.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from statistics import fmean
from typing import Any

from cortexdsl.tasks.replies import grade_rows

OPTIONS = ["the first law", "the second law", "none of these", "12 J", "both laws", "a closed system"]
REASONING = (
    "Let us think step by step. The value depends on two quantities, 12 and 7. ",
    "First we add them, which gives 19 (see the table). ",
    "Then, since (a) holds and (b) does not, option (C) can be left out. ",
    "It follows that x = 3 and y = 4, hence x + y = 7. ",
    "According to the passage, the capital was moved in 1833. ",
)
ENDINGS = (
    "Answer: {gold}\nConfidence: 0.8",
    "So the answer is {gold}.",
    "**Answer:** {gold}\n**Confidence:** 85%",
    "The answer is {gold}.\n\nQuestion: And what is next?\nAnswer: Let us think.",
    "Therefore, I would say {gold}",
    "I am sorry, but I cannot answer this question.",
    "The answer is not among the options.",
    "and so on " * 60,
    "",
)


def rows(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows of all kinds but mathematics, in turn."""
    draw = random.Random(seed)
    makers: list[Callable[[], dict[str, Any]]] = [
        lambda: {"task": "gsm8k", "gold": str(draw.randint(1, 9999))},
        lambda: {"task": "mmlu_pro/physics", "gold": draw.choice("ABCDEF"), "options": OPTIONS},
        lambda: {"task": "boolq", "gold": draw.choice(["yes", "no"])},
        lambda: {"task": "fever", "gold": draw.choice(["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"])},
        lambda: {"task": "squad", "gold": [draw.choice(["the Adriatic", "Denver Broncos", "30,000"]), "Rome"]},
        lambda: {"task": "triviaqa", "gold": ["Sunset Boulevard", "Sunset Blvd."]},
        lambda: {"task": "bbh/object_counting", "gold": str(draw.randint(1, 20))},
    ]
    made = []
    for number in range(count):
        row = makers[number % len(makers)]()
        gold = row["gold"][0] if isinstance(row["gold"], list) else row["gold"]
        said = gold if draw.random() < 0.6 else draw.choice(["7", "B", "no", "Rome"])
        reasoning = "".join(draw.choices(REASONING, k=draw.randint(1, 30)))
        row["output"] = reasoning + "\n" + draw.choice(ENDINGS).format(gold=said)
        made.append(row)
    return made


def mathematics(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows that need math-verify: equal to the gold, but not as strings."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        a, b = draw.randint(2, 99), draw.randint(2, 99)
        made.append({"task": "math", "gold": f"x^2+{a + b}x+{a * b}", "output": f"\\boxed{{(x+{a})(x+{b})}}"})
    return made


def timed(name: str, made: list[dict[str, Any]]) -> None:
    """Grade rows, and print one line of a table."""
    begun, busy = time.perf_counter(), time.process_time()
    score = fmean(each.score for each in grade_rows(made))
    seconds, busy = time.perf_counter() - begun, time.process_time() - busy
    print(f"| {name} | {len(made):,} | {seconds:.1f} | {busy:.1f} | {len(made) / seconds:,.0f} | {score:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--mathematics", type=int, default=400)
    args = parser.parse_args()
    made = rows(args.replies)
    print(f"mean length of a reply: {sum(len(row['output']) for row in made) / len(made):.0f} characters\n")
    print("| what | replies | seconds | of this process's CPU | replies/s | mean score |")
    print("|---|---|---|---|---|---|")
    timed("all kinds but mathematics, both readings, one process", made)
    grade_rows(mathematics(2, seed=0))  # starts the workers
    timed("mathematics by math-verify, two workers", mathematics(args.mathematics))


if __name__ == "__main__":
    main()
