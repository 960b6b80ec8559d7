"""How often a gate fails without a change: on scores whose cells are exchanged, or on one cell run against itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import design_of
from cortexdsl.claims.meaning import needs_answers
from cortexdsl.claims.parser import parse_claim
from cortexdsl.core import EMPTY
from cortexdsl.errors import InputError
from cortexdsl.files import write_text
from cortexdsl.numbers import counted, in_dollars
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.plan.rehearsal.estimate import CostEstimate
from cortexdsl.report.gate import outcome_of
from cortexdsl.stats.relabelling import relabelled
from cortexdsl.stats.tables.rows import ClaimRow
from cortexdsl.stats.tables.score_table import ScoreTable, read_table, score_table
from cortexdsl.stats.verdicts import evaluate_claims


@dataclass(frozen=True, slots=True)
class JointVerdicts:
    """The verdicts on all claims that are tested together, by the claim, and what they are made from."""

    rows: Mapping[str, ClaimRow]
    table: ScoreTable
    arms: Sequence[CellNames]
    alpha: float
    correction: str


@dataclass(frozen=True, slots=True)
class ReferenceRuns:
    """Runs of one cell against itself: an experiment whose replicates stand for the cells of the claims in turn.

    Attributes
    ----------
    plan : Plan
        Of the spec of a gate with more replicates. Only `cell` of it is run.
    cell : str
        The last cell of the first required claim.
    cells : tuple of str
        Those of all claims that are tested together.
    replicates : int
        Of a cell in one run.
    price : str
        The most that they cost, in a sentence: the judge is priced for all cells.
    """

    plan: Plan
    cell: str
    cells: tuple[str, ...]
    replicates: int
    price: str

    @property
    def parts(self) -> list[str]:
        """The files of scores to be made, one for each dataset."""
        slug = self.plan.cell_named(self.cell).slug
        return [self.plan.layout.part("scores", dataset, slug) for dataset in self.plan.tasks]

    def tables(self, most: Mapping[str, Mapping[str, float]]) -> Iterator[ScoreTable]:
        """Yield the scores of each run; `most` has the bounds of columns, by cell."""
        frame = pd.concat([read_table(Path(part)).frame for part in self.parts], ignore_index=True)
        block, within = np.divmod(frame["replicate"].to_numpy(dtype=int) - 1, self.replicates)
        run, cell = np.divmod(block, len(self.cells))
        bounds = dict.fromkeys(self.cells, most.get(self.cell, EMPTY))
        for _, rows in frame.assign(replicate=within + 1, cell=np.array(self.cells)[cell]).groupby(run):
            yield replace(score_table(rows), most=bounds)


def reference_runs(plan: Plan, required: Sequence[str], times: int) -> ReferenceRuns:
    """Write the spec of a burn-in next to that of a gate, and return what is to be run.

    Raises
    ------
    InputError
        A claim needs answers of single agents, or another spec has the name.
    """
    claims = [parse_claim(text) for text in (*required, *plan.hypotheses)]
    if any(map(needs_answers, claims)):
        raise InputError("--burn-in: the runs have no answers for claims about ece, brier, auroc and single agents")
    arms = [CellNames(cell.name, cell.method, cell.aliases, cell.axes) for cell in plan.cells]
    cells = [design_of(claim, arms).all_cells for claim in claims]
    named = tuple(dict.fromkeys(cell for each in cells for cell in each))
    path = Path(plan.spec_path)
    own, head = path.with_name(f"{path.stem}-burn-in.yaml"), f"# By cortexdsl gate --burn-in\nextends: {path.name}\n"
    if own.exists() and not own.read_text(encoding="utf-8").startswith(head):
        raise InputError(f"{own}: the burn-in writes its spec here, and this is another one\n    move it away")
    write_text(own, f"{head}replicates: {times * len(named) * plan.replicates}\n", durable=False)
    runs = compile_spec(own.as_posix())
    cell, by_row = runs.cell_named(cells[0][-1]), rehearse_plan(runs)[1]
    rows = by_row.keys() - {each.name for each in runs.cells} | {cell.name}
    while budget := runs.budget_of(cell):
        cell = budget
        rows.add(cell.name)
    most = sum((by_row[row] for row in rows), CostEstimate())
    dollars = f"${in_dollars(most.dollars)}" if most.is_priced else "an unknown price"
    price = f"burn-in: {cells[0][-1]} runs against itself {counted(times, 'time')}, for at most {dollars}"
    return ReferenceRuns(runs, cells[0][-1], named, plan.replicates, price)


def burn_in(
    verdicts: JointVerdicts, required: Sequence[str], times: int, runs: ReferenceRuns | None
) -> tuple[dict[str, Any], str]:
    """Test the claims on scores without a change; return the counts of outcomes of the gate, and a sentence.

    Raises
    ------
    InputError
        There are no runs, and the claims are about one cell: there is nothing to exchange it with.
    """
    if runs:
        cells, tables, how = [runs.cell], runs.tables(verdicts.table.most), "run against itself"
    else:
        cells = sorted({cell for text in required for cell in design_of(parse_claim(text), verdicts.arms).all_cells})
        if len(cells) < 2:
            raise InputError(f"--burn-in: the claims are about {cells[0]} alone, and no other cell to exchange it with")
        rng, how = np.random.default_rng(0), "exchanged at random"
        tables = (relabelled(verdicts.table, cells, rng) for _ in range(times))
    texts, outcomes = [row.claim for row in verdicts.rows.values()], Counter[str]()
    settings: dict[str, Any] = {"alpha": verdicts.alpha, "correction": verdicts.correction}
    for table in tables:
        found = evaluate_claims(table, texts, 0, verdicts.arms, **settings)["verdict"]
        by_claim = dict(zip(verdicts.rows, found, strict=True))
        outcomes[outcome_of([by_claim[text] for text in required])] += 1
    # Half of the level of a claim is for each direction; claims share the level of all.
    nominal = verdicts.alpha / 2 if len(texts) == 1 else verdicts.alpha
    if verdicts.correction == "none":
        nominal = min(1.0, len(texts) * verdicts.alpha / 2)
    counts = {verdict: outcomes[verdict] for verdict in ("contradicted", "undecided", "supported")}
    fails, unsure, passes = (counted(count, "time") for count in counts.values())
    return {"times": times, "cells": cells, "nominal": nominal, **counts}, (
        f"Without a change ({', '.join(cells)} {how}, {counted(times, 'time')}) a claim is contradicted {fails} "
        f"({counts['contradicted'] / times:.1%}; the level of the tests allows {nominal:.1%}), else one is undecided "
        f"{unsure}, and all are supported {passes}."
    )
