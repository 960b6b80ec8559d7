"""How near matched budgets come to 1: four protocols of the built-in solver, each in three units.

Writes a spec into a folder, runs it with `cortexdsl run`, and prints what each matched cell spent as a share of its
budget. The reference is a debate among agents of different sizes and prices that ends when all agree, so that its cost
differs from question to question, and the units do not follow from each other. Ends with status 1 if a ratio is more
than --within from 1.

    python benchmarks/matched_budgets.py FOLDER [--questions 200] [--within 0.05]
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from pathlib import Path

SPEC = """\
title: Matched budgets
seed: 3
dataset: {{name: arithmetic, size: {questions}}}
models:
  weak:   {{model: builtin/solver, skill: 0.5, parameters: 0.5e9, price: {{input: 0.1, output: 0.4}}}}
  strong:
    {{model: builtin/solver, skill: 0.7, parameters: 30e9, active_parameters: 3e9, price: {{input: 1, output: 4}}}}
agents:
  - {{name: a, model: weak}}
  - {{name: b, model: weak}}
  - {{name: c, model: strong}}
teams:
  three: [a, b, c]
  five: [a, a, b, c, c]
limits: {{dollars: 1000}}
methods:
  reference: {{protocol: multi-llm, agents: five, rounds: 3, until: consensus}}
{methods}
"""
METHODS = {
    "self-consistency": ("samples", "agents: [c]"),
    "reflection": ("trials", "agents: [c]"),
    "multi-llm": ("rounds", "agents: three"),
    "moa": ("layers", "agents: three"),
}
UNITS = ("tokens", "compute", "dollars")


def written(questions: int) -> str:
    """Return the spec."""
    lines = [
        f"  {protocol}-{unit}: {{protocol: {protocol}, {agents}, budget: {unit}(reference), grow: {grow}}}"
        for protocol, (grow, agents) in METHODS.items()
        for unit in UNITS
    ]
    return SPEC.format(questions=questions, methods="\n".join(lines))


def main() -> int:
    """Run the experiment and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--within", type=float, default=0.05, help="how far a ratio may be from 1")
    args = parser.parse_args()
    spec = args.folder / "specs" / "matched.yaml"
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text(written(args.questions), encoding="utf-8")
    command = [sys.executable, "-m", "cortexdsl", "run", "specs/matched.yaml"]
    subprocess.run(command, cwd=args.folder, check=True, stdout=subprocess.DEVNULL)
    with (args.folder / "results" / "matched" / "matches.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    print(f"| protocol | what grows | unit | spent / budget, {args.questions} questions | 95 % interval |")
    print("|---|---|---|---|---|")
    for row in rows:
        protocol = row["cell"].rpartition("-")[0]
        ends = " to ".join(f"{float(row[end]):.3f}" for end in ("ci_low", "ci_high"))
        unit = row["metric"].replace("_", " ")
        print(f"| `{protocol}` | `{METHODS[protocol][0]}` | {unit} | {float(row['ratio']):.3f} | {ends} |")
    beyond = [row["cell"] for row in rows if abs(float(row["ratio"]) - 1) > args.within]
    print(f"\n{len(rows) - len(beyond)} of {len(rows)} within {args.within:.0%}; beyond: {', '.join(beyond) or 'none'}")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
