"""The methods of the four papers, call for call: how many calls, and exactly which earlier turns each prompt held.

Calls by the published counts: GD(5 agents, 3 rounds, R = 2) = 17, MAD with summaries (5, 3) = 25, Reflection 4.
"""

import pytest

from cortexdsl.core import Groups, Method
from tests.engine.published import (
    acc,
    chateval,
    chateval_one_by_one,
    cortexdebate,
    disagreeing,
    group,
    mad_summary,
    madke,
    multi_llm,
    neighbor,
    peer_review,
    reconcile,
    reflection,
    self_consistency,
    voting,
)
from tests.engine.stage import Stage, run
from tests.engine.traces import TRACES


# ------------------------------------------------------------ how many calls
@pytest.mark.parametrize(
    ("of", "calls"),
    [
        (voting(5), 5),  # n
        (multi_llm(5, 5), 30),  # n (D + 1)
        (multi_llm(3, 1), 6),
        (neighbor(5, 5), 30),  # n (D + 1)
        (reconcile(5, 5), 30),  # n (D + 1) at most
        (cortexdebate(5, 5), 30),  # n (D + 1) at most
        (chateval(5, 5), 35),  # n (D + 1) + D
        (chateval(3, 2), 11),
        (chateval_one_by_one(3, 2), 9),
        (peer_review(5, 1), 30),  # n + D (n (n - 1) + n) = 5 + 25
        (peer_review(3, 2), 21),  # 3 + 2 * 9
        (group(5, 3), 17),  # published
        (group(4, 3), 14),  # 4 alone, 4 within, 2 summaries, 4 across
        (group(4, 4), 18),  # and 4 more within the second stage
        (group(5, 4, per_stage=1), 26),  # four stages of one round: 4 * 5 + 3 * 2
        (group(8, 4, layout=Groups(3, (4, 2, 2))), 35),  # 8 + 8 + 3 + 8 + 8
        (group(5, 2), 10),  # one stage has no summaries
        (mad_summary(5, 3), 25),  # published: 3 * 5 answers, 2 * 5 summaries
        (mad_summary(5, 3, memory="last"), 25),
        (madke(2, 3), 16),  # 2 * (select, speak) + judge, twice 2 * (select, respond) + judge, conclude
        (madke(4, 1), 10),  # 4 + 4 + 1 + 1
        (acc(5), 9),  # five answers, four comments: a last comment would reach nobody
        (reflection(3), 4),  # published
        (self_consistency(1), 1),
        (self_consistency(40), 40),  # published
    ],
)
def test_calls_per_question(of: Method, calls: int) -> None:
    stage = Stage(disagreeing(5, 6))
    debate = run(of, stage)
    assert len(stage.calls) == len(debate.turns) == calls
    assert len({(call.model.name, call.messages[0]["content"], call.seed) for call in stage.calls}) == calls


@pytest.mark.parametrize(
    ("of", "calls", "stop"),
    [
        (reconcile(5, 5), 10, "consensus"),
        (cortexdebate(5, 5), 10, "consensus"),  # consensus is first looked at after round 1
        (cortexdebate(5, 5, unless="consensus"), 5, "consensus"),  # check_opening: true
        (multi_llm(5, 5), 30, "rounds"),  # fixed rounds, whatever is said
        (group(5, 3), 17, "rounds"),
    ],
)
def test_calls_of_a_unanimous_team(of: Method, calls: int, stop: str) -> None:
    debate = run(of)
    assert (len(debate.turns), debate.stop) == (calls, stop)


def test_madke_ends_when_the_judge_finds_agreement() -> None:
    """After the first round: select, speak, judge, conclude."""
    debate = run(madke(2, 3), Stage({"judge:j1": "agree|-", "conclude:s1": "7|0.5"}))
    assert (len(debate.turns), debate.stop, debate.answer, debate.rounds) == (6, "agreed", "7", 0)


# ------------------------------------------------------------ who heard whom
@pytest.mark.parametrize("name", TRACES)
def test_who_heard_whom(name: str) -> None:
    of, expected = TRACES[name]
    stage = Stage(disagreeing(5, 6))
    run(of, stage)
    assert stage.trace() == [line.strip() for line in expected.strip().splitlines()]


@pytest.mark.parametrize("name", TRACES)
def test_an_opening_hears_nobody_and_nobody_hears_the_future(name: str) -> None:
    """Every turn of every method heard earlier turns alone, and never itself."""
    debate = run(TRACES[name][0], Stage(disagreeing(5, 6)))
    for turn in debate.turns:
        assert all(number < turn.turn for number in (*turn.heard, *turn.recalled))
        assert all(debate.turns[number].speaker != turn.speaker for number in turn.heard)
        before = [earlier for earlier in debate.turns[: turn.turn] if earlier.speaker == turn.speaker]
        met = {number for earlier in before for number in (earlier.turn, *earlier.heard)}
        assert met.issuperset(turn.recalled)
    assert debate.turns[0].heard == ()
