"""Metrics of protocols in which several roles answer, or are heard: nothing crashes, and no hearing counts as none."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.core import Debate, Decide, Everyone, OfRole, Repeat
from cortexdsl.metrics.influence import (
    adopted,
    debates,
    density,
    difference_faced,
    dvc,
    exposures,
    most_heard,
    reciprocity,
    right_adopted,
    right_faced,
    wrong_adopted,
    wrong_faced,
)
from cortexdsl.metrics.outcome import consensus
from cortexdsl.metrics.scores import round_rows
from cortexdsl.metrics.tables import debate_tables
from cortexdsl.metrics.view import DebateView, view_debate
from tests.engine.stage import Stage, method, run
from tests.stats.debates import record

SUMMARY = {"role": "summarizer", "hears": OfRole(("debater",)), "reads": "summary"}


def right(question: str, answer: str | None) -> float:
    return float(answer == "42")


def seen(debate: Debate) -> DebateView:
    return view_debate(debate, right)


def staged(steps: Any, schedule: Any, role_agents: Any, script: Any = None, **words: Any) -> Debate:
    return run(method(steps, schedule, role_agents, **words), Stage(script or {}))


def test_answers_heard_beside_a_summary_are_edges() -> None:
    """Three debaters hear the summary and both others in each of two rounds: 12 edges, 4 a debater, all of them."""
    steps = {"answer": {}, "sum": SUMMARY, "revise": {"hears": OfRole(("summarizer", "debater"))}}
    role_agents = {"debater": "a b c", "summarizer": "s"}
    view = seen(staged(steps, ["answer", Repeat(2, ("sum", "revise"))], role_agents, {"answer:b0": "41|0.5"}))
    assert (debates(view), density(view), reciprocity(view), most_heard(view)) == (4.0, 1.0, 1.0, pytest.approx(1 / 3))
    assert dvc(view) == 4.0  # round 1: b and a, b and c, both ways; then all say 42


def test_a_summary_alone_is_no_edge() -> None:
    steps = {"answer": {}, "sum": SUMMARY, "revise": {"hears": OfRole(("summarizer",))}}
    view = seen(staged(steps, ["answer", "sum", "revise"], {"debater": "a b", "summarizer": "s"}))
    assert (debates(view), density(view)) == (0.0, None)


def test_an_outsider_whose_answer_is_heard_counts() -> None:
    """a and b hear each other and the attacker x: four edges of four, two a debater; x disagrees with both."""
    steps = {
        "answer": {},
        "attack": {"role": "attacker", "hears": OfRole(("debater",))},
        "revise": {"hears": OfRole(("debater", "attacker"))},
    }
    debate = staged(steps, ["answer", "attack", "revise"], {"debater": "a b", "attacker": "x"}, {"attack:x1": "13|0.9"})
    view = seen(debate)
    assert view.debaters == ("a", "b")
    assert (debates(view), density(view), dvc(view)) == (2.0, 1.0, 2.0)
    assert [turn.step for turns in view.answers for turn in turns] == ["answer", "answer", "revise", "revise"]


@pytest.mark.parametrize("aggregator", ["a", "d", "a d"])
def test_an_agent_may_answer_in_two_roles(aggregator: str) -> None:
    """Mixture of agents: proposers answer in layers, an aggregator concludes. Proposers alone make rounds."""
    steps = {
        "propose": {"role": "proposer"},
        "refine": {"role": "proposer", "hears": Everyone()},
        "conclude": {"role": "aggregator", "hears": OfRole(("proposer",))},
    }
    debate = staged(
        steps,
        ["propose", Repeat(2, ("refine",)), "conclude"],
        {"proposer": "a b c", "aggregator": aggregator},
        decide=Decide("last", "aggregator"),
    )
    view = seen(debate)
    assert view.debaters == ("a", "b", "c")
    assert [len(turns) for turns in view.answers] == [3, 3, 3]
    assert debates(view) == 4.0
    tables = debate_tables([record(debate)], right)
    assert list(tables["agents"]["agent"]) == ["a", "b", "c"]


def test_an_aggregator_within_the_rounds_makes_no_round_of_its_own() -> None:
    """After each round of proposals an aggregator answers too, here wrongly: consensus is the proposers'."""
    steps = {
        "propose": {"role": "proposer"},
        "merge": {"role": "aggregator", "hears": OfRole(("proposer",))},
        "refine": {"role": "proposer", "hears": OfRole(("aggregator",))},
    }
    role_agents = {"proposer": "a b", "aggregator": "m"}
    debate = staged(
        steps, ["propose", Repeat(2, ("merge", "refine"))], role_agents, {"merge:m1": "1|.5", "merge:m2": "2|.5"}
    )
    view = seen(debate)
    assert view.debaters == ("a", "b")
    assert [[turn.answer for turn in turns] for turns in view.answers] == [["42", "42"]] * 3
    assert consensus(view) == 1.0
    assert debates(view) == 2.0  # the aggregator's answer, heard by each in both rounds
    assert len(round_rows([record(debate)], right)) == 3


