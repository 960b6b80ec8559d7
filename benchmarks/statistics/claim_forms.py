"""Every form of claim on its bound: how often is it wrongly supported or contradicted, and does a note warn?

Each group of simulated experiments (`scenarios/bounds.py`) has one table with all its claims, which
`evaluate_claims` tests without correction at 5 %. Results are added to a CSV file in blocks of runs: the command can be
stopped and started again, and shared (`--share 2/4` makes every fourth block from the second; files of several shares
can be joined).

    python benchmarks/statistics/claim_forms.py --out forms.csv [--runs 1000] [--only TEXT] [--share 1/1]
    python benchmarks/statistics/claim_forms.py --out forms.csv --table
"""

from __future__ import annotations

import argparse
import csv
import gc
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from scenarios.bounds import Group
from scenarios.bounds import groups as bound_groups

from cortexdsl.claims.cells import cells_of
from cortexdsl.stats.verdicts import evaluate_claims

BLOCK, DRAWS, LIMIT = 250, 399, 0.06
COLUMNS = (
    "scenario",
    "form",
    "questions",
    "replicates",
    "block",
    "runs",
    "supported",
    "contradicted",
    "silent",
    "seconds",
)
WARNINGS = ("may err", "no bound", "no question showed", "could change", "not tested", "too few")
"""What the notes of doubtful verdicts say. A wrong verdict whose note says none of it counts as `silent`."""
_GROUPS = tuple(bound_groups())
_BY_NAME = {group.name: group for group in _GROUPS}

Task = tuple[str, int, int, int]
"""A group, questions, replicates, and the number of the block."""


def tasks(only: str, runs: int) -> Iterator[Task]:
    for group in _GROUPS:
        if only in group.name:
            for questions, replicates in group.sizes:
                yield from ((group.name, questions, replicates, block) for block in range(-(-runs // BLOCK)))


def block_of(task: Task, block: int = BLOCK) -> list[dict[str, object]]:
    """Simulate one block of experiments; the same block is the same experiments anywhere."""
    name, questions, replicates, number = task
    group: Group = _BY_NAME[name]
    counts: dict[str, Counter[str]] = {}
    started = time.process_time()
    for run in range(block):
        random = np.random.default_rng([number * BLOCK + run, questions, replicates, *name.encode()])
        made, claims = group.make(random, questions, replicates)
        texts = [claim for claim, _ in claims.values()]
        found = evaluate_claims(made, texts, 1, cells_of(made.cells), correction="none", draws=DRAWS)
        for (form, (_, wrong)), verdict, note in zip(claims.items(), found["verdict"], found["note"], strict=True):
            count = counts.setdefault(form, Counter())
            if verdict != "undecided" and wrong in ("both", verdict):
                count[verdict] += 1
                count["silent"] += not any(warning in note for warning in WARNINGS)
    seconds = round((time.process_time() - started) / len(counts), 2)
    head = {"scenario": name, "questions": questions, "replicates": replicates, "block": number, "runs": block}
    kinds = ("supported", "contradicted", "silent")
    return [
        head | {"form": form, "seconds": seconds} | {kind: count[kind] for kind in kinds}
        for form, count in counts.items()
    ]


def table_of(found: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a Markdown table: a row for each form and scenario, its worst size last."""
    keys = ["scenario", "form", "questions", "replicates"]
    cells = found.groupby(keys, sort=False)[["runs", "supported", "contradicted", "silent"]].sum().reset_index()
    cells["wrong"] = (cells["supported"] + cells["contradicted"]) / cells["runs"]
    cells["quiet"] = cells["silent"] / cells["runs"]
    yield "| scenario | form | runs | supported / contradicted | worst size | both there (se) | without a note |"
    yield "|---|---|---|---|---|---|---|"
    for (scenario, form), rows in cells.groupby(["scenario", "form"], sort=False):
        worst = rows.loc[(rows["quiet"] + rows["wrong"] / 1e6).idxmax()]
        supported, contradicted = (rows[kind].sum() / rows["runs"].sum() for kind in ("supported", "contradicted"))
        error = np.sqrt(worst["wrong"] * (1 - worst["wrong"]) / worst["runs"])
        mark = " **above**" if worst["quiet"] > LIMIT else ""
        yield (
            f"| {scenario} | {form} | {rows['runs'].sum():,} | {supported:.1%} / {contradicted:.1%} "
            f"| n={worst['questions']}, R={worst['replicates']} | {worst['wrong']:.1%} ({error:.1%}) "
            f"| {worst['quiet']:.1%}{mark} |"
        )
    above = int((cells["quiet"] > LIMIT).sum())
    yield f"\n{len(cells)} cells, of which {above} err in more than {LIMIT:.0%} without a note."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="CSV")
    parser.add_argument("--runs", type=int, default=1000, help=f"experiments a cell, in blocks of {BLOCK}")
    parser.add_argument("--only", default="", help="groups whose name contains this")
    parser.add_argument("--share", default="1/1", metavar="I/K", help="every K-th block, from the I-th")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="print the table of what is there, and simulate nothing")
    args = parser.parse_args()
    done = pd.read_csv(args.out) if args.out.exists() else pd.DataFrame(columns=list(COLUMNS))
    if args.table:
        print("\n".join(table_of(done)))
        return
    have = set(done[["scenario", "questions", "replicates", "block"]].itertuples(index=False, name=None))
    mine, of = map(int, args.share.split("/"))
    todo = [task for i, task in enumerate(tasks(args.only, args.runs)) if i % of == mine - 1 and task not in have]
    with args.out.open("a", newline="") as file, ProcessPoolExecutor(args.processes, initializer=gc.freeze) as pool:
        writer = csv.DictWriter(file, COLUMNS)
        if done.empty:
            writer.writeheader()
        for rows in pool.map(block_of, todo):
            writer.writerows(rows)
            file.flush()
    print(f"{len(todo)} blocks of {BLOCK} experiments made; --table prints what {args.out} holds")


if __name__ == "__main__":
    main()
