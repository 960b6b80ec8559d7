"""The schedule: loops and when they end, the cap on rounds, and how a debate becomes one answer."""

import itertools

import pytest

from cortexdsl.core import Decide, Method, Repeat
from cortexdsl.engine.methods import principal_roles
from cortexdsl.errors import DebateError
from tests.engine.stage import Stage, run, talk


def said(of: Method, script: dict[str, str] | None = None) -> tuple[str, str, int]:
    """The steps that were spoken, in short; why it stopped; the rounds after the opening."""
    debate = run(of, Stage(script or {}))
    steps = [step for step, _ in itertools.groupby(debate.turns, key=lambda turn: (turn.execution, turn.step))]
    return " ".join(step for _, step in steps), debate.stop, debate.rounds


DISAGREE = {f"{step}:b{k}": "41|0.5" for k in range(9) for step in ("answer", "revise")}


@pytest.mark.parametrize(
    ("schedule", "script", "expected"),
    [
        (["answer"], {}, ("answer", "rounds", 0)),
        (["answer", Repeat(0, ("revise",))], {}, ("answer", "rounds", 0)),
        # without a condition a loop goes on whatever is said
        (["answer", Repeat(3, ("revise",))], {}, ("answer revise revise revise", "rounds", 3)),
        # consensus is looked at after each pass, not before the first
        (["answer", Repeat(3, ("revise",), until="consensus")], {}, ("answer revise", "consensus", 1)),
        (["answer", Repeat(3, ("revise",), "consensus", unless="consensus")], {}, ("answer", "consensus", 0)),
        (
            ["answer", Repeat(3, ("revise",), until="consensus")],
            DISAGREE | {"revise:b2": "42|0.5"},
            ("answer revise revise", "consensus", 2),
        ),
        (["answer", Repeat(2, ("revise",), until="consensus")], DISAGREE, ("answer revise revise", "rounds", 2)),
        # the opening alone decides `unless`, and the loop then runs to its own end
        (
            ["answer", Repeat(2, ("revise",), unless="consensus")],
            {"answer:b0": "41|0.5"},
            ("answer revise revise", "rounds", 2),
        ),
        # what follows a loop is spoken whatever ended it, and the reason stays
        (
            ["answer", Repeat(2, ("revise",), until="consensus"), "conclude"],
            {},
            ("answer revise conclude", "consensus", 1),
        ),
        # unreadable answers are no consensus, even where all are unreadable
        (
            ["answer", Repeat(2, ("revise",), until="consensus")],
            {"revise:a1": "-|-", "revise:b1": "-|-"},
            ("answer revise revise", "consensus", 2),
        ),
        # a consensus that was debated away is not why the debate stopped
        (
            ["answer", Repeat(1, ("revise",), until="consensus"), "revise"],
            {"revise:b2": "41|0.5"},
            ("answer revise revise", "rounds", 2),
        ),
        # the judge's last verdict
        (
            ["answer", "judge", Repeat(3, ("revise", "judge"), until="approved", unless="approved")],
            {"judge:j1": "disagree|-", "judge:j2": "agree|-"},
            ("answer judge revise judge", "agreed", 1),
        ),
        (
            ["answer", "judge", Repeat(3, ("revise", "judge"), until="approved", unless="approved"), "conclude"],
            {"judge:j1": "agree|-"},
            ("answer judge conclude", "agreed", 0),
        ),
        # an unreadable verdict is no agreement
        (
            ["answer", Repeat(2, ("revise", "judge"), until="approved")],
            {"judge:j2": "-|-", "judge:j3": "-|-"},
            ("answer revise judge revise judge", "rounds", 2),
        ),
        # loops within loops; an inner end does not end the outer loop
        (
            ["answer", Repeat(2, ("judge", Repeat(2, ("revise",), until="consensus")))],
            {},
            ("answer judge revise judge revise", "consensus", 2),
        ),
        (
            ["answer", Repeat(2, (Repeat(2, ("revise",)), "judge"))],
            {},
            ("answer revise revise judge revise revise judge", "rounds", 4),
        ),
    ],
)
def test_loops(schedule: list[str | Repeat], script: dict[str, str], expected: tuple[str, str, int]) -> None:
    assert said(talk(schedule), script) == expected


def test_rounds_and_executions_of_turns() -> None:
    """A verdict belongs to the round that it leads to; what concludes, to the one that would follow."""
    debate = run(talk(["answer", Repeat(1, ("judge", "revise")), "conclude"]))
    assert [(turn.turn, turn.execution, turn.round, turn.step, turn.speaker) for turn in debate.turns] == [
        (0, 0, 0, "answer", "a"),
        (1, 0, 0, "answer", "b"),
        (2, 1, 1, "judge", "j"),
        (3, 2, 1, "revise", "a"),
        (4, 2, 1, "revise", "b"),
        (5, 3, 2, "conclude", "j"),
    ]
    assert [agent.name for agent in debate.agents] == ["a", "b", "j"]


def test_the_principal_role_is_that_of_the_first_answer() -> None:
    assert principal_roles(talk(["judge", Repeat(2, ("answer",))])) == ("debater",)
    assert principal_roles(talk(["conclude", "answer"])) == ("judge",)
    with pytest.raises(DebateError, match="no step in its schedule that reads an answer"):
        principal_roles(talk(["judge"]))


@pytest.mark.parametrize(
    ("decide", "expected"),
    [
        (Decide("majority"), ("42", {"42": 1.0, "41": 1.0}, True)),
        (Decide("first"), ("41", {}, False)),
        (Decide("last"), ("42", {}, False)),
        (Decide("last", role="judge"), ("40", {}, False)),
    ],
    ids=lambda value: f"{value.rule}-{value.role}" if isinstance(value, Decide) else "",
)
def test_decisions(decide: Decide, expected: tuple[str, dict[str, float], bool]) -> None:
    """The last round says 41 with 0.3 and 42 with 0.9; the judge concludes 40, which makes no round and has no vote."""
    script = {"revise:a1": "41|0.3", "revise:b1": "42|0.9", "conclude:j2": "40|1.0"}
    debate = run(talk(["answer", "revise", "conclude"], decide), Stage(script))
    assert (debate.answer, debate.votes, debate.was_tied) == expected


def test_an_unreadable_last_word_is_no_answer() -> None:
    """It is not replaced by an earlier one."""
    debate = run(talk(["answer", "conclude"], Decide("last", role="judge")), Stage({"conclude:j1": "-|-"}))
    assert debate.answer is None
    assert debate.turns[-1].unparsed == "nothing to read"
    assert run(talk(["answer"], Decide("last", role="judge"))).answer is None
