"""Knowledge pools: what was retrieved for every question, kept with the experiment.

A debate reads its pool from here and never retrieves anything itself, so that all arms of a grid see the same
passages, and a finished experiment can be replayed without its sources.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.knowledge.passages import Passage, Source
from cortexdsl.terms import Question

SCHEMA_VERSION = 1


async def build_pool(
    questions: Sequence[Question],
    sources: Sequence[tuple[Source, int]],
    kept: Iterable[Mapping[str, Any]] = (),
    keep: Callable[[Mapping[str, Any]], object] = lambda record: None,
    connections: int = 8,
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
    connections : int
        Queries at once.

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
    gate = asyncio.Semaphore(connections)

    async def ask(key: str, source: Source, query: str, top: int) -> None:
        async with gate:
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


def read_pool(path: Path, sources: Sequence[str]) -> Mapping[str, tuple[Passage, ...]]:
    """Read the pools of a method.

    Parameters
    ----------
    path : Path
        A pools file.
    sources : sequence of str
        Whose passages are wanted, in the order in which they are numbered: `["wiki", "web"]`, or one of them;
        none at all gives every question an empty pool.

    Returns
    -------
    mapping of question id to tuple of Passage
        Passages by source, then by rank, identical ones once (`merge`): the n-th is passage n of a prompt.

    Raises
    ------
    RecordError
        If the file is missing or of another version, a line cannot be read, or a question lacks a source.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: the pools cannot be read ({error})\n    build them: cortexdsl pool") from None
    pools: dict[str, dict[str, tuple[Passage, ...]]] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        question, source, passages = _read(line, f"{path}:{number}")
        pools.setdefault(question, {})[source] = passages
    for question, by_source in pools.items():
        for source in sources:
            if source not in by_source:
                raise RecordError(
                    f"{path}: question {question} has no passages of {source} (there: {', '.join(by_source)})\n"
                    "    build the pools again: cortexdsl pool"
                )
    return MappingProxyType(
        {question: merge([found[source] for source in sources]) for question, found in pools.items()}
    )


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


def _read(line: str, where: str) -> tuple[str, str, tuple[Passage, ...]]:
    try:
        row = json.loads(line)
        version = row["schema_version"]
        if version == SCHEMA_VERSION:
            return str(row["question_id"]), str(row["source"]), tuple(Passage(**said) for said in row["passages"])
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{where}: no line of a pool ({error})\n    build the pools again: cortexdsl pool") from None
    raise RecordError(f"{where}: schema_version is {version!r}, not {SCHEMA_VERSION}\n    build the pools again")
