"""The size of a matched cell, rehearsed on one question; and the passages of a rehearsal.

A rehearsal uses passages of the corpus if it is a local file, else made-up ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from cortexdsl.core import Cell, Debate, KnowledgeSource, Method, Question, Render
from cortexdsl.engine.methods import pool_sources, with_pool
from cortexdsl.errors import DataError
from cortexdsl.metrics.matching import budget_in, run_within
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.rehearsal.estimate import Lengths, Rehearsal, run_apart
from cortexdsl.tasks.retrieval.corpus import read_passage

Shown = Mapping[str, str]
"""The title and the text of a passage."""

TOP = 5
_MADE_UP: Shown = {"title": "A made-up passage", "text": "words " * 80}


def made_up_passages(sources: int) -> tuple[Shown, ...]:
    """Return made-up passages for a number of sources."""
    return (_MADE_UP,) * TOP * sources


def passages_for(plan: Plan, cell: Cell) -> tuple[Shown, ...]:
    """Return as many passages as each source of a cell gives to a pool: the first of its corpus, or made-up ones."""
    passages: list[Shown] = []
    for source in pool_sources(cell.debate):
        passages += _passages_of(plan.knowledge[source], Path(plan.spec_path).parent)
    return tuple(passages)


def _passages_of(entry: KnowledgeSource, folder: Path) -> list[Shown]:
    """Return the passages of one source; made-up ones unless its corpus is a readable .jsonl file."""
    path = None if entry.corpus is None else folder / entry.corpus
    shown: list[Shown] = []
    if path is not None and path.suffix == ".jsonl" and path.is_file():
        try:
            with path.open(encoding="utf-8") as stream:
                lines = islice(filter(str.strip, stream), entry.top)
                passages = [read_passage(line, str(path)) for line in lines]
        except (DataError, OSError, UnicodeDecodeError):  # reported when the pool is built
            passages = []
        shown = [{"title": passage.title, "text": passage.text} for passage in passages]
    return shown or [_MADE_UP] * entry.top


def matched_method(plan: Plan, cell: Cell, question: Question, render: Render, lengths: Lengths) -> Method:
    """Return a matched cell at the size that it has in a rehearsed debate of one question."""
    match, other = cell.match, plan.budget_of(cell)
    assert match is not None
    assert other is not None
    ports = Rehearsal(render, lengths)

    async def debated(method: Method, whose: Cell) -> Debate:
        return await ports.debate(with_pool(method, passages_for(plan, whose)), question, seed=plan.seed)

    async def matched() -> Method:
        own, others = plan.call_sizes(cell), plan.call_sizes(other)
        budget = budget_in(await debated(other.debate, other), match, ports.costs(others))
        done = await run_within(
            cell, cell.debate, budget, lambda method: debated(method, cell), lambda debate: ports.costs(own)
        )
        return with_pool(done.method, passages_for(plan, cell))

    return run_apart(matched())