def test_influence_is_taking_over_what_one_heard_and_did_not_share() -> None:
    """a (wrong), b (right), c (wrong, otherwise) hear each other once.

    a takes over b's right answer, c takes over a's wrong one, b goes over to a's: three of three adopted. Of the wrong,
    a and c, who both heard b, one adopted it: 1/2. Of the right, b alone, who heard two wrong ones, one: 1/1.
    """
    script = {"answer:a0": "41|.5", "answer:b0": "42|.5", "answer:c0": "40|.5"}
    script |= {"revise:a1": "42|.5", "revise:b1": "41|.5", "revise:c1": "41|.5"}
    debate = staged({"answer": {}, "revise": {"hears": Everyone()}}, ["answer", "revise"], "a b c", script)
    view = seen(debate)
    assert (adopted(view), difference_faced(view)) == (3.0, 3.0)
    assert (right_adopted(view), right_faced(view)) == (1.0, 2.0)
    assert (wrong_adopted(view), wrong_faced(view)) == (1.0, 1.0)
    agents = debate_tables([record(debate)], right)["agents"].set_index("agent")["influence"]
    # each was heard by two who thought otherwise: a's answer was taken over by both, b's by one, c's by none
    assert agents.to_dict() == {"a": 1.0, "b": 0.5, "c": 0.0}
    pairs = debate_tables([record(debate)], right)["persuasion"]
    found = {(row.speaker, row.listener): tuple(row[4:]) for row in pairs.itertuples(index=False)}
    assert found == {  # faced, adopted; a right answer heard, adopted; a wrong one heard, adopted
        ("b", "a"): (1, 1, 1, 1, 0, 0), ("c", "a"): (1, 0, 0, 0, 0, 0),
        ("a", "b"): (1, 1, 0, 0, 1, 1), ("c", "b"): (1, 0, 0, 0, 1, 0),
        ("a", "c"): (1, 1, 0, 0, 0, 0), ("b", "c"): (1, 0, 1, 0, 0, 0),
    }  # fmt: skip


def test_an_adversary_persuades() -> None:
    """x says 13 to a and b, who were right; a gives way and b does not: one of two."""
    steps = {
        "answer": {},
        "attack": {"role": "attacker", "hears": OfRole(("debater",))},
        "revise": {"hears": OfRole(("attacker",))},
    }
    script = {"attack:x1": "13|0.9", "revise:a1": "13|0.5"}
    debate = staged(steps, ["answer", "attack", "revise"], {"debater": "a b", "attacker": "x"}, script)
    view = seen(debate)
    assert (wrong_adopted(view), wrong_faced(view)) == (1.0, 2.0)
    assert [(each.speaker, each.listener, each.adopted) for each in exposures(view)] == [
        ("x", "a", True),
        ("x", "b", False),
    ]
