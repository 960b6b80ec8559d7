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
from dataclasses import dataclass, field, replace
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

Rounds: TypeAlias = tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class ForeignTranscript:
    """One debate of another program: a line of the format. Lists are by agent, then by round, and rounds may be absent.

    Attributes
    ----------
    agents : replies, str or None
        None: the agent was not run in that round. The last round has at least one reply.
    question_id : str
        The key `id` of a line.
    dataset, group : str
        A dataset written `MMLU/prehistory` is the dataset MMLU, group prehistory; the group may be empty.
    cell : str
    replicate : int
    names, models : tuple of str
    personas : tuple of str or None
    heard : tuple of tuple of (speaker, listener), or None
        Of the rounds after the opening; None: everyone heard everyone.
    confidence, prompt_tokens, completion_tokens : numbers or None
        As `agents`.
    final : str or None
        The reply or answer that the debate ended with; None: the majority of the last round.
    where : str
        `file:line`, for messages.
    task : mapping
        question, answer (the gold), choices, context, cluster: whichever the line has, untouched.
    """

    agents: tuple[tuple[str | None, ...], ...]
    question_id: Any = None
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
    where: str = ""
    group: str = ""
    task: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def replies(self) -> Rounds:
        """The replies by round, then by agent."""
        rounds = list(zip_longest(*self.agents))
        while rounds and all(text is None for text in rounds[-1]):
            rounds.pop()
        return tuple(rounds)

    def number(self, word: str, agent: int, round_: int) -> Any:
        """Return a number that goes with a reply; None if there is none."""
        lists = getattr(self, word)
        return lists[agent][round_] if lists and round_ < len(lists[agent]) else None


_CODEC = Codec(keys={"ForeignTranscript.question_id": "id"})
_NUMBERS = ("confidence", "prompt_tokens", "completion_tokens")
_OF_QUESTION = ("question", "answer", "choices", "context", "cluster")
WORDS = (
    "agents", "id", "dataset", "cell", "replicate", "names", "personas", "models", "heard", *_NUMBERS, "final",
    *_OF_QUESTION,
)  # fmt: skip
"""The words of the format; a map of fields assigns them to the columns of a foreign file."""


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
    lists = {word: list(words[word].values()) for word in ("agents", *_NUMBERS) if isinstance(words.get(word), dict)}
    if isinstance(model, str):
        words["models"] = [model] * (len(agents) if isinstance(agents, list | dict) else 0)
    line = _CODEC.read(ForeignTranscript, words | lists)
    count, rounds = len(line.agents), len(line.replies)
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
    label, _, group = line.dataset.partition("/")
    for word, name in (("dataset", label), ("cell", line.cell)):
        if not name.strip(". ") or any(character in name for character in "/\\\0"):
            raise FieldError(f"{word} is {name!r}, which cannot name a folder")
    identity = number if line.question_id is None else line.question_id
    return replace(
        line, where=where, dataset=label, group=group, names=names, personas=line.personas or (None,) * count,
        question_id=str(identity) if isinstance(identity, int) else read_at("id", text, identity),
        task={word: words[word] for word in _OF_QUESTION if word in words},
    )  # fmt: skip


def _check_edges(heard: Sequence[Sequence[Any]], names: Sequence[str], rounds: int) -> None:
    if len(heard) != rounds - 1:
        raise FieldError(f"heard has {len(heard)} rounds; there are {rounds - 1} after the opening")
    for r, edges in enumerate(heard):
        for k, pair in enumerate(edges):
            if not isinstance(pair, list) or len(pair) != 2 or not set(map(str, pair)) <= set(names):
                raise FieldError(f"heard[{r}][{k}] is not a pair [speaker, listener] of {', '.join(names)}")


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
    rounds = transcript.replies
    for round_, replies in enumerate(rounds):
        graph = _graph(transcript, rounds, round_)
        now: dict[str, int] = {}
        for k, reply in enumerate(replies):
            if reply is not None:
                now[transcript.names[k]] = len(turns)
                turns.append(_turn(transcript, reader, len(turns), round_, k, reply, graph, latest))
        latest |= now
        if graph is not None:
            graphs.append(graph)
    last = [turn for turn in turns if turn.round == len(rounds) - 1]
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
        rounds=len(rounds) - 1,
        stop="consensus" if len(answers) == 1 and None not in answers else "rounds",
    )


def _graph(transcript: ForeignTranscript, rounds: Rounds, round_: int) -> Graph | None:
    if round_ == 0:
        return None
    names = transcript.names
    listeners = tuple(name for name, text in zip(names, rounds[round_], strict=True) if text is not None)
    if transcript.heard is None:
        before = zip(names, rounds[round_ - 1], strict=True)
        speakers = tuple(name for name, text in before if text is not None)
        heard = np.array([[speaker != listener for listener in listeners] for speaker in speakers], dtype=bool)
    else:
        speakers, edges = names, {(str(one), str(other)) for one, other in transcript.heard[round_ - 1]}
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
    stated = transcript.number("confidence", k, round_)
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
        prompt_tokens=transcript.number("prompt_tokens", k, round_),
        completion_tokens=transcript.number("completion_tokens", k, round_),
        call="",
    )
