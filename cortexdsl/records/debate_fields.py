"""The reading half of a record: the parts of a debate from its JSON object, each checked."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, cast, get_args

from cortexdsl.core import (
    Agent,
    Debate,
    DebateSource,
    Deferred,
    Graph,
    Model,
    RoleChoice,
)
from cortexdsl.records.json_values import (
    FieldError,
    Fields,
    factors_from_json,
    flags_from_json,
    integer_item,
    number_item,
    numbers_from_json,
    text_item,
)
from cortexdsl.records.turns import measured_from_json, turn_from_json

DEBATE_SOURCES = get_args(DebateSource)
STOPS = ("consensus", "agreed", "condition", "rounds")


def read_debate_fields(fields: Fields, question: str) -> Debate:
    """Return a debate from its JSON object.

    Raises
    ------
    FieldError
    """
    return Debate(
        question_id=question,
        agents=fields.sequence("agents", _read_agent),
        turns=fields.sequence("turns", turn_from_json),
        graphs=fields.sequence("graphs", _read_graph),
        answer=fields.text_or_none("answer"),
        votes=fields.mapping("votes", number_item),
        was_tied=fields.boolean("was_tied"),
        rounds=fields.integer("rounds"),
        stop=cast(Any, fields.word("stop", STOPS)),
        images=fields.sequence("images", text_item) if "images" in fields else (),
        choices=fields.sequence("choices", _read_choice) if "choices" in fields else (),
        standing=fields.sequence("standing", _read_turns) if "standing" in fields else (),
        wording=fields.integer("wording") if "wording" in fields else 0,
        step_models=fields.mapping("step_models", _read_model) if "step_models" in fields else {},
        confidence=measured_from_json(fields.raw("confidence"), fields.name("confidence"), DEBATE_SOURCES)
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
        debate=read_debate_fields(Fields(fields.raw("debate")), question),
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
