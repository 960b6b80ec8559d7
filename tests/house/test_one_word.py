"""One word for one thing: no two spellings of a key, no value that is a name as well, no setting without `$name`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.house.language_size import places
from cortexdsl.errors import SpecError
from cortexdsl.language.grammar.experiment import json_schema
from cortexdsl.language.grammar.reserved import RESERVED
from cortexdsl.language.protocol.loader import protocol_of
from cortexdsl.language.reader import parse

SINGULAR_AND_PLURAL = {("SpecText", "dataset"), ("DatasetText", "id")}
"""One entry beside a mapping of several, and the column of ids beside the ids themselves."""
NAMES = {
    "StepText.hears": "roles", "ProtocolText.roles": "agents", "MethodText.roles": "agents",
    "ProtocolText.decide": "roles", "SpecText.teams": "agents", "StepText.each": "roles",
}  # fmt: skip
"""Places where a text is a word of the language or a name, and the section of the names."""


def _words(schema: Any, forms: dict[str, Any]) -> Iterator[str]:
    """Yield the words that a value may be, but not those of the keys of a mapping."""
    for each in schema if isinstance(schema, list) else [schema]:
        if "$ref" not in each:
            yield from (word for word in (*each.get("enum", ()), each.get("const")) if isinstance(word, str))
        for key in ("anyOf", "oneOf", "allOf"):
            yield from _words(each.get(key, []), forms)
        if isinstance(each.get("additionalProperties"), dict):
            yield from _words(each["additionalProperties"], forms)
        for inner in each.get("patternProperties", {}).values():
            yield from _words(inner, forms)


def test_no_key_of_a_mapping_has_two_spellings() -> None:
    """Within one mapping, two keys that differ in a final s, a hyphen or an underscore would be one word twice."""
    spelled = defaultdict(set)
    for form, key in places():
        spelled[form, re.sub(r"[-_]|s$", "", key)].add(key)
    twice = {(form, min(keys)) for (form, _), keys in spelled.items() if len(keys) > 1}
    assert twice == SINGULAR_AND_PLURAL


@pytest.mark.parametrize("place", NAMES)
def test_a_word_that_may_stand_for_a_name_is_not_a_name(place: str) -> None:
    """So a text at such a place has one meaning."""
    kind, key = place.split(".")
    specs, protocols = json_schema("spec"), json_schema("protocol")
    forms = {**specs["$defs"], **protocols["$defs"], "SpecText": specs, "ProtocolText": protocols}
    words = {*_words(forms[kind]["properties"][key], forms)}
    assert words
    assert words <= {*RESERVED[NAMES[place]]}, words - {*RESERVED[NAMES[place]]}


PROTOCOL = """\
settings: {{{name}: 1}}
steps: {{answer: {{role: debater, prompt: common/answer.j2}}}}
schedule: [answer]
decide: majority
"""


@pytest.mark.parametrize(
    "name", [key for form, key in places() if form in ("ProtocolText", "StepText", "SelectionForm", "LoopText")]
)
def test_a_setting_has_an_effect_by_its_name_alone(name: str) -> None:
    """A setting that is called like a key does not give its value to this key."""
    with pytest.raises(SpecError, match=f"settings.{name}: no word uses this setting|settings.{name}: a method says"):
        protocol_of("tried", parse(PROTOCOL.format(name=name), "tried.yaml"))
