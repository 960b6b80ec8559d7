"""A debate that is read again: its course stays, what was read of it and its decision are new."""

from __future__ import annotations

import dataclasses
from typing import Any

from cortexdsl.core import Bin, Call, Choose, Decide, Everyone, Keep, OfRole, Reading, Reply
from cortexdsl.engine.interim import method_after
from cortexdsl.engine.readings import reread_debate
from tests.engine.stage import Stage, StagedReader, method, run

STEPS: dict[str, dict[str, Any]] = {
    "answer": {},
    "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
    "sum": {"role": "judge", "hears": OfRole(("debater",)), "reads": "summary"},
    "note": {"role": "judge", "hears": OfRole(("debater",)), "reads": "comment"},
    "pick": {"role": "judge", "hears": OfRole(("debater",)), "reads": "choice"},
    "revise": {"hears": Everyone()},
}
CAST = {"debater": "a b c", "judge": "j", "some": "a b c"}
HALF = (Bin(0.0, 1.0, 0.5),)
ORDER = ["answer", "review", "sum", "note", "pick", "revise"]


class Newer(StagedReader):
    """Reads 7 where the older one read 42, and is surer."""

    def read(self, reads: Any, text: str) -> Reading:
        reading = super().read(reads, text)
        return dataclasses.replace(reading, value="7" if reading.value == "42" else reading.value, confidence=0.9)


def test_every_reply_is_read_by_the_newer_reader_as_its_step_reads() -> None:
    """Confidences in answers are recalibrated, scores not; a summary has no answer; the judge chose the second, b."""
    of = method(STEPS, ORDER, CAST, recalibration=HALF)
    debate = run(of, Stage({"pick:j1": "2|-", "review:a1>b": "fair|0.3"}))
    again = reread_debate(debate, of, Newer(), seed=7, replicate=1)
    read = {(turn.step, turn.speaker, turn.about): turn for turn in again.turns}
    assert (read["answer", "a", None].answer, read["answer", "a", None].confidence) == ("7", 0.5)
    assert read["answer", "a", None].confidence_stated == 0.9
    assert (read["review", "a", "b"].answer, read["review", "a", "b"].confidence) == ("fair", 0.9)
    assert (read["sum", "j", None].answer, read["note", "j", None].answer) == (None, None)
    assert read["pick", "j", None].answer == "b"
    assert (again.answer, again.votes) == ("7", {"7": 3.0})
    for old, new in zip(debate.turns, again.turns, strict=True):
        assert (new.turn, new.text, new.heard, new.call) == (old.turn, old.text, old.heard, old.call)


def test_the_reader_that_read_it_reads_the_same() -> None:
    of = method(STEPS, ORDER, CAST, recalibration=HALF)
    debate = run(of, Stage({"pick:j1": "2|-", "answer:b0": "-|0.3", "revise:a1": "41|-"}))
    assert reread_debate(debate, of, StagedReader(), seed=7, replicate=1) == debate


def test_a_reply_that_never_came_stays_unread() -> None:
    def refused(call: Call) -> Reply:
        return Reply("key", "", None, 5, None, error="content filter")

    debate = run(method(STEPS, ["answer"], CAST), Stage({"answer:b0": refused}))
    again = reread_debate(debate, method(STEPS, ["answer"], CAST), Newer(), seed=7, replicate=1)
    assert again.turns[1] == debate.turns[1]
    assert again.votes == {"7": 2.0}


def test_a_tie_is_drawn_as_it_was() -> None:
    """Three answers, equally sure: whichever replicate it is, the newer reading elects what the older one did."""
    of = method({"answer": {}}, ["answer"])
    elected = set()
    for replicate in range(1, 9):
        debate = run(of, Stage({"answer:a0": "40|0.5", "answer:b0": "41|0.5"}), replicate=replicate)
        assert reread_debate(debate, of, StagedReader(), seed=7, replicate=replicate) == debate
        elected.add(debate.answer)
    assert len(elected) > 1


def test_those_who_left_have_no_vote_when_it_is_read_again() -> None:
    """First a leaves, then b: c alone is left, and the role is filled as it was last."""
    leave = Choose("debater", "debater", "position > 1", Keep("above", 0))
    of = method({"answer": {}, "revise": {"hears": Everyone()}}, ["answer", leave, "revise", leave])
    debate = run(of, Stage({"revise:c1": "41|0.5"}))
    assert [agent.name for agent in method_after(of, debate).role_agents["debater"]] == ["c"]
    assert reread_debate(debate, of, StagedReader(), seed=7, replicate=1) == debate
    assert debate.votes == {"41": 1.0}


def test_without_choices_the_cast_is_that_of_the_method() -> None:
    of = method(STEPS, ["answer"], CAST, Decide("majority"))
    assert method_after(of, run(of)) == of
