"""Transcripts of debates that other programs ran, in the plain import format (docs/old-runs.md), as debate records.

One debate a line of JSON: what each agent said in each round. Only `agents` is needed; everything else has a default,
and a map of fields gives other names of columns. Facts that a transcript lacks stay unknown: call keys, tokens,
confidences that were not stated, own turns. Confidences are not recalibrated.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cortexdsl.core import EMPTY, Agent, Debate, Decide, Graph, Model, Reader, Turn
from cortexdsl.engine.confidence import recalibrate
from cortexdsl.engine.decisions import Decision, vote
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.errors import DataError
from cortexdsl.records import inspect_logs
from cortexdsl.records.every_eval_ever import every_eval_ever_words, is_every_eval_ever
from cortexdsl.records.mallm import is_mallm, mallm_words
from cortexdsl.typed_json import Codec, FieldError, mapping, read_at, text

Edge: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A line of the format, without the words of its question; lists are by agent, then by round."""

    agents: tuple[tuple[str | None, ...], ...]
    id: Any = None
    dataset: str = ""
    cell: str = ""
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
_BY_AGENT = ("agents", "confidence", "prompt_tokens", "completion_tokens")
_OF_QUESTION = ("question", "answer", "choices", "context", "cluster")
WORDS = (*TranscriptLine.__dataclass_fields__, *_OF_QUESTION)
"""The words of the format; a map of fields assigns them to the columns of a foreign file."""


@dataclass(frozen=True, slots=True)
class ForeignTranscript:
    """One debate of another program.

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
    replies : tuple of rounds, each a tuple over agents of str or None
        None: the agent was not run in that round. The last round has at least one reply.
    confidence : as `replies`, of float or None
    prompt_tokens, completion_tokens : as `replies`, of int or None
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
    replies: tuple[tuple[str | None, ...], ...]
    confidence: tuple[tuple[float | None, ...], ...]
    prompt_tokens: tuple[tuple[int | None, ...], ...]
    completion_tokens: tuple[tuple[int | None, ...], ...]
    heard: tuple[tuple[Edge, ...], ...] | None
    final: str | None
    task: Mapping[str, Any]


def read_transcripts(
    path: Path, *, dataset: str, cell: str, fields: Mapping[str, str] = EMPTY
) -> Iterator[ForeignTranscript]:
    """Yield the transcripts of a JSON Lines file.

    Parameters
    ----------
    path : Path
        Or a file of MALLM, samples of Every Eval Ever, or a log of Inspect.
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
    for number, where, row in _rows(path):
        try:
            words = {word: row.get(fields.get(word, word)) for word in WORDS}
            words = {word: value for word, value in words.items() if value is not None}
            yield _checked({"dataset": dataset, "cell": cell} | words, where, str(number))
        except FieldError as error:
            raise DataError(f"{where}: {error}\n    the import format is described in docs/old-runs.md") from None


