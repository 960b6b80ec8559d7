"""Transcripts of debates that other programs ran, in the plain import format (docs/records.md).

One debate a line of JSON: what each agent said in each round. `agents` alone is needed; everything else has a
default, and a column by another name is taken through a map of fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl.errors import DataError
from cortexdsl.records.fields import FieldError, Fields, number_item, text_item, whole_item
from cortexdsl.terms import EMPTY

Edge: TypeAlias = tuple[str, str]

WORDS = (
    "id", "dataset", "cell", "replicate", "agents", "names", "personas", "models", "heard", "confidence",
    "prompt_tokens", "completion_tokens", "final", "question", "answer", "choices", "context", "cluster",
)  # fmt: skip
"""Every word of the format; a map of fields says which column of a foreign file is which word."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One debate as it was said.

    Attributes
    ----------
    where : str
        `file:line`, for messages.
    dataset, group : str
        A dataset written `MMLU/prehistory` is the dataset MMLU, group prehistory; the group may be empty.
    cell : str
    replicate : int
    question_id : str
    names, models : tuple of str
    personas : tuple of str or None
    said : tuple of rounds, each a tuple over agents of str or None
        None: the agent was not run in that round. The last round has at least one reply.
    confidence : as `said`, of float or None
    prompt_tokens, completion_tokens : as `said`, of int or None
    heard : tuple of tuple of (speaker, listener), or None
        Of the rounds after the opening; None: everyone heard everyone.
    final : str or None
        The reply or answer that the debate ended with; None: the majority of the last round.
    task : mapping
        question, answer (the gold), choices, context, cluster: whichever the line has, untouched.
    """

    where: str
    dataset: str
    group: str
    cell: str
    replicate: int
    question_id: str
    names: tuple[str, ...]
    models: tuple[str, ...]
    personas: tuple[str | None, ...]
    said: tuple[tuple[str | None, ...], ...]
    confidence: tuple[tuple[float | None, ...], ...]
    prompt_tokens: tuple[tuple[int | None, ...], ...]
    completion_tokens: tuple[tuple[int | None, ...], ...]
    heard: tuple[tuple[Edge, ...], ...] | None
    final: str | None
    task: Mapping[str, Any]


def read_transcripts(path: Path, *, dataset: str, cell: str, fields: Mapping[str, str] = EMPTY) -> Iterator[Transcript]:
    """Yield the transcripts of a JSON Lines file.

    Parameters
    ----------
    path : Path
    dataset, cell : str
        Of lines that name none.
    fields : mapping of word to column
        Columns that are called otherwise than the format's words (`{"answer": "gold"}`).

    Raises
    ------
    DataError
        The file is missing, a word is unknown, or a line is no transcript; names file, line and field.
    """
    for word in fields:
        if word not in WORDS:
            near = get_close_matches(word, WORDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(WORDS)}"
            raise DataError(f"a transcript has no field {word!r}\n    {hint}")
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _transcript(line, f"{path}:{number}", str(number), dataset, cell, fields)


def _transcript(line: bytes, where: str, number: str, dataset: str, cell: str, fields: Mapping[str, str]) -> Transcript:
    try:
        row = Fields(json.loads(line))
        words = {word: row.raw(fields.get(word, word)) for word in WORDS if fields.get(word, word) in row}
        words = {word: value for word, value in words.items() if value is not None}
        return _checked(Fields(words), words, where, number, dataset, cell)
    except FieldError as error:
        raise DataError(f"{where}: {error}\n    the import format is described in docs/records.md") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not a line of JSON ({error})") from None


def _checked(line: Fields, words: Mapping[str, Any], where: str, number: str, dataset: str, cell: str) -> Transcript:
    names, lists = _agents(line, words)
    said = _by_round(lists, len(names), "agents", text_item)
    while said and all(text is None for text in said[-1]):
        said = said[:-1]
    if not said:
        raise FieldError("agents: nobody said anything")
    label, _, group = (line.text("dataset") if "dataset" in line else dataset).partition("/")
    arm = line.text("cell") if "cell" in line else cell
    for word, name in (("dataset", label), ("cell", arm)):
        if not name.strip(". ") or any(character in name for character in "/\\\0"):
            raise FieldError(f"{word} is {name!r}, which cannot name a folder")
    identity = words.get("id", number)
    model = words.get("models", "unknown")
    return Transcript(
        where=where,
        dataset=label,
        group=group,
        cell=arm,
        replicate=line.whole("replicate") if "replicate" in line else 1,
        question_id=str(identity) if isinstance(identity, int) else text_item(identity, "id"),
        names=names,
        models=(model,) * len(names) if isinstance(model, str) else _each(line, "models", names),
        personas=_each(line, "personas", names) if "personas" in line else (None,) * len(names),
        said=said,
        confidence=_beside(words, "confidence", said, number_item),
        prompt_tokens=_beside(words, "prompt_tokens", said, whole_item),
        completion_tokens=_beside(words, "completion_tokens", said, whole_item),
        heard=_edges(line, names, len(said)) if "heard" in line else None,
        final=line.text("final") if "final" in line else None,
        task={word: words[word] for word in ("question", "answer", "choices", "context", "cluster") if word in words},
    )


def _agents(line: Fields, words: Mapping[str, Any]) -> tuple[tuple[str, ...], Sequence[Any]]:
    agents = line.raw("agents")
    if isinstance(agents, dict):
        return tuple(agents), list(agents.values())
    lists = line.sequence("agents", lambda value, _: value)
    names = (
        line.sequence("names", text_item) if "names" in words else tuple(f"agent {k + 1}" for k in range(len(lists)))
    )
    if len(names) != len(lists) or len(set(names)) != len(names):
        raise FieldError(f"names: {len(lists)} agents need as many different names, not {list(names)}")
    return names, lists


def _each(line: Fields, word: str, names: Sequence[str]) -> tuple[str, ...]:
    values = line.sequence(word, text_item)
    if len(values) != len(names):
        raise FieldError(f"{word} has {len(values)} items for {len(names)} agents")
    return values


def _by_round(lists: Sequence[Any], agents: int, word: str, read: Any) -> tuple[tuple[Any, ...], ...]:
    """Turn lists by agent, of different lengths, into rounds; what is absent or null is None."""
    for k, items in enumerate(lists):
        if not isinstance(items, list):
            raise FieldError(f"{word}[{k}] is not a list of what the agent has in each round")
    rounds = max(map(len, lists), default=0)
    return tuple(
        tuple(
            None if r >= len(lists[k]) or lists[k][r] is None else read(lists[k][r], f"{word}[{k}][{r}]")
            for k in range(agents)
        )
        for r in range(rounds)
    )


def _beside(
    words: Mapping[str, Any], word: str, said: Sequence[Sequence[str | None]], read: Any
) -> tuple[tuple[Any, ...], ...]:
    """Read numbers that stand beside the replies: as many lists as agents; rounds may be absent."""
    agents = len(said[0])
    lists = words.get(word, [[]] * agents)
    lists = list(lists.values()) if isinstance(lists, dict) else lists
    if not isinstance(lists, list) or len(lists) != agents:
        raise FieldError(f"{word} must be one list for each of the {agents} agents")
    rounds = _by_round(lists, agents, word, read)
    if len(rounds) > len(said):
        raise FieldError(f"{word} has {len(rounds)} rounds where the agents spoke in {len(said)}")
    return rounds + ((None,) * agents,) * (len(said) - len(rounds))


def _edges(line: Fields, names: Sequence[str], rounds: int) -> tuple[tuple[Edge, ...], ...]:
    def pair(value: Any, where: str) -> Edge:
        if not isinstance(value, list) or len(value) != 2 or not set(map(str, value)) <= set(names):
            raise FieldError(f"{where} is not a pair [speaker, listener] of {', '.join(names)}")
        return str(value[0]), str(value[1])

    def edges(value: Any, where: str) -> tuple[Edge, ...]:
        if not isinstance(value, list):
            raise FieldError(f"{where} is not a list of pairs [speaker, listener]")
        return tuple(pair(item, f"{where}[{k}]") for k, item in enumerate(value))

    heard = line.sequence("heard", edges)
    if len(heard) != rounds - 1:
        raise FieldError(f"heard has {len(heard)} rounds; there are {rounds - 1} after the opening")
    return heard
