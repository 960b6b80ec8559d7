"""Reading debate records back: every field checked, every mistake named by file, line and path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

from cortexdsl.errors import RecordError
from cortexdsl.records.debates import SCHEMA_VERSION, SEALED_SINCE, Header, Record
from cortexdsl.records.fields import FieldError, Fields, number_item, text_item, whole_item
from cortexdsl.records.matrices import factors_from_json, flags_from_json, numbers_from_json
from cortexdsl.seals import Seal, seal_of
from cortexdsl.terms import Agent, Aside, Choice, Debate, Graph, Measured, Model, Reads, Source, Turn

RESTORE = "remove the file and run again: its debates are replayed from the call logs, and no model is asked again"
STOPS = ("consensus", "agreed", "condition", "rounds")


def read_debates(path: Path) -> Iterator[Record]:
    """Yield the records of a file in its order, one line in memory at a time.

    Raises
    ------
    RecordError
        The file cannot be read, or a line is no debate record of a known version; names the file and line.
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
        There is no such place, or no record in it.
    """
    if place.is_file():
        return [place]
    folder = place / "debates" if (place / "debates").is_dir() else place
    files = sorted(path for path in folder.rglob("*.jsonl") if not path.name.startswith("."))
    if not files:
        raise RecordError(f"{place}: no debate records there; give a results folder (results/NAME) or a .jsonl file")
    return files


def record_from_json(line: str | bytes, where: str = "record") -> Record:
    """Read one line of JSON; `where` (file:line) stands before every message."""
    seal = seal_of(line.encode("utf-8", "replace") if isinstance(line, str) else line)
    if seal is Seal.BROKEN:
        raise RecordError(f"{where}: it is not what was written: its checksum does not fit\n    {RESTORE}")
    try:
        fields = Fields(json.loads(line, parse_constant=_refuse))
        _check_version(fields, seal)
        return Record(_read_header(fields), _read_debate(fields))
    except FieldError as error:
        raise RecordError(f"{where}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(
            f"{where}: not a line of JSON ({error}); was the file cut off or edited?\n    {RESTORE}"
        ) from None


def _refuse(constant: str) -> None:
    raise FieldError(f"{constant} is no JSON; what is not a number is null")


def _check_version(fields: Fields, seal: Seal) -> None:
    if "schema_version" not in fields:
        raise FieldError("schema_version is missing: this is no debate record (docs/records.md)")
    version = fields.whole("schema_version")
    if version > SCHEMA_VERSION:
        raise FieldError(
            f"schema_version {version} comes from a newer cortexdsl (this one reads up to {SCHEMA_VERSION}); update it"
        )
    if version < 1:
        raise FieldError(f"schema_version {version} was never in use")
    if version >= SEALED_SINCE and seal is Seal.ABSENT:
        raise FieldError(f"the line has no checksum, and is not what was written: {RESTORE}")


def _read_header(fields: Fields) -> Header:
    return Header(
        experiment=fields.text("experiment"),
        dataset=fields.text("dataset"),
        cell=fields.text("cell"),
        replicate=fields.whole("replicate"),
        guided=fields.truth("guided"),
        without=fields.text("without") if "without" in fields else "",
    )


def _read_debate(fields: Fields) -> Debate:
    return Debate(
        question_id=fields.text("question_id"),
        agents=fields.sequence("agents", _read_agent),
        turns=fields.sequence("turns", _read_turn),
        graphs=fields.sequence("graphs", _read_graph),
        answer=fields.text_or_none("answer"),
        votes=fields.mapping("votes", number_item),
        was_tied=fields.truth("was_tied"),
        rounds=fields.whole("rounds"),
        stop=cast(Any, fields.word("stop", STOPS)),
        images=fields.sequence("images", text_item) if "images" in fields else (),
        choices=fields.sequence("choices", _read_choice) if "choices" in fields else (),
        standing=fields.sequence("standing", _read_turns) if "standing" in fields else (),
    )


def _text_or_none(value: Any, where: str) -> str | None:
    return None if value is None else text_item(value, where)


def _read_turns(value: Any, where: str) -> tuple[int, ...]:
    return Fields({where: value}).sequence(where, whole_item)


def _read_choice(value: Any, where: str) -> Choice:
    fields = Fields(value, where)
    return Choice(
        turn=fields.whole("turn"),
        round=fields.whole("round"),
        role=fields.text("role"),
        candidates=fields.sequence("candidates", text_item),
        weight=fields.sequence("weight", number_item),
        chosen=fields.sequence("chosen", text_item),
    )


def _read_agent(value: Any, where: str) -> Agent:
    fields = Fields(value, where)
    model = Model(
        name=fields.text("model_entry"),
        model=fields.text("model"),
        parameters=fields.number_or_none("parameters"),
        tokens=fields.number_or_none("tokens"),
    )
    return Agent(fields.text("name"), model, fields.text_or_none("persona"))


def _read_turn(value: Any, where: str) -> Turn:
    fields = Fields(value, where)
    turn = Turn(
        turn=fields.whole("turn"),
        execution=fields.whole("execution"),
        round=fields.whole("round"),
        step=fields.text("step"),
        reads=cast(Reads, fields.word("reads", get_args(Reads))),
        speaker=fields.text("speaker"),
        about=fields.text_or_none("about"),
        heard=fields.sequence("heard", whole_item),
        recalled=fields.sequence("recalled", whole_item),
        text=fields.text("text"),
        answer=fields.text_or_none("answer"),
        unparsed=fields.text_or_none("unparsed"),
        confidence_stated=fields.number_or_none("confidence_stated"),
        confidence=fields.number_or_none("confidence"),
        prompt_tokens=fields.whole_or_none("prompt_tokens"),
        completion_tokens=fields.whole_or_none("completion_tokens"),
        call=fields.text("call"),
        reasoning=fields.text("reasoning") if "reasoning" in fields else "",
        reasoning_tokens=fields.whole("reasoning_tokens") if "reasoning_tokens" in fields else None,
        ended=fields.text("ended") if "ended" in fields else None,
        beside=fields.mapping("beside", _text_or_none) if "beside" in fields else {},
        measured=_read_measured(fields.raw("measured"), fields.name("measured")) if "measured" in fields else None,
    )
    if where != f"turns[{turn.turn}]":
        raise FieldError(f"{where}.turn is {turn.turn}: turns are numbered from 0 in the order they were spoken")
    if any(not 0 <= earlier < turn.turn for earlier in turn.heard + turn.recalled):
        raise FieldError(f"{where} heard or recalled a turn that was not spoken before it")
    return turn


def _read_measured(value: Any, where: str) -> Measured:
    fields = Fields(value, where)
    return Measured(
        source=cast(Source, fields.word("source", get_args(Source))),
        confidence=fields.number_or_none("confidence"),
        unmeasured=fields.text_or_none("unmeasured"),
        asides=fields.sequence("calls", _read_aside),
    )


def _read_aside(value: Any, where: str) -> Aside:
    fields = Fields(value, where)
    return Aside(
        call=fields.text("call"),
        said=fields.text_or_none("said"),
        unread=fields.text_or_none("unread"),
        prompt_tokens=fields.whole_or_none("prompt_tokens"),
        completion_tokens=fields.whole_or_none("completion_tokens"),
        reasoning_tokens=fields.whole_or_none("reasoning_tokens"),
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
        round=fields.whole("round"),
        step=fields.text("step"),
        speakers=speakers,
        listeners=listeners,
        weight=weight,
        heard=heard,
        factors=factors,
    )
