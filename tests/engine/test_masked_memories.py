"""Verdicts per listener (MAD-M2): each agent drops the replies of others that it finds wrong."""

from __future__ import annotations

from typing import Any

from cortexdsl.core import Choose, Everyone, Keep, Repeat, Sparse
from tests.engine.stage import Stage, method, run

MASK: dict[str, Any] = {
    "answer": {},
    "check": {"hears": Everyone(), "each": "edge", "reads": "verdict"},
    "revise": {"hears": Sparse("accepts", Keep("above", 0.0))},
}


def checks(round_: int, **said: str) -> dict[str, str]:
    """Return a script: `ab="no"` is what a says about b."""
    words = {"yes": "agree|-", "no": "disagree|-", "unread": "-|-"}
    return {f"check:{pair[0]}{round_}>{pair[1]}": words[word] for pair, word in said.items()}


def script(*parts: dict[str, str]) -> dict[str, str]:
    every = {f"check:{u}{k}>{v}": "agree|-" for k in (1, 2) for u in "abc" for v in "abc" if u != v}
    return every | {key: value for part in parts for key, value in part.items()}


def test_each_agent_masks_for_itself() -> None:
    stage = Stage(script(checks(1, ab="no", cb="unread")))
    debate = run(method(MASK, ["answer", "check", "revise"]), stage)
    assert stage.trace()[9:] == [
        "revise:a1 <- answer:c0",
        "revise:b1 <- answer:a0 answer:c0",
        "revise:c1 <- answer:a0",
    ]
    assert debate.graphs[-1].factors["accepts"].tolist() == [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]


def test_a_new_answer_is_judged_anew() -> None:
    stage = Stage(script(checks(1, ab="no"), checks(2, bc="no")))
    run(method(MASK, ["answer", Repeat(2, ("check", "revise"))]), stage)
    assert stage.trace()[-3:] == [
        "revise:a2 <- revise:b1 revise:c1",
        "revise:b2 <- revise:a1",
        "revise:c2 <- revise:a1 revise:b1",
    ]


def test_without_verdicts_everything_is_heard() -> None:
    stage = Stage()
    run(method(MASK, ["answer", "revise"]), stage)
    assert stage.trace()[-1] == "revise:c1 <- answer:a0 answer:b0"


def test_the_share_that_accepts_an_agent_chooses_it() -> None:
    rule = Choose("debater", "debater", "mean(theirs(accepts))", Keep("top", 1))
    debate = run(method(MASK, ["answer", "check", rule]), Stage(script(checks(1, ab="no", cb="no", ac="no"))))
    assert debate.choices[0].weight == (1.0, 0.0, 0.5)
