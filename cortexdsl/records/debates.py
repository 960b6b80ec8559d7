"""Debate records: one debate a line of JSON, written so that equal debates are equal bytes, and read with checks.

Keys are in the order of the contract (docs/records.md). Floats are the shortest text that gives them back. Text is in
ASCII escapes, so that NULs and lone surrogates of a hostile reply survive. A number that is not finite is null. Errors
of reading name the file, the line and the path of the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, get_args

from cortexdsl.checksums import LineState, line_state, with_checksum, write_lines
from cortexdsl.core import FORMER_SOURCES, Agent, ConfidenceSource, Debate, DebateSource, Graph, Measured, Model, Turn
from cortexdsl.errors import RecordError
from cortexdsl.records.matrices import (
    factors_from_json,
    factors_to_json,
    flags_from_json,
    flags_to_json,
    numbers_from_json,
    numbers_to_json,
)
from cortexdsl.typed_json import Codec, FieldError, integer, mapping, number, read_at, text

SCHEMA_VERSION = 7
TOOLS_SINCE = 7
NEWEST_SINCE = 6
MEASURED_SINCE = 5
CHOSEN_SINCE = 4
PLAIN_VERSION = 3
"""A debate is written in the earliest version that has all its fields."""
SEALED_SINCE = 2


@dataclass(frozen=True, slots=True)
class Header:
    """The experiment, dataset, cell and replicate of a record.

    Attributes
    ----------
    experiment, dataset, cell : str
    replicate : int
        From 1.
    guided : bool
        Whether an agent's prompt held the gold answer (training data): such a record is never scored.
    without : str
        What a counterfactual debate leaves out, as in the spec (`agent=ann`); empty for an ordinary debate. A
        counterfactual is never scored as a result of its cell.
    """

    experiment: str
    dataset: str
    cell: str
    replicate: int
    guided: bool = False
    without: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One debate with its header."""

    header: Header
    debate: Debate


