"""JSON Schema of the language, from the types that check it; editors complete and underline by it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from cortexdsl.spec.grammar.protocols.protocol import ProtocolText
from cortexdsl.spec.grammar.sheet import SpecText

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Kind: TypeAlias = Literal["spec", "protocol"]


def json_schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a spec or of a protocol file.

    It knows every key, word and bound; what needs several sections at once (names that must exist, counts against
    the number of agents) is for `cortexdsl check` alone. A spec that extends others may leave sections to them.
    """
    entry = SpecText if kind == "spec" else ProtocolText
    schema = entry.model_json_schema(by_alias=True, mode="validation")
    if kind == "spec":
        schema["anyOf"] = [{"required": ["extends"]}, {"required": schema.pop("required")}]
    return {"$schema": DIALECT, **schema, "title": f"cortexdsl {kind}"}
