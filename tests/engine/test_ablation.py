"""Counterfactual debates: what is left out, what stays the same, and what cannot be left out."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.core import (
    Ablation,
    Choose,
    Debate,
    Decide,
    Everyone,
    Groups,
    Keep,
    Method,
    OfRole,
    RandomEdges,
    Repeat,
    SchedulePart,
    Sparse,
    TurnFilter,
)
from cortexdsl.engine.ablation import why_needed
from tests.engine.stage import Stage, method, run

TALK: dict[str, dict[str, Any]] = {"answer": {}, "revise": {"hears": Everyone()}}
TWICE = method(TALK, ["answer", Repeat(2, ("revise",), until="consensus")])
DIFFER = {
    f"{step}:{name}{r}": f"{name}|0.5" for step, r in (("answer", 0), ("revise", 1), ("revise", 2)) for name in "abc"
}


def without(of: Method, **left_out: Any) -> tuple[Debate, Stage]:
    stage = Stage(dict(DIFFER))
    return run(of, stage, ablation=Ablation(**left_out)), stage


def test_an_agent_that_is_left_out_says_and_hears_nothing_and_has_no_vote() -> None:
    debate, stage = without(TWICE, agents=("b",))
    assert [agent.name for agent in debate.agents] == ["a", "c"]
    assert stage.trace()[:4] == ["answer:a0", "answer:c0", "revise:a1 <- answer:c0", "revise:c1 <- answer:a0"]
    assert sorted(debate.votes) == ["a", "c"]
    assert debate.graphs[0].speakers == debate.graphs[0].listeners == ("a", "c")


def test_those_who_are_left_keep_their_numbers() -> None:
    _, stage = without(TWICE, agents=("a",))
    assert [stage.views[label]["agent"]["number"] for label in ("answer:b0", "answer:c0")] == [2, 3]


def test_calls_whose_messages_stay_the_same_are_the_same_calls() -> None:
    """All of the opening, and what is said by who heard nobody that is gone."""
    whole, fewer = Stage(dict(DIFFER)), Stage(dict(DIFFER))
    run(TWICE, whole)
    run(TWICE, fewer, ablation=Ablation(edges=(("a", "b"),)))
    known = {(call.messages[0]["content"], call.seed) for call in whole.calls}
    asked = [call.messages[0]["content"].splitlines()[0] for call in fewer.calls
             if (call.messages[0]["content"], call.seed) not in known]  # fmt: skip
    assert asked == ["revise:b1", "revise:b2"]  # b's answers are scripted, so that a and c hear what they heard


def test_an_edge_that_is_left_out_is_heard_by_nobody_in_its_place() -> None:
    debate, stage = without(TWICE, edges=(("a", "b"),))
    assert [line for line in stage.trace() if line.startswith("revise:b")] == [
        "revise:b1 <- answer:c0",
        "revise:b2 <- revise:c1",
    ]
    assert not any(graph.heard[0, 1] for graph in debate.graphs)
    assert all(graph.heard[1, 0] for graph in debate.graphs)  # b is still heard by a


def test_a_round_that_is_left_out_is_never_spoken() -> None:
    debate, stage = without(TWICE, rounds=(1,))
    assert debate.rounds == 1
    assert [line.split()[0] for line in stage.trace()][3:] == ["revise:a1", "revise:b1", "revise:c1"]
    none, _ = without(TWICE, rounds=(1, 2))
    assert none.rounds == 0


def test_nothing_ends_after_a_round_that_is_left_out() -> None:
    """All agree from the start: the loop looks at that after a pass, and a pass that was not spoken is none."""
    stage = Stage()
    assert run(TWICE, stage).rounds == 1
    assert run(TWICE, Stage(), ablation=Ablation(rounds=(1,))).rounds == 1


def test_a_step_that_is_left_out_is_never_spoken() -> None:
    steps = {**TALK, "check": {"reads": "comment", "hears": Everyone()}}
    debate, _ = without(method(steps, ["answer", "check", "revise"]), steps=("check",))
    assert {turn.step for turn in debate.turns} == {"answer", "revise"}


def test_a_turn_that_is_left_out_is_silence_in_one_round() -> None:
    """Its speaker keeps its answer, which others still hear, and speaks again in the next round."""
    debate, stage = without(TWICE, turns=("b@1",))
    assert stage.trace()[3:] == [
        "revise:a1 <- answer:b0 answer:c0",
        "revise:c1 <- answer:a0 answer:b0",
        "revise:a2 <- answer:b0 revise:c1",
        "revise:b2 <- revise:a1 revise:c1",
        "revise:c2 <- revise:a1 answer:b0",
    ]
    assert debate.graphs[0].listeners == ("a", "c")
    last, _ = without(TWICE, turns=("b@2",))
    assert [(turn.speaker, turn.round) for turn in last.turns if turn.speaker == "b"] == [("b", 0), ("b", 1)]
    assert sorted(last.votes) == ["a", "b", "c"]


def test_the_turn_of_the_only_speaker_is_its_round() -> None:
    alone = method({"answer": {}, "revise": {}}, ["answer", Repeat(2, ("revise",))], "a")
    debate, _ = without(alone, turns=("a@1",))
    same, _ = without(alone, rounds=(1,))
    assert debate.turns == same.turns
    assert debate.rounds == 1


def test_a_turn_that_gives_the_answer_is_needed() -> None:
    steps = {**TALK, "rule": {"role": "judge", "hears": OfRole(("debater",))}}
    judged = method(
        steps, ["answer", "revise", "rule"], {"debater": "a b", "judge": "j"}, decide=Decide("last", "judge")
    )
    assert why_needed(judged, Ablation(turns=("j@2",))) == (
        "the answer of the debate is that of j",
        "leave out turns of others",
    )
    assert why_needed(judged, Ablation(turns=("a@1",))) is None


def test_groups_stay_those_that_they_were() -> None:
    grouped = method({"answer": {}, "revise": {"hears": Groups(2)}}, ["answer", "revise"], "a b c d e")
    whole, _ = without(grouped)
    fewer, _ = without(grouped, agents=("a",))
    assert (fewer.graphs[0].heard == whole.graphs[0].heard[1:, 1:]).all()


def test_reviews_of_and_by_an_agent_that_is_left_out_are_not_written() -> None:
    steps = {**TALK, "review": {"hears": Everyone(), "each": "edge", "reads": "review"}}
    debate, _ = without(method(steps, ["answer", "review", "revise"]), agents=("b",))
    assert [(turn.speaker, turn.about) for turn in debate.turns if turn.step == "review"] == [("a", "c"), ("c", "a")]


def test_a_summary_for_each_listener_is_written_for_those_who_are_left() -> None:
    steps = {
        **TALK,
        "tell": {"role": "scribe", "each": "listener", "hears": OfRole(("debater",)), "reads": "summary"},
    }
    told = method(steps, ["answer", "tell"], {"debater": "a b c", "scribe": "s"})
    debate, _ = without(told, agents=("b",))
    assert [(turn.about, [debate.turns[k].speaker for k in turn.heard]) for turn in debate.turns[2:]] == [
        ("a", ["c"]),
        ("c", ["a"]),
    ]


def test_edges_of_those_who_are_not_there_change_nothing() -> None:
    """Between a speaker and a listener of whom one does not talk in the step."""
    steps = {**TALK, "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"}}
    judged = method(steps, ["answer", "revise", "rule"], {"debater": "a b c", "judge": "j"})
    debate, stage = without(judged, edges=(("a", "j"), ("j", "a")))
    assert stage.trace()[3] == "revise:a1 <- answer:b0 answer:c0"
    assert stage.trace()[-1] == "rule:j2 <- revise:b1 revise:c1"
    assert debate.graphs[-1].heard.tolist() == [[False], [True], [True]]


def test_who_speaks_for_groups_does_not_hear_along_an_edge_that_is_left_out() -> None:
    steps = {"answer": {}, "sum": {"role": "scribe", "each": "group", "hears": Groups(2), "reads": "summary"}}
    grouped = method(steps, ["answer", "sum"], {"debater": "a b c d", "scribe": "s"})
    whole, fewer = without(grouped)[0], without(grouped, edges=(("a", "s"), ("b", "a")))[0]
    heard = [{debate.turns[n].speaker for turn in debate.turns[4:] for n in turn.heard} for debate in (whole, fewer)]
    assert heard == [set("abcd"), set("bcd")]


def test_a_group_stays_while_one_of_it_is_left() -> None:
    steps = {"answer": {}, "sum": {"role": "scribe", "each": "group", "hears": Groups(2), "reads": "summary"}}
    grouped = method(steps, ["answer", "sum"], {"debater": "a b c d", "scribe": "s"})
    for name in "abcd":
        debate, _ = without(grouped, agents=(name,))
        assert [turn.about for turn in debate.turns if turn.step == "sum"] == ["group 1", "group 2"]


def test_rounds_that_are_left_out_are_rounds_and_not_steps() -> None:
    """Round 2 with its check is not spoken; the check of round 1 and of round 3 are, and round 3 is numbered 2."""
    steps = {**TALK, "check": {"role": "judge", "hears": OfRole(("debater",)), "reads": "comment"}}
    checked = method(steps, ["answer", Repeat(3, ("check", "revise"))], {"debater": "a b", "judge": "j"})
    debate, _ = without(checked, rounds=(2,))
    assert [(turn.step, turn.round) for turn in debate.turns[2:]] == [
        ("check", 1), ("revise", 1), ("revise", 1), ("check", 2), ("revise", 2), ("revise", 2),
    ]  # fmt: skip
    assert debate.rounds == 2
    assert debate.standing == ()


def test_drawn_edges_stay_those_that_they_were() -> None:
    drawn = method({"answer": {}, "revise": {"hears": RandomEdges(0.5)}}, ["answer", "revise"], "a b c d e")
    whole, fewer = without(drawn)[0].graphs[0].heard, without(drawn, agents=("a",))[0].graphs[0].heard
    assert (fewer == whole[1:, 1:]).all()


def test_a_summary_for_a_group_of_which_nobody_is_left_is_not_written() -> None:
    steps = {
        "answer": {},
        "sum": {"role": "scribe", "each": "group", "hears": Groups(3), "reads": "summary"},
        "revise": {"hears": OfRole(("scribe",))},
    }
    debate, _ = without(method(steps, ["answer", "sum", "revise"], {"debater": "a b c", "scribe": "s"}), agents=("a",))
    assert len([turn for turn in debate.turns if turn.step == "sum"]) == 2


def test_who_speaks_for_listeners_does_not_hear_along_an_edge_that_is_left_out() -> None:
    steps = {
        "answer": {},
        "tell": {"role": "scribe", "each": "listener", "hears": OfRole(("debater",)), "reads": "summary"},
    }
    debate, _ = without(method(steps, ["answer", "tell"], {"debater": "a b c", "scribe": "s"}), edges=(("a", "s"),))
    speakers = [{debate.turns[n].speaker for n in turn.heard} for turn in debate.turns if turn.step == "tell"]
    assert speakers == [{"b", "c"}, {"c"}, {"b"}]


def test_weights_are_made_among_those_who_are_left() -> None:
    sparse = method(
        {"answer": {}, "revise": {"hears": Sparse("reliability * n_agents", Keep("all"))}}, ["answer", "revise"]
    )
    debate, _ = without(sparse, agents=("b",))
    assert debate.graphs[0].weight[0, 1] == pytest.approx(0.5 * 2)
    cut, _ = without(sparse, edges=(("a", "b"),))
    assert (cut.graphs[0].weight[0, 1], cut.graphs[0].heard[0, 1]) == (pytest.approx(1.5), False)


JUDGED = method(
    {
        **TALK,
        "judge": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
        "conclude": {"role": "judge", "hears": OfRole(("debater",))},
    },
    ["answer", Repeat(2, ("revise", "judge"), until="approved"), "conclude"],
    {"debater": "a b", "judge": "j"},
    Decide("last", "judge"),
)


@pytest.mark.parametrize(
    ("left_out", "why"),
    [
        (Ablation(agents=("a", "b")), "nobody is left to debate as debater"),
        (Ablation(steps=("answer",)), "step answer opens the debate"),
        (Ablation(steps=("judge",)), "the end of a loop is computed from step judge"),
        (Ablation(steps=("conclude",)), "the answer of the debate is that of judge"),
        (Ablation(agents=("j",)), "the answer of the debate is that of judge"),
    ],
)
def test_what_a_debate_cannot_do_without_is_said(left_out: Ablation, why: str) -> None:
    found = why_needed(JUDGED, left_out)
    assert found is not None
    assert why in found[0]


def test_a_step_that_hears_nobody_else_needs_what_it_hears() -> None:
    steps = {
        "answer": {},
        "sum": {"role": "scribe", "hears": OfRole(("debater",)), "reads": "summary"},
        "revise": {"hears": OfRole(("scribe",))},
    }
    told = method(steps, ["answer", "sum", "revise"], {"debater": "a b", "scribe": "s"})
    assert why_needed(told, Ablation(steps=("sum",))) == (
        "step revise hears nobody but step sum",
        "leave out both: step=sum,revise",
    )
    assert why_needed(told, Ablation(steps=("sum", "revise"))) is None
    assert why_needed(told, Ablation(agents=("a",))) is None


def test_what_is_left_out_is_written_as_it_is_asked_for() -> None:
    assert str(Ablation(agents=("a", "b"), edges=(("a", "c"),), rounds=(1, 2), steps=("x",))) == (
        "agent=a,b edge=a:c round=1,2 step=x"
    )


ANOTHER = "leave out another"


def picked(where: str) -> dict[str, Any]:
    return {"revise": {"hears": Everyone(), "shows": ("last", TurnFilter(("answer",), where=where))}}


STEPS: dict[str, dict[str, Any]] = {
    "answer": {},
    "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
    "pick": {"role": "judge", "hears": OfRole(("debater",)), "reads": "choice"},
    "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
    "compare": {"role": "judge", "hears": OfRole(("debater",)), "each": "pair", "reads": "similarity"},
    "revise": {"hears": Everyone()},
    "conclude": {"role": "judge", "hears": OfRole(("debater",))},
}
CAST = {"debater": "a b c", "some": "a", "judge": "j"}
SPOKEN = ["answer", "review", "pick", "rule", "compare"]


def of(*schedule: SchedulePart, steps: dict[str, Any] | None = None, **words: Any) -> Method:
    return method({**STEPS, **(steps or {})}, [*SPOKEN, *schedule], CAST, **words)  # type: ignore[list-item]


def some(weight: str) -> Choose:
    return Choose("some", "debater", weight, Keep("all"))


def weighed(weight: str) -> dict[str, Any]:
    return {"revise": {"hears": Sparse(weight, Keep("all"))}}


@pytest.mark.parametrize(
    ("debate", "step", "why"),
    [
        (of(some("mean_score"), "revise"), "review", "a choice of the schedule is computed from step review"),
        (of(some("mean(score)"), "revise"), "review", "a choice of the schedule is computed from step review"),
        (of(some("1 + chosen"), "revise"), "pick", "a choice of the schedule is computed from step pick"),
        (of(Repeat(2, ("revise",), until="mean(chosen) > 1")), "pick", "the end of a loop is computed from step pick"),
        (of(Repeat(2, ("revise",), unless="mean(chosen) > 1")), "pick", "the end of a loop is computed from step pick"),
        (of(Repeat(2, (some("chosen"), "revise"))), "pick", "a choice of the schedule is computed from step pick"),
        (of(decide=Decide("vote", weight="chosen")), "pick", "the vote is computed from step pick"),
        (of(Repeat(2, ("revise",), until="approved or round > 3")), "rule",
         "the end of a loop is computed from step rule"),
        (of(Repeat(2, ("revise",), unless="approved")), "rule", "the end of a loop is computed from step rule"),
        (of("revise", steps=weighed("mean_score")), "review",
         "what step revise hears is computed from step review"),
        (of("revise", steps=weighed("chosen")), "pick", "what step revise hears is computed from step pick"),
        (of("revise", steps=weighed("similarity"), similarity="asked"), "compare",
         "what step revise hears is computed from step compare"),
        (of("revise", steps=weighed("intimacy"), similarity="asked"), "compare",
         "what step revise hears is computed from step compare"),
        (of("revise", steps=picked("approved")), "rule", "what step revise hears is computed from step rule"),
        (of("revise", steps=picked("chosen(pick) > 0.5")), "pick", "what step revise hears is computed from step pick"),
        (of("revise", steps={"revise": {"memory": TurnFilter(where="mean_score")}}), "review",
         "what step revise hears is computed from step review"),
        (of("conclude", decide=Decide("last", "judge")), "conclude",
         "the answer of the debate is that of judge in step conclude"),
    ],
)  # fmt: skip
def test_a_step_that_something_is_made_of_is_needed(debate: Method, step: str, why: str) -> None:
    assert why_needed(debate, Ablation(steps=(step,))) == (why, ANOTHER)
    assert why_needed(debate, Ablation()) is None
    assert why_needed(debate, Ablation(rounds=(1,))) is None


@pytest.mark.parametrize(
    ("debate", "step"),
    [
        (of(some("confidence"), "revise"), "review"),
        (of("revise"), "pick"),
        (of(Repeat(2, ("revise",), until="consensus")), "rule"),
        (of("revise", steps=weighed("similarity")), "compare"),  # computed, not asked for
        (of("revise", steps=weighed("confidence"), similarity="asked"), "compare"),
        (of("revise", steps=picked("confidence > 0.5")), "rule"),
        (of(decide=Decide("majority", weight="chosen")), "pick"),  # no vote of weights
        (of("conclude", decide=Decide("last", "debater")), "conclude"),
        (of("revise", "pick", steps={"pick": {**STEPS["rule"], "beside": ("choice",)}}), "rule"),
    ],
)
def test_a_step_that_nothing_is_made_of_is_not(debate: Method, step: str) -> None:
    assert why_needed(debate, Ablation(steps=(step,))) is None


def test_what_is_read_beside_an_answer_is_read() -> None:
    """The judge rules beside concluding: its other verdicts can be left out, and the loop still ends."""
    both = {"conclude": {**STEPS["conclude"], "beside": ("verdict",)}}
    loop = Repeat(2, ("revise", "conclude"), until="approved")
    assert why_needed(of(loop, steps=both), Ablation(steps=("rule",))) is None
    assert why_needed(of(loop, steps=both), Ablation(steps=("rule", "conclude"))) == (
        "the end of a loop is computed from step rule, conclude",
        ANOTHER,
    )


def test_a_judge_that_is_left_out_takes_its_steps_along() -> None:
    assert why_needed(of(some("chosen"), "revise"), Ablation(agents=("j",))) == (
        "a choice of the schedule is computed from step pick, rule, compare",
        ANOTHER,
    )
    assert why_needed(of("revise"), Ablation(agents=("j",))) is None


def test_an_answer_of_another_role_does_not_take_the_place_of_the_deciding_one() -> None:
    debate = of("conclude", "revise", decide=Decide("last", "judge"))
    found = why_needed(debate, Ablation(steps=("conclude",)))
    assert found == ("the answer of the debate is that of judge in step conclude", ANOTHER)


def test_nobody_left_to_debate_is_the_first_reason() -> None:
    two = method({"pro": {"role": "pro"}, "con": {"role": "con"}}, ["pro", "con"], {"pro": "a", "con": "b"},
                 voters=("pro", "con"))  # fmt: skip
    assert why_needed(two, Ablation(agents=("a", "b"), steps=("pro",))) == (
        "nobody is left to debate as pro or con",
        "leave out fewer agents",
    )
    assert why_needed(two, Ablation(agents=("a",))) == (
        "step pro opens the debate, and all that follows is about its answers",
        ANOTHER,
    )
    assert why_needed(two, Ablation(agents=("b",))) is None


def test_the_opening_is_the_first_answer_of_those_who_debate() -> None:
    """A judge that answers before them opens nothing, and can be left out."""
    debate = method(STEPS, ["conclude", "answer", "revise"], CAST, voters=("debater",))
    assert why_needed(debate, Ablation(steps=("conclude",))) is None
    assert why_needed(debate, Ablation(steps=("revise",))) is None
    found = why_needed(debate, Ablation(steps=("answer",)))
    assert found is not None
    assert found[0].startswith("step answer opens the debate")


def test_one_of_two_roles_that_are_heard_is_enough() -> None:
    """Both left out, all steps that fell silent and the one that would hear nobody are named."""
    steps = {
        "answer": {},
        "sum": {"role": "scribe", "hears": OfRole(("debater",)), "reads": "summary"},
        "note": {"role": "critic", "hears": OfRole(("debater",)), "reads": "comment"},
        "revise": {"hears": OfRole(("scribe", "critic"))},
    }
    debate = method(steps, ["answer", "sum", "note", "revise"], {"debater": "a b", "scribe": "s", "critic": "c"})
    assert why_needed(debate, Ablation(steps=("sum",))) is None
    assert why_needed(debate, Ablation(steps=("note",))) is None
    assert why_needed(debate, Ablation(steps=("sum", "note"))) == (
        "step revise hears nobody but step sum, note",
        "leave out both: step=sum,note,revise",  # as it is asked for
    )
