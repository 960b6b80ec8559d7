"""Debate records: one debate a line of JSON, written so that equal debates are equal bytes, and read with checks.

Keys are in the order of the contract (docs/records.md). Floats are the shortest text that gives them back. Text is in
ASCII escapes, so that NULs and lone surrogates of a hostile reply survive. A number that is not finite is null. Errors
of reading name the file, the line and the path of the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args

from cortexdsl.checksums import LineState, line_state, with_checksum, write_lines
from cortexdsl.core import (
    Agent,
    Debate,
    DebateSource,
    Deferred,
    Graph,
    Model,
    RoleChoice,
)
from cortexdsl.errors import RecordError
from cortexdsl.records.json_values import (
    FieldError,
    Fields,
    factors_from_json,
    factors_to_json,
    flags_from_json,
    flags_to_json,
    integer_item,
    number_item,
    numbers_from_json,
    numbers_to_json,
    text_item,
)
from cortexdsl.records.turns import (
    finite,
    measured_from_json,
    measured_to_json,
    refuse_constant,
    turn_from_json,
    turn_to_json,
)

SCHEMA_VERSION = 6
NEWEST_SINCE = 6
MEASURED_SINCE = 5
CHOSEN_SINCE = 4
PLAIN_VERSION = 3
"""A debate is written in the earliest version that has all its fields."""
SEALED_SINCE = 2
_SOURCES = get_args(DebateSource)
_STOPS = ("consensus", "agreed", "condition", "rounds")


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
    line = {
        "schema_version": _version(debate),
        "experiment": header.experiment,
        "dataset": header.dataset,
        "cell": header.cell,
        "replicate": header.replicate,
        "guided": header.guided,
        **({"without": header.without} if header.without else {}),
        "question_id": debate.question_id,
        **_debate(debate),
    }
    return with_checksum(json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _debate(debate: Debate) -> dict[str, Any]:
    """Return a debate without its question; fields that most debates do not need only if they have a value."""
    more: dict[str, Any] = {"choices": [_choice(choice) for choice in debate.choices]} if debate.choices else {}
    more |= {"wording": debate.wording} if debate.wording else {}
    more |= {"step_models": _step_models(debate)} if debate.step_models else {}
    more |= {"standing": [list(turns) for turns in debate.standing]} if debate.standing else {}
    more |= {"confidence": measured_to_json(debate.confidence)} if debate.confidence is not None else {}
    more |= {"deferred": _deferred(debate.deferred)} if debate.deferred is not None else {}
    return {
        "agents": [_agent(agent) for agent in debate.agents],
        "turns": [turn_to_json(turn) for turn in debate.turns],
        "graphs": [_graph(graph, debate.question_id) for graph in debate.graphs],
        "answer": debate.answer,
        "votes": {answer: float(debate.votes[answer]) for answer in sorted(debate.votes)},
        "was_tied": debate.was_tied,
        "rounds": debate.rounds,
        "stop": debate.stop,
        **({"images": list(debate.images)} if debate.images else {}),
        **more,
    }


def _deferred(deferred: Deferred) -> dict[str, Any]:
    return {"to": deferred.to, "below": deferred.below, "own": deferred.own, "debate": _debate(deferred.debate)}


def _version(debate: Debate) -> int:
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


def _agent(agent: Agent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "model": agent.model.model,
        "model_entry": agent.model.name,
        "persona": agent.persona,
        **_sizes(agent.model),
        **({"given": dict(agent.given)} if agent.given else {}),
    }


def _step_models(debate: Debate) -> dict[str, Any]:
    return {
        step: {"model": model.model, "model_entry": model.name, **_sizes(model)}
        for step, model in sorted(debate.step_models.items())
    }


def _sizes(model: Model) -> dict[str, float | None]:
    return {"parameters": finite(model.parameters), "tokens": finite(model.tokens)}


def _choice(choice: RoleChoice) -> dict[str, Any]:
    return {
        "turn": choice.turn,
        "round": choice.round,
        "role": choice.role,
        "candidates": list(choice.candidates),
        "weight": list(choice.weight),
        "chosen": list(choice.chosen),
    }


def _graph(graph: Graph, question: str) -> dict[str, Any]:
    where = f"question {question!r}, round {graph.round}, step {graph.step!r}"
    return {
        "round": graph.round,
        "step": graph.step,
        "speakers": list(graph.speakers),
        "listeners": list(graph.listeners),
        "weight": None if graph.weight is None else numbers_to_json(graph.weight, f"{where}: weight"),
        "heard": flags_to_json(graph.heard),
        "factors": factors_to_json(graph.factors, where),
    }


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
        fields = Fields(json.loads(line, parse_constant=refuse_constant))
        _check_version(fields, seal)
        return Record(_read_header(fields), _read_debate(fields, fields.text("question_id")))
    except FieldError as error:
        raise RecordError(f"{where}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(
            f"{where}: not a line of JSON ({error}); was the file cut off or edited?\n    {RESTORE}"
        ) from None


def _check_version(fields: Fields, seal: LineState) -> None:
    if "schema_version" not in fields:
        raise FieldError("schema_version is missing: this is not a debate record (docs/records.md)")
    version = fields.integer("schema_version")
    if version > SCHEMA_VERSION:
        raise FieldError(
            f"schema_version {version} comes from a newer cortexdsl (this one reads up to {SCHEMA_VERSION}); update it"
        )
    if version < 1:
        raise FieldError(f"schema_version {version} was never in use")
    if version >= SEALED_SINCE and seal is LineState.ABSENT:
        raise FieldError(f"the line has no checksum: it was changed after it was written: {RESTORE}")


def _read_header(fields: Fields) -> Header:
    return Header(
        experiment=fields.text("experiment"),
        dataset=fields.text("dataset"),
        cell=fields.text("cell"),
        replicate=fields.integer("replicate"),
        guided=fields.boolean("guided"),
        without=fields.text("without") if "without" in fields else "",
    )


def _read_debate(fields: Fields, question: str) -> Debate:
    return Debate(
        question_id=question,
        agents=fields.sequence("agents", _read_agent),
        turns=fields.sequence("turns", turn_from_json),
        graphs=fields.sequence("graphs", _read_graph),
        answer=fields.text_or_none("answer"),
        votes=fields.mapping("votes", number_item),
        was_tied=fields.boolean("was_tied"),
        rounds=fields.integer("rounds"),
        stop=cast(Any, fields.word("stop", _STOPS)),
        images=fields.sequence("images", text_item) if "images" in fields else (),
        choices=fields.sequence("choices", _read_choice) if "choices" in fields else (),
        standing=fields.sequence("standing", _read_turns) if "standing" in fields else (),
        wording=fields.integer("wording") if "wording" in fields else 0,
        step_models=fields.mapping("step_models", _read_model) if "step_models" in fields else {},
        confidence=measured_from_json(fields.raw("confidence"), fields.name("confidence"), _SOURCES)
        if "confidence" in fields
        else None,
        deferred=_read_deferred(fields.raw("deferred"), question) if "deferred" in fields else None,
    )


def _read_deferred(value: Any, question: str) -> Deferred:
    fields = Fields(value, "deferred")
    return Deferred(
        to=fields.text("to"),
        below=number_item(fields.raw("below"), fields.name("below")),
        own=fields.text_or_none("own"),
        debate=_read_debate(Fields(fields.raw("debate")), question),
    )


def _read_turns(value: Any, where: str) -> tuple[int, ...]:
    return Fields({where: value}).sequence(where, integer_item)


def _read_choice(value: Any, where: str) -> RoleChoice:
    fields = Fields(value, where)
    return RoleChoice(
        turn=fields.integer("turn"),
        round=fields.integer("round"),
        role=fields.text("role"),
        candidates=fields.sequence("candidates", text_item),
        weight=fields.sequence("weight", number_item),
        chosen=fields.sequence("chosen", text_item),
    )


def _read_agent(value: Any, where: str) -> Agent:
    fields = Fields(value, where)
    model = _read_model(value, where)
    given = fields.mapping("given", number_item) if "given" in fields else {}
    return Agent(fields.text("name"), model, fields.text_or_none("persona"), MappingProxyType(given))


def _read_model(value: Any, where: str) -> Model:
    fields = Fields(value, where)
    return Model(
        name=fields.text("model_entry"),
        model=fields.text("model"),
        parameters=fields.number_or_none("parameters"),
        tokens=fields.number_or_none("tokens"),
    )


def _read_graph(value: Any, where: str) -> Graph:
    fields = Fields(value, where)
    speakers, listeners = fields.sequence("speakers", text_item), fields.sequence("listeners", text_item)
    shape = (len(speakers), len(listeners))
    weight = None if fields.raw("weight") is None else numbers_from_json(fields.raw("weight"), fields.name("weight"))
    heard = flags_from_json(fields.raw("heard"), fields.name("heard"))
    factors = factors_from_json(fields)
    if heard.shape != shape or (weight is not None and weight.shape != shape):
        raise FieldError(f"{where}: heard and weight must be {shape[0]} speakers by {shape[1]} listeners")
    if any(factor.shape not in (shape[:1], shape) for factor in factors.values()):
        raise FieldError(f"{where}.factors must each be one number a speaker, or one a pair")
    return Graph(
        round=fields.integer("round"),
        step=fields.text("step"),
        speakers=speakers,
        listeners=listeners,
        weight=weight,
        heard=heard,
        factors=factors,
    )
