"""From a step to its calls: who speaks, whom it hears and what is refused, beyond the layouts themselves."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.core import Ablation, Choose, Edges, Everyone, Groups, Keep, OfRole, Repeat, Ring, Sparse, Topology
from cortexdsl.engine.ablation import why_needed
from cortexdsl.engine.topology import matches
from cortexdsl.errors import DebateError
from tests.engine.stage import Stage, method, run

ALL = Keep("all")


def heard(steps: dict[str, dict[str, Any]], schedule: list[Any], role_agents: dict[str, str] | str) -> list[str]:
    """Who heard which turns in the last step that was spoken."""
    stage = Stage()
    debate = run(method(steps, schedule, role_agents), stage)
    return [line for line in stage.trace() if line.startswith(f"{debate.turns[-1].step}:")]


@pytest.mark.parametrize(
    ("names", "expected"),
    [("", []), ("a", []), ("ab", ["ab"]), ("abc", ["ab"]), ("abcd", ["ab", "cd"]), ("abcde", ["ab", "cd"])],
)
def test_neighbours_are_matched_and_who_is_left_over_is_not(names: str, expected: list[str]) -> None:
    assert ["".join(pair) for pair in matches(names)] == expected


def test_of_five_one_has_no_match() -> None:
    steps = {"answer": {}, "compare": {"role": "judge", "hears": OfRole(("debater",)), "each": "match"}}
    assert heard(steps, ["answer", "compare"], {"debater": "a b c d e", "judge": "j"}) == [
        "compare:j1>aandb <- answer:a0 answer:b0",
        "compare:j1>candd <- answer:c0 answer:d0",
    ]


CREW = {"debater": "s t", "recruiter": "r", "critic": "c d", "all": "s t c d"}
CREWED: dict[str, dict[str, Any]] = {
    "answer": {},
    "recruit": {"role": "recruiter", "reads": "comment"},
    "review": {
        "role": "critic", "hears": OfRole(("recruiter", "debater")), "each": "edge", "of": "debater", "reads": "review",
    },
}  # fmt: skip


def test_some_who_are_heard_are_reviewed_and_the_others_are_heard_in_each_review() -> None:
    assert heard(CREWED, ["answer", "recruit", "review"], CREW) == [
        "review:c1>s <- recruit:r1 answer:s0",
        "review:c1>t <- recruit:r1 answer:t0",
        "review:d1>s <- recruit:r1 answer:s0",
        "review:d1>t <- recruit:r1 answer:t0",
    ]


def test_whoever_plays_the_role_then_is_reviewed_and_by_nobody_who_does_not_hear_it() -> None:
    """t alone is picked: s, whom the critics hear too, is heard in the review of t; nobody reviews itself."""
    steps = {
        **CREWED,
        "review": {"role": "debater", "hears": Everyone(), "each": "edge", "of": "some", "reads": "review"},
    }
    pick = Choose("some", "debater", "position == 2", Keep("above", 0))
    schedule = ["answer", "recruit", pick, "review"]
    assert heard(steps, schedule, {**CREW, "debater": "s t u", "some": "s"}) == [
        "review:s1>t <- answer:t0 answer:u0",
        "review:u1>t <- answer:s0 answer:t0",
    ]


def test_a_score_of_one_who_is_reviewed_is_not_of_those_who_are_only_heard() -> None:
    pick = Choose("debater", "debater", "mean_score", Keep("top", 1))
    stage = Stage({"review:c1>t": "x|0.9"})
    debate = run(method(CREWED, ["answer", "recruit", "review", pick], CREW), stage)
    assert debate.choices[0].weight == (0.5, 0.7)
    assert debate.graphs[-1].heard.tolist() == [[True, True]] * 3


def test_without_those_whom_a_step_is_about_it_is_silent() -> None:
    of = method(
        {**CREWED, "review": {**CREWED["review"], "of": "one"}},
        ["answer", "recruit", "review", Choose("debater", "debater", "mean_score", Keep("top", 1))],
        {**CREW, "one": "t"},
    )
    assert why_needed(of, Ablation(agents=("s",))) is None
    assert why_needed(of, Ablation(agents=("t",))) == (
        "a choice of the schedule is computed from step review",
        "leave out another",
    )


@pytest.mark.parametrize(
    ("hears", "expected"),
    [
        (Ring(1), ["reply:b1 <- answer:a0 answer:c0", "reply:d1 <- answer:c0 answer:e0"]),
        (Edges((("e", "b"), ("b", "d"), ("a", "c"))), ["reply:b1 <- answer:e0", "reply:d1 <- answer:b0"]),
        (Sparse("position", Keep("top", 2)), ["reply:b1 <- answer:d0 answer:e0", "reply:d1 <- answer:c0 answer:e0"]),
    ],
)
def test_some_hear_as_if_all_spoke(hears: Topology, expected: list[str]) -> None:
    """b and d alone speak: their neighbours on the ring are those that they have when everybody does."""
    some = Choose("some", "debater", "position == 2 or position == 4", Keep("above", 0))
    steps = {"answer": {}, "reply": {"role": "some", "hears": hears}}
    assert heard(steps, ["answer", some, "reply"], {"debater": "a b c d e", "some": "a"}) == expected


def test_edges_by_weight_may_lie_within_groups_or_within_others_by_weight() -> None:
    talk = {"answer": {}, "talk": {"hears": Groups(2)}}
    grouped = {**talk, "end": {"hears": Sparse("1", ALL, Groups(2))}}
    graphs = run(method(grouped, ["answer", "talk", "end"], "a b c d e")).graphs
    assert (graphs[0].heard == graphs[1].heard).all()
    nested = Sparse("position", Keep("top", 1), Sparse("position < 3", Keep("above", 0)))
    steps = {"answer": {}, "end": {"hears": nested}}
    assert heard(steps, ["answer", "end"], "a b c") == [
        "end:a1 <- answer:b0",
        "end:b1 <- answer:a0",
        "end:c1 <- answer:b0",
    ]


@pytest.mark.parametrize("each", ["match", "pair", "edge"])
def test_a_call_about_some_knows_how_much_they_are_trusted(each: str) -> None:
    """a hears b and c, whose places are 2 and 3."""
    steps = {"answer": {}, "look": {"hears": Sparse("position", ALL), "each": each, "reads": "comment"}}
    stage = Stage()
    run(method(steps, ["answer", "look"]), stage)
    seen = {turn["speaker"]: turn["weight"] for name, view in stage.views.items() if name.startswith("look:a")
            for turn in view["heard"]}  # fmt: skip
    assert seen == {"b": 2.0, "c": 3.0}


def test_who_plays_two_of_the_roles_that_are_heard_is_heard_once() -> None:
    steps = {"answer": {}, "rule": {"role": "judge", "hears": OfRole(("debater", "some")), "reads": "verdict"}}
    role_agents = {"debater": "a b", "some": "b c", "judge": "j"}
    assert heard(steps, ["answer", "rule"], role_agents) == ["rule:j1 <- answer:a0 answer:b0"]


def test_a_role_of_those_who_debate_may_hear_everyone_and_no_other_may() -> None:
    steps = {"answer": {}, "note": {"role": "twin", "hears": Everyone(), "reads": "comment"}}
    assert heard(steps, ["answer", "note"], {"debater": "a b", "twin": "a b"}) == [
        "note:a1 <- answer:b0",
        "note:b1 <- answer:a0",
    ]
    told = (
        "^step 'note' of role 'twin' cannot hear everyone: only debaters can; "
        "name the roles that it hears, as in hears: debater$"
    )
    with pytest.raises(DebateError, match=told):
        run(method(steps, ["answer", "note"], {"debater": "a b", "twin": "a"}))


@pytest.mark.parametrize("each", ["listener", "group"])
def test_nobody_speaks_by_weight_for_others(each: str) -> None:
    steps = {
        "answer": {},
        "talk": {"hears": Groups(2)},
        "sum": {"hears": Sparse("confidence", ALL), "each": each, "reads": "summary"},
    }
    with pytest.raises(DebateError, match=r"^step 'sum' of role 'debater': only debaters can hear by"):
        run(method(steps, ["answer", "talk", "sum"]))


def test_a_summary_for_groups_needs_groups() -> None:
    steps = {
        "answer": {},
        "sum": {"role": "scribe", "hears": OfRole(("debater",)), "each": "group", "reads": "summary"},
    }
    with pytest.raises(DebateError, match=r"^step 'sum' speaks for each group, and no step hears: \{groups: \.\.\.\}$"):
        run(method(steps, ["answer", "sum"], {"debater": "a b", "scribe": "s"}))


def test_a_judge_that_left_nothing_goes_on_though_a_debater_of_its_name_would_not() -> None:
    """Who leaves the debate leaves its roles among those who debate; what it does besides, it still does."""
    leave = Choose("debater", "debater", "position > 1", Keep("above", 0))
    steps = {
        "answer": {},
        "revise": {"hears": Everyone()},
        "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
    }
    debate = run(method(steps, ["answer", leave, "revise", "rule"], {"debater": "a b c", "judge": "a"}))
    assert [(turn.step, turn.speaker) for turn in debate.turns[3:]] == [("revise", "b"), ("revise", "c"), ("rule", "a")]


# ---------------------------------------------------------------- what the transcript is asked
def test_two_roles_that_debate_agree_when_both_have_answered() -> None:
    """After the first of them there is no consensus yet, and a debate that one never joins has none."""
    steps = {"open": {"role": "pro"}, "oppose": {"role": "con", "hears": OfRole(("pro",))}}
    role_agents = {"pro": "a", "con": "b"}
    loop = Repeat(3, ("open", Repeat(1, ("oppose",), unless="consensus")), until="consensus")
    debate = run(method(steps, [loop], role_agents, voters=("pro", "con")))
    assert [turn.step for turn in debate.turns] == ["open", "oppose"]
    assert (debate.stop, debate.rounds) == ("consensus", 1)
    assert debate.standing == ((0,), (0, 1))


@pytest.mark.parametrize(
    ("verdicts", "stop"),
    [(("agree", "agree"), "agreed"), (("disagree", "agree"), "rounds"), (("agree", "disagree"), "rounds"),
     (("-", "agree"), "rounds"), (("-", "-"), "rounds"), (("abstain", "zeal"), "rounds")],
)  # fmt: skip
def test_all_who_give_a_verdict_have_to_agree(verdicts: tuple[str, str], stop: str) -> None:
    """Whoever spoke last. What could not be read is no agreement, nor is any other word."""
    steps = {"answer": {}, "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"}}
    of = method(steps, ["answer", Repeat(2, ("rule",), until="approved")], {"debater": "a b", "judge": "j k"})
    script = {f"rule:{name}1": f"{verdict}|-" for name, verdict in zip("jk", verdicts, strict=True)}
    assert run(of, Stage(script)).stop == stop


def test_the_verdicts_that_count_are_those_of_the_last_time_that_any_were_given() -> None:
    """Two disagree at first and agree a round later; what they say in between reads no verdict."""
    steps = {
        "answer": {}, "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
        "say": {"role": "judge", "hears": OfRole(("debater",)), "reads": "comment"},
    }  # fmt: skip
    loop = Repeat(3, ("answer", "rule", "say"), until="approved")
    of = method(steps, [loop], {"debater": "a b", "judge": "j k"})
    script = {"rule:j1": "disagree|-", "rule:k1": "disagree|-", "rule:j2": "agree|-", "rule:k2": "agree|-"}
    debate = run(of, Stage(script))
    assert (debate.stop, sum(turn.step == "rule" for turn in debate.turns)) == ("agreed", 4)


def test_nobody_left_is_no_consensus() -> None:
    nobody = Choose("debater", "debater", "position > 9", Keep("above", 0))
    of = method({"answer": {}}, ["answer", nobody, Repeat(2, ("answer",), until="consensus or agreement > 0")])
    assert run(of).stop == "rounds"


def test_an_agent_that_was_left_out_is_not_missed() -> None:
    """All but it answered in every round: the record says nothing of who stands."""
    steps = {"answer": {}, "revise": {"hears": Everyone()}}
    of = method(steps, ["answer", "revise"])
    assert run(of, ablation=Ablation(agents=("b",))).standing == ()