def debate_to_json(debate: Debate, header: Header) -> str:
    """Return a debate as one line of JSON with a checksum, without a line end.

    Raises
    ------
    RecordError
        A weight or factor is infinite: JSON has no such number.
    """
    try:
        values = {"schema_version": _version(debate), **_CODEC.write(header), **_CODEC.write(debate)}
    except RecordError as error:
        raise RecordError(f"question {debate.question_id!r}, {error}") from None
    return with_checksum(json.dumps(values, ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _version(debate: Debate) -> int:
    if any(turn.requests for turn in debate.all_turns):
        return TOOLS_SINCE
    is_newest = debate.confidence is not None or debate.deferred is not None or debate.step_models
    if is_newest or any(turn.placebos for turn in debate.turns):
        return NEWEST_SINCE
    if any(turn.measured is not None for turn in debate.turns):
        return MEASURED_SINCE
    is_chosen = debate.stop == "condition" or any(turn.beside or turn.reads == "choice" for turn in debate.turns)
    has_more = debate.choices or debate.standing or debate.wording
    return CHOSEN_SINCE if has_more or is_chosen else PLAIN_VERSION


def write_debates(path: Path, records: Iterable[Record]) -> None:
    """Write records to a file, one a line, in the order given; all of them or, after a crash, none."""
    write_lines(path, (debate_to_json(record.debate, record.header) for record in records))


RESTORE = "remove the file and run again: its debates are replayed from the call logs, and no model is asked again"


def read_debates(path: Path) -> Iterator[Record]:
    """Yield the records of a file in its order, one line in memory at a time.

    Raises
    ------
    RecordError
        The file cannot be read, or a line is not a debate record of a known version; names the file and line.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror or error})") from error
    with stream:
        for number, line in enumerate(stream, start=1):
            yield record_from_json(line, f"{path}:{number}")


def read_all(paths: Iterable[str | Path]) -> list[Record]:
    """Return the records of several files, in their order; see `read_debates`."""
    return [record for path in paths for record in read_debates(Path(path))]


def debate_files(place: Path) -> list[Path]:
    """Return the files of debate records of a results folder, of a folder of records, or one file itself, in order.

    Raises
    ------
    RecordError
        There is no such place, or it holds no records.
    """
    if place.is_file():
        return [place]
    is_experiment = (place / "debates").is_dir() or (place / "ledger.jsonl").is_file()
    folder = place / "debates" if is_experiment else place
    files = sorted(path for path in folder.rglob("*.jsonl") if not path.name.startswith("."))
    if not files:
        raise RecordError(f"{place}: no debate records there; give a results folder (results/NAME) or a .jsonl file")
    return files


def record_from_json(line: str | bytes, where: str = "record") -> Record:
    """Read one line of JSON; every message begins with `where` (file:line)."""
    seal = line_state(line.encode("utf-8", "replace") if isinstance(line, str) else line)
    if seal is LineState.BROKEN:
        raise RecordError(f"{where}: the line was changed after it was written: its checksum differs\n    {RESTORE}")
    try:
        values = json.loads(line, parse_constant=_refuse_constant)
        _check_version(values, seal)
        _upgrade(values)
        return Record(_CODEC.read(Header, values), _CODEC.read(Debate, values))
    except FieldError as error:
        raise RecordError(f"{where}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(
            f"{where}: not a line of JSON ({error}); was the file cut off or edited?\n    {RESTORE}"
        ) from None


def _check_version(values: Any, seal: LineState) -> None:
    """Check that this program reads the version of a record; records of all earlier versions have the same fields."""
    read_at("the line", mapping(lambda value: value), values)
    if "schema_version" not in values:
        raise FieldError("schema_version is missing: this is not a debate record (docs/records.md)")
    version = read_at("schema_version", integer, values["schema_version"])
    if version > SCHEMA_VERSION:
        raise FieldError(
            f"schema_version {version} comes from a newer cortexdsl (this one reads up to {SCHEMA_VERSION}); update it"
        )
    if version < 1:
        raise FieldError(f"schema_version {version} was never in use")
    if version >= SEALED_SINCE and seal is LineState.ABSENT:
        raise FieldError(f"the line has no checksum: it was changed after it was written: {RESTORE}")


def _upgrade(values: dict[str, Any]) -> None:
    """Complete the values of a line as the classes need them: a question is written once for all stages."""
    stage = values
    while isinstance(deferred := stage.get("deferred"), dict) and isinstance(deferred.get("debate"), dict):
        stage = deferred["debate"]
        stage["question_id"] = values.get("question_id")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON; a number that is not finite is null")


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """What a record keeps of a model: its name at the provider, its entry in the spec, and its sizes."""

    model: str
    model_entry: str
    parameters: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class RecordedAgent:
    """What a record keeps of an agent and of its model."""

    name: str
    model: str
    model_entry: str
    persona: str | None
    parameters: float | None
    tokens: float | None
    given: Mapping[str, float] = field(default_factory=dict)


def _agent_to_json(agent: Agent) -> dict[str, Any]:
    model = agent.model
    names = agent.name, model.model, model.name, agent.persona
    return _CODEC.write(RecordedAgent(*names, model.parameters, model.tokens, agent.vars))


def _agent_from_json(value: Any) -> Agent:
    agent = _CODEC.read(RecordedAgent, value)
    model = Model(agent.model_entry, agent.model, parameters=agent.parameters, tokens=agent.tokens)
    return Agent(agent.name, model, agent.persona, MappingProxyType(agent.given))


def _model_to_json(model: Model) -> dict[str, Any]:
    return _CODEC.write(RecordedModel(model.model, model.name, model.parameters, model.tokens))


def _model_from_json(value: Any) -> Model:
    model = _CODEC.read(RecordedModel, value)
    return Model(model.model_entry, model.model, parameters=model.parameters, tokens=model.tokens)


def _graph_to_json(graph: Graph) -> dict[str, Any]:
    try:
        return _GRAPH_CODEC.write(graph)
    except RecordError as error:
        raise RecordError(f"round {graph.round}, step {graph.step!r}: {error}") from None


def _stage_to_json(debate: Debate) -> dict[str, Any]:
    """Return the debate of another method about the same question, which is written once."""
    values = _CODEC.write(debate)
    del values["question_id"]
    return values


def _check_graph(graph: Graph) -> None:
    shape = (len(graph.speakers), len(graph.listeners))
    if graph.heard.shape != shape or (graph.weight is not None and graph.weight.shape != shape):
        raise FieldError(f"must have heard and weight of {shape[0]} speakers by {shape[1]} listeners")
    if any(factor.shape not in (shape[:1], shape) for factor in graph.factors.values()):
        raise FieldError("must each be one number a speaker, or one a pair").inside("factors")


def _check_turn(turn: Turn) -> None:
    known = turn.heard + turn.recalled
    if any(not 0 <= earlier < turn.turn for earlier in known):
        raise FieldError("heard or recalled a turn that was not spoken before it")
    if any(placebo.turn not in known for placebo in turn.placebos):
        raise FieldError("replace a turn that it neither heard nor recalled").inside("placebos")
    for kind in ("belief", "quotes"):
        if (written := turn.beside.get(kind)) is not None:
            read_at("beside", partial(read_at, kind, _check_belief), written)
    if any(use.error is not None and use.result for use in turn.uses):
        raise FieldError("hold a use with both a result and an error").inside("requests")
    if turn.measured is not None:
        read_at("measured", partial(_check_source, get_args(ConfidenceSource)), turn.measured)


def _check_belief(written: str) -> None:
    """Check that a belief is an object from answers to probabilities, and quotes one from texts to 0 or 1."""
    for answer, share in mapping(number)(json.loads(written, parse_constant=_refuse_constant)).items():
        if not 0 <= share <= 1:
            raise FieldError("is not from 0 to 1").inside(answer)


def _check_source(words: Sequence[str], measured: Measured) -> None:
    if measured.source not in words:
        raise FieldError(f"is {measured.source!r}, not one of {', '.join(words)}").inside("source")


def _check_debate(debate: Debate) -> None:
    for place, turn in enumerate(debate.turns):
        if turn.turn != place:
            wrong = FieldError(f"is {turn.turn}: turns are numbered from 0 in their order").inside("turn")
            raise wrong.inside(place).inside("turns")
    if debate.confidence is not None:
        read_at("confidence", partial(_check_source, (*get_args(DebateSource), *FORMER_SOURCES)), debate.confidence)


_GRAPH_CODEC = Codec(
    forms={
        "Graph.weight": (
            lambda weight: None if weight is None else numbers_to_json(weight, "weight"),
            lambda value: None if value is None else numbers_from_json(value),
        ),
        "Graph.heard": (flags_to_json, flags_from_json),
        "Graph.factors": (factors_to_json, factors_from_json),
    },
    checks={Graph: _check_graph},
)
_CODEC: Codec = Codec(
    forms={
        Agent: (_agent_to_json, _agent_from_json),
        Model: (_model_to_json, _model_from_json),
        Graph: (_graph_to_json, partial(_GRAPH_CODEC.read, Graph)),
        "Measured.source": (str, text),
        "Debate.votes": (lambda votes: {answer: float(votes[answer]) for answer in sorted(votes)}, mapping(number)),
        "Debate.step_models": (
            lambda models: {step: _model_to_json(models[step]) for step in sorted(models)},
            mapping(_model_from_json),
        ),
        "Deferred.debate": (_stage_to_json, lambda value: _CODEC.read(Debate, value)),
    },
    keys={"Measured.asides": "calls"},
    always=("Header.guided", "Measured.unmeasured", "Measured.asides", "ProbeCall.reasoning_tokens"),
    checks={Turn: _check_turn, Debate: _check_debate},
)
