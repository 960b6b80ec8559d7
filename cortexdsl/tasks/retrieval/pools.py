"""Knowledge pools: the passages that were retrieved for every question, stored with the experiment.

A debate reads its pool from here and never retrieves anything itself. So all arms of a grid see the same passages, and
a finished experiment can be replayed without its sources.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.core import Question
from cortexdsl.errors import RecordError
from cortexdsl.tasks.line_files import read_lines
from cortexdsl.tasks.retrieval.corpus import Passage, Source

SCHEMA_VERSION = 1
_REMEDY = "build the pools again: cortexdsl pool"


async def build_pool(
    questions: Sequence[Question],
    sources: Sequence[tuple[Source, int]],
    kept: Iterable[Mapping[str, Any]] = (),
    keep: Callable[[Mapping[str, Any]], object] = lambda record: None,
    gate: AbstractAsyncContextManager[object] | None = None,
) -> tuple[str, ...]:
    """Retrieve passages for every question from every source.

    Parameters
    ----------
    questions : sequence of Question
        The query is a question's text, its white space made single spaces.
    sources : sequence of (Source, int)
        And how many passages each gives.
    kept : iterable of mappings
        What `keep` was given in earlier runs: none of it is asked again. A record belongs to a source's
        identity, the query and the number asked for, whatever the source is called.
    keep : function
        Called once with every result as it comes, `{schema_version, key, query, passages}`.
    gate : asynchronous context manager or None
        Entered by each query; by default eight may be under way at once.

    Returns
    -------
    tuple of str
        The lines of a pools file, by question, then by source: `{schema_version, question_id, source, query,
        passages}`.

    Raises
    ------
    CortexError
        The first failure of a source; what came before it was kept.
    """
    found = {record["key"]: record["passages"] for record in kept}
    entered = gate or asyncio.Semaphore(8)

    async def ask(key: str, source: Source, query: str, top: int) -> None:
        async with entered:
            passages = [asdict(passage) for passage in await source.retrieve(query, top)]
        keep({"schema_version": SCHEMA_VERSION, "key": key, "query": query, "passages": passages})
        found[key] = passages

    wanted = [(question, source, top) for question in questions for source, top in sources]
    missing = {
        key: (source, _query(question), top)
        for question, source, top in wanted
        if (key := _key(source, _query(question), top)) not in found
    }
    try:
        async with asyncio.TaskGroup() as group:
            for key, (source, query, top) in missing.items():
                group.create_task(ask(key, source, query, top))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return tuple(
        json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "question_id": question.id,
                "source": source.name,
                "query": (query := _query(question)),
                "passages": [{**p, "source": source.name} for p in found[_key(source, query, top)]],
            },
            ensure_ascii=False,
        )
        for question, source, top in wanted
    )


def read_pools(paths: Sequence[Path]) -> Mapping[str, tuple[Passage, ...]]:
    """Read the pools of a method.

    Parameters
    ----------
    paths : sequence of Path
        Pools files, in the order in which their passages are numbered: `wiki.jsonl, web.jsonl`, or one of them.

    Returns
    -------
    mapping of question id to tuple of Passage
        By file, then by source and rank as in the file, identical passages once (`merge`): the n-th is passage n of
        a prompt. Empty without a file.

    Raises
    ------
    RecordError
        If a file is missing or of another version, a line cannot be read, or a question is not in every file.
    """
    pools = [_by_question(path) for path in paths]
    asked = {question: None for pool in pools for question in pool}
    for path, pool in zip(paths, pools, strict=True):
        if lacking := [question for question in asked if question not in pool]:
            raise RecordError(f"{path}: no line for question {lacking[0]} ({len(lacking)} in all)\n    {_REMEDY}")
    return MappingProxyType({question: merge(pool[question] for pool in pools) for question in asked})


def merge(pools: Iterable[Sequence[Passage]]) -> tuple[Passage, ...]:
    """Return the passages of several pools in their order; of those that say the same, the first alone.

    Two passages say the same when their texts differ in white space alone, whatever their titles are.
    """
    kept: dict[str, Passage] = {}
    for pool in pools:
        for passage in pool:
            kept.setdefault(" ".join(passage.text.split()), passage)
    return tuple(kept.values())


def _query(question: Question) -> str:
    return " ".join(question.text.split())


def _key(source: Source, query: str, top: int) -> str:
    return hashlib.sha256(json.dumps([source.identity, query, top]).encode()).hexdigest()


def _by_question(path: Path) -> dict[str, list[Passage]]:
    pools: dict[str, list[Passage]] = {}
    for question, passages in read_lines(path, "pools", SCHEMA_VERSION, _REMEDY, _pooled):
        pools.setdefault(question, []).extend(passages)
    return pools


def _pooled(row: Mapping[str, Any]) -> tuple[str, list[Passage]]:
    return str(row["question_id"]), [Passage(**said) for said in row["passages"]]
