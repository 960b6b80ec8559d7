"""JSON Schema of the language, from the types that check it; editors complete and underline by it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import TaggedUnionSchema

from cortexdsl.spec.grammar.protocols.protocol import ProtocolText
from cortexdsl.spec.grammar.sheet import SpecText

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Kind: TypeAlias = Literal["spec", "protocol"]


class _Overlapping(GenerateJsonSchema):
    """What is said in one of several forms may look like two: an agent may be called `say`, as a form of prompt is."""

    def tagged_union_schema(self, schema: TaggedUnionSchema) -> JsonSchemaValue:
        made = super().tagged_union_schema(schema)
        return {"anyOf" if key == "oneOf" else key: value for key, value in made.items()}


def json_schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a spec or of a protocol file.

    It knows every key, word and bound; what needs several sections at once (names that must exist, counts against
    the number of agents) is for `cortexdsl check` alone. A spec that extends others may leave sections to them.
    """
    entry = SpecText if kind == "spec" else ProtocolText
    schema = entry.model_json_schema(by_alias=True, mode="validation", schema_generator=_Overlapping)
    if kind == "spec":
        schema["anyOf"] = [{"required": ["extends"]}, {"required": schema.pop("required")}]
    return {"$schema": DIALECT, **schema, "title": f"cortexdsl {kind}"}