def _rows(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield the number of each debate, where it stands, and its words, whatever program wrote the file."""
    try:
        is_archive = zipfile.is_zipfile(path) and inspect_logs.is_archive(path)
        data = b"" if is_archive else path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    whole: Any = None
    with suppress(ValueError, RecursionError):  # most files have a debate a line, and a bad line is reported below
        whole = json.loads(data)
    if is_archive or inspect_logs.is_json_log(whole):
        yield from inspect_logs.inspect_words(path)
    elif is_mallm(whole):
        for number, row in enumerate(whole, 1):
            where = f"{path}: debate {number}"
            yield number, where, mallm_words(row, where)
    else:
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                where = f"{path}:{number}"
                yield number, where, _words_of_line(line, where)


def _words_of_line(line: bytes, where: str) -> Mapping[str, Any]:
    try:
        row = read_at("the line", mapping(lambda value: value), json.loads(line))
    except FieldError as error:
        raise DataError(f"{where}: {error}\n    the import format is described in docs/old-runs.md") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not a line of JSON ({error})") from None
    return every_eval_ever_words(row, f"{where}: this sample") if is_every_eval_ever(row) else row


def _checked(words: dict[str, Any], where: str, number: str) -> ForeignTranscript:
    agents, model = words.get("agents"), words.get("models", "unknown")
    if isinstance(agents, dict):
        words["names"] = list(agents)
    lists = {word: list(words[word].values()) for word in _BY_AGENT if isinstance(words.get(word), dict)}
    if isinstance(model, str):
        words["models"] = [model] * (len(agents) if isinstance(agents, list | dict) else 0)
    line = _CODEC.read(TranscriptLine, words | lists)
    count = len(line.agents)
    names = line.names if "names" in words else tuple(f"agent {k + 1}" for k in range(count))
    if len(names) != count or len(set(names)) != count:
        raise FieldError(f"names: {count} agents need as many different names, not {list(names)}")
    for word in ("models", "personas"):
        if word in words and len(getattr(line, word)) != count:
            raise FieldError(f"{word} has {len(getattr(line, word))} items for {count} agents")
    replies = tuple(zip_longest(*line.agents))
    while replies and all(text is None for text in replies[-1]):
        replies = replies[:-1]
    if not replies:
        raise FieldError("agents: nobody said anything")
    label, _, group = line.dataset.partition("/")
    for word, name in (("dataset", label), ("cell", line.cell)):
        if not name.strip(". ") or any(character in name for character in "/\\\0"):
            raise FieldError(f"{word} is {name!r}, which cannot name a folder")
    identity = number if line.id is None else line.id
    return ForeignTranscript(
        where=where,
        dataset=label,
        group=group,
        cell=line.cell,
        replicate=line.replicate,
        question_id=str(identity) if isinstance(identity, int) else read_at("id", text, identity),
        names=names,
        models=line.models,
        personas=line.personas or (None,) * count,
        replies=replies,
        confidence=_per_reply(line, "confidence", replies),
        prompt_tokens=_per_reply(line, "prompt_tokens", replies),
        completion_tokens=_per_reply(line, "completion_tokens", replies),
        heard=None if line.heard is None else _edges(line.heard, names, len(replies)),
        final=line.final,
        task={word: words[word] for word in _OF_QUESTION if word in words},
    )


def _per_reply(line: TranscriptLine, word: str, replies: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return the numbers that go with the replies, by round and agent; rounds may be absent."""
    agents, lists = len(line.agents), getattr(line, word)
    if lists and len(lists) != agents:
        raise FieldError(f"{word} must be one list for each of the {agents} agents")
    rounds = tuple(zip_longest(*lists))
    if len(rounds) > len(replies):
        raise FieldError(f"{word} has {len(rounds)} rounds where the agents spoke in {len(replies)}")
    return rounds + ((None,) * agents,) * (len(replies) - len(rounds))


def _edges(heard: Sequence[Sequence[Any]], names: Sequence[str], rounds: int) -> tuple[tuple[Edge, ...], ...]:
    if len(heard) != rounds - 1:
        raise FieldError(f"heard has {len(heard)} rounds; there are {rounds - 1} after the opening")
    for r, edges in enumerate(heard):
        for k, pair in enumerate(edges):
            if not isinstance(pair, list) or len(pair) != 2 or not set(map(str, pair)) <= set(names):
                raise FieldError(f"heard[{r}][{k}] is not a pair [speaker, listener] of {', '.join(names)}")
    return tuple(tuple((str(speaker), str(listener)) for speaker, listener in edges) for edges in heard)


OPENING, REVISION = "answer", "revise"


def debate_of(transcript: ForeignTranscript, reader: Reader) -> Debate:
    """Make a debate of a transcript.

    Parameters
    ----------
    transcript : ForeignTranscript
    reader : Reader
        Reads each reply as an answer to the question, and `final` too.

    Returns
    -------
    Debate
        Round r holds the replies of the agents that were run in it. An agent hears the latest earlier reply of
        each agent whom `heard` names, or of all others that were run in the round before. Without `final` the
        answer is the majority of the last round, ties settled as everywhere (confidence, then a seeded draw). It
        stopped by `consensus` if the last round agreed, else by `rounds`.
    """
    turns: list[Turn] = []
    graphs: list[Graph] = []
    latest: dict[str, int] = {}
    for round_, replies in enumerate(transcript.replies):
        graph = _graph(transcript, round_)
        now: dict[str, int] = {}
        for k, reply in enumerate(replies):
            if reply is not None:
                now[transcript.names[k]] = len(turns)
                turns.append(_turn(transcript, reader, len(turns), round_, k, reply, graph, latest))
        latest |= now
        if graph is not None:
            graphs.append(graph)
    last = [turn for turn in turns if turn.round == len(transcript.replies) - 1]
    if transcript.final is None:
        chance = ("tie", 0, transcript.replicate, transcript.question_id)
        decision = vote(last, Decide("majority"), lambda: seeded_random(*chance))
    else:
        decision = Decision(reader.read("answer", transcript.final).value)
    answers = {turn.answer for turn in last}
    return Debate(
        question_id=transcript.question_id,
        agents=tuple(
            Agent(name, Model(model, model), persona)
            for name, model, persona in zip(transcript.names, transcript.models, transcript.personas, strict=True)
        ),
        turns=tuple(turns),
        graphs=tuple(graphs),
        answer=decision.answer,
        votes=decision.votes,
        was_tied=decision.was_tied,
        rounds=len(transcript.replies) - 1,
        stop="consensus" if len(answers) == 1 and None not in answers else "rounds",
    )


def _graph(transcript: ForeignTranscript, round_: int) -> Graph | None:
    if round_ == 0:
        return None
    names = transcript.names
    listeners = tuple(name for name, text in zip(names, transcript.replies[round_], strict=True) if text is not None)
    if transcript.heard is None:
        before = zip(names, transcript.replies[round_ - 1], strict=True)
        speakers = tuple(name for name, text in before if text is not None)
        heard = np.array([[speaker != listener for listener in listeners] for speaker in speakers], dtype=bool)
    else:
        speakers, edges = names, set(transcript.heard[round_ - 1])
        heard = np.array([[(speaker, listener) in edges for listener in listeners] for speaker in speakers], dtype=bool)
    return Graph(round_, REVISION, speakers, listeners, None, heard.reshape(len(speakers), len(listeners)), {})


def _turn(
    transcript: ForeignTranscript,
    reader: Reader,
    number: int,
    round_: int,
    k: int,
    text: str,
    graph: Graph | None,
    latest: dict[str, int],
) -> Turn:
    name = transcript.names[k]
    heard: list[int] = []
    if graph is not None:
        kept = graph.heard[:, graph.listeners.index(name)]
        heard = [latest[s] for s, is_heard in zip(graph.speakers, kept, strict=True) if is_heard and s in latest]
    reading = reader.read("answer", text)
    stated = transcript.confidence[round_][k]
    confidence = reading.confidence if stated is None else stated
    return Turn(
        turn=number,
        execution=round_,
        round=round_,
        step=REVISION if round_ else OPENING,
        reads="answer",
        speaker=name,
        about=None,
        heard=tuple(sorted(heard)),
        recalled=(),
        text=text,
        answer=reading.value,
        unparsed=reading.unparsed,
        confidence_stated=confidence,
        confidence=recalibrate(confidence, ()),
        prompt_tokens=transcript.prompt_tokens[round_][k],
        completion_tokens=transcript.completion_tokens[round_][k],
        call="",
    )
