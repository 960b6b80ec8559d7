"""Which roles have an answer for certain when a debate ends."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.language.grammar.protocol import ProtocolText
from cortexdsl.language.protocol.walks import roles_with_answer

STEPS = {
    "all": {"role": "debater", "prompt": "a.j2"},
    "some": {"role": "some", "prompt": "a.j2"},
    "few": {"role": "few", "prompt": "a.j2"},
    "judge": {"role": "judge", "prompt": "a.j2", "reads": ["answer", "verdict"]},
    "note": {"role": "judge", "prompt": "a.j2", "reads": ["comment", "verdict"]},
}
TOP = {"choose": "some", "from": "debater", "weight": "confidence", "keep": {"top": 1}}
WHERE = {"choose": "some", "from": "debater", "where": "position > 1"}
ABOVE = {"choose": "some", "from": "debater", "where": "confidence > 0.5"}
FEWER = {"choose": "some", "weight": "confidence", "keep": {"drop_bottom": 1}}
LEAVE = {"choose": "debater", "weight": "confidence", "keep": {"top": 2}}
OF_SOME = {"choose": "few", "from": "some", "weight": "position", "keep": {"top": 1}}


def loop(*do: Any, **words: Any) -> dict[str, Any]:
    return {"repeat": 2, "do": list(do), **words}


@pytest.mark.parametrize(
    ("schedule", "certain"),
    [
        (["all", "judge"], "debater judge"),
        (["all", "note"], "debater"),
        (["all", loop("judge")], "debater judge"),
        (["all", loop("judge", until="approved")], "debater judge"),
        (["all", loop("judge", **{"if": "not approved"})], "debater"),
        (["all", {"case": "x", "do": {"x": ["judge"], "else": ["note"]}}], "debater"),
        (["all", {"case": "x", "do": {"x": ["judge"], "else": ["all", "judge"]}}], "debater judge"),
        (["all", "some"], "debater some"),  # whoever plays it by the protocol
        (["all", TOP, "some"], "debater some"),
        (["all", "some", TOP], "debater"),  # another may play it now
        (["all", WHERE, "some"], "debater"),  # perhaps nobody does
        (["all", ABOVE, "some"], "debater"),
        (["all", "some", FEWER], "debater some"),  # who is left has answered
        (["all", WHERE, "some", FEWER], "debater"),
        (["all", WHERE, TOP, "some"], "debater some"),
        (["all", WHERE, OF_SOME, "few"], "debater"),
        (["all", TOP, OF_SOME, "few"], "debater few"),
        (["all", LEAVE], "debater"),
        (["all", TOP, "some", LEAVE], "debater"),  # who was chosen may have left
        (["all", {**LEAVE, "where": "answer != before(answer)", "weight": None}], ""),
        (["all", TOP, loop("some", WHERE)], "debater"),
        (["all", TOP, loop(TOP, "some")], "debater some"),
        (["all", "some", loop(TOP, **{"if": "not consensus"})], "debater"),
        (["all", TOP, "some", loop({"case": "x", "do": {"x": ["note"], "else": [WHERE]}})], "debater"),
    ],
)
def test_roles_that_have_an_answer_in_every_debate(schedule: list[Any], certain: str) -> None:
    written = [
        {k: v for k, v in item.items() if v is not None} if isinstance(item, dict) else item for item in schedule
    ]
    for item in written:
        if isinstance(item, dict) and "where" in item:
            item.pop("keep", None)
    roles = dict.fromkeys(("debater", "some", "few", "judge"), "everyone")
    text = ProtocolText.model_validate({"roles": roles, "steps": STEPS, "schedule": written, "decide": "majority"})
    assert roles_with_answer(text) == set(certain.split())
