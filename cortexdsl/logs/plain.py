"""The plain import format (docs/old-runs.md): one debate a line of JSON, what each agent said in each round.

Only `agents` is needed. Everything else has a default, and a map of fields gives other names of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from typing import Any

from cortexdsl.core import EMPTY
from cortexdsl.errors import DataError
from cortexdsl.logs.sources import open_log
from cortexdsl.logs.transcripts import WHERE, Message, Transcript, agent_of
from cortexdsl.typed_json import Codec, FieldError, read_at, text


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the format. Lists are by agent, then by round, and rounds may be absent.

    Attributes
    ----------
    agents : replies, str or None
        None: the agent was not run in that round. The last round has at least one reply.
    dataset, cell, id, replicate, final
        As in a `Transcript`.
    names, models : tuple of str
    personas : tuple of str or None
    heard : tuple of tuple of (speaker, listener), or None
        Of the rounds after the opening; None: everyone heard everyone.
    confidence, prompt_tokens, completion_tokens : numbers or None
        As `agents`.
    """

    agents: tuple[tuple[str | None, ...], ...]
    dataset: str
    cell: str
    id: Any = None
    replicate: int = 1
    names: tuple[str, ...] = ()
    personas: tuple[str | None, ...] = ()
    models: tuple[str, ...] = ()
    heard: tuple[tuple[Any, ...], ...] | None = None
    confidence: tuple[tuple[float | None, ...], ...] = ()
    prompt_tokens: tuple[tuple[int | None, ...], ...] = ()
    completion_tokens: tuple[tuple[int | None, ...], ...] = ()
    final: str | None = None


_CODEC = Codec()
_NUMBERS = ("confidence", "prompt_tokens", "completion_tokens")
_OF_QUESTION = ("question", "answer", "choices", "context", "cluster")
WORDS = (
    "agents", "id", "dataset", "cell", "replicate", "names", "personas", "models", "heard", *_NUMBERS, "final",
    *_OF_QUESTION,
)  # fmt: skip
"""The words of the format; a map of fields assigns them to the columns of a foreign file."""


def read_transcripts(path: Path, *, dataset: str, cell: str, fields: Mapping[str, str] = EMPTY) -> Iterator[Transcript]:
    """Yield the debates of a file.

    Parameters
    ----------
    path : Path
        JSON Lines in the plain format, or a log of a tool whose format has debates.
    dataset, cell : str
        Of lines that name none.
    fields : mapping of word to column
        Columns that are called otherwise than the format's words (`{"answer": "gold"}`).

    Raises
    ------
    DataError
        The file is missing, a word is unknown, or a line is not a transcript; names file, line and field.
    """
    for word in fields:
        if word not in WORDS:
            near = get_close_matches(word, WORDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(WORDS)}"
            raise DataError(f"a transcript has no field {word!r}\n    {hint}")
    try:
        form, rows = open_log(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    if form is not None:
        yield from form.transcripts(path, rows)
        return
    for row in rows:
        try:
            words = {word: row.get(fields.get(word, word)) for word in WORDS}
            words = {word: value for word, value in words.items() if value is not None}
            yield _transcript({"dataset": dataset, "cell": cell} | words, row[WHERE])
        except FieldError as error:
            raise DataError(f"{row[WHERE]}: {error}\n    the import format is described in docs/old-runs.md") from None


def _transcript(words: dict[str, Any], where: str) -> Transcript:
    agents, model = words.get("agents"), words.get("models", "unknown")
    if isinstance(agents, dict):
        words["names"] = list(agents)
    lists = {word: list(words[word].values()) for word in ("agents", *_NUMBERS) if isinstance(words.get(word), dict)}
    if isinstance(model, str):
        words["models"] = [model] * (len(agents) if isinstance(agents, list | dict) else 0)
    line = _CODEC.read(_Line, words | lists)
    count, rounds = len(line.agents), _rounds_of(line.agents)
    names = line.names if "names" in words else tuple(f"agent {k + 1}" for k in range(count))
    if len(names) != count or len(set(names)) != count:
        raise FieldError(f"names: {count} agents need as many different names, not {list(names)}")
    for word in ("models", "personas"):
        if word in words and len(getattr(line, word)) != count:
            raise FieldError(f"{word} has {len(getattr(line, word))} items for {count} agents")
    if not rounds:
        raise FieldError("agents: nobody said anything")
    for word in _NUMBERS:
        if (own := getattr(line, word)) and len(own) != count:
            raise FieldError(f"{word} must be one list for each of the {count} agents")
        if (most := max(map(len, own), default=0)) > rounds:
            raise FieldError(f"{word} has {most} rounds where the agents spoke in {rounds}")
    if line.heard is not None:
        _check_edges(line.heard, names, rounds)
    known = zip_longest(names, line.models, line.personas or (None,) * count)
    identity = where.rpartition(":")[2] if line.id is None else line.id
    return Transcript(
        where, str(identity) if isinstance(identity, int) else read_at("id", text, identity), line.dataset, line.cell,
        line.replicate, tuple(_messages(line, names, rounds)), line.final,
        {word: words[word] for word in _OF_QUESTION if word in words}, tuple(agent_of(*each) for each in known),
    )  # fmt: skip


def _rounds_of(agents: Sequence[Sequence[str | None]]) -> int:
    """Return how many rounds there are until the last reply."""
    return max(
        (number for replies in agents for number, reply in enumerate(replies, 1) if reply is not None), default=0
    )


def _check_edges(heard: Sequence[Sequence[Any]], names: Sequence[str], rounds: int) -> None:
    if len(heard) != rounds - 1:
        raise FieldError(f"heard has {len(heard)} rounds; there are {rounds - 1} after the opening")
    for r, edges in enumerate(heard):
        for k, pair in enumerate(edges):
            if not isinstance(pair, list) or len(pair) != 2 or not set(map(str, pair)) <= set(names):
                raise FieldError(f"heard[{r}][{k}] is not a pair [speaker, listener] of {', '.join(names)}")


def _messages(line: _Line, names: Sequence[str], rounds: int) -> Iterator[Message]:
    """Yield each reply; it heard all earlier rounds of its speakers."""
    for round_ in range(rounds):
        for k, name in enumerate(names):
            if round_ >= len(line.agents[k]) or (reply := line.agents[k][round_]) is None:
                continue
            confidence, sent, replied = (_number(getattr(line, word), k, round_) for word in _NUMBERS)
            heard = None
            if line.heard is not None:
                speakers = [str(one) for one, other in line.heard[round_ - 1] if str(other) == name] if round_ else ()
                heard = [(speaker, earlier) for speaker in speakers for earlier in range(round_)]
            yield Message(name, reply, (name, round_), heard, (round_,), tokens=(sent, replied), confidence=confidence)


def _number(lists: Sequence[Sequence[Any]], agent: int, round_: int) -> Any:
    return lists[agent][round_] if lists and round_ < len(lists[agent]) else None
