"""An order of agents by weight, groups that are dealt again, and numbers that the spec gives agents."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cortexdsl.core import Choose, Debate, Everyone, Groups, Keep, Method, Repeat, Ring, SchedulePart
from cortexdsl.engine.ablation import Ablation
from tests.engine.stage import Stage, method, run

ALL = Keep("all")
BY_CONFIDENCE = Choose("debater", "debater", "confidence", ALL, "weight")
BY_LOT = Choose("debater", "debater", "random", ALL, "weight")
SURE = {f"answer:{name}0": f"42|{sure}" for name, sure in zip("abcd", (0.2, 0.9, 0.5, 0.5), strict=True)}


def heard(debate: Debate, number: int = 0) -> dict[str, str]:
    graph = debate.graphs[number]
    return {
        listener: "".join(speaker for row, speaker in enumerate(graph.speakers) if graph.heard[row, column])
        for column, listener in enumerate(graph.listeners)
    }


def of(hears: Any, *choices: SchedulePart, times: int = 1, agents: str = "a b c d") -> Method:
    return method({"answer": {}, "talk": {"hears": hears}}, ["answer", Repeat(times, (*choices, "talk"))], agents)


def test_agents_stand_by_falling_weight_and_equal_ones_as_before() -> None:
    debate = run(of(Everyone(), BY_CONFIDENCE), Stage(SURE))
    assert debate.choices[0].chosen == ("b", "c", "d", "a")
    assert debate.choices[0].candidates == ("a", "b", "c", "d")


def test_a_ring_follows_the_new_order() -> None:
    """b, c, d, a on a ring: b hears a and c; in the first order a hears b and d."""
    assert heard(run(of(Ring(1), BY_CONFIDENCE), Stage(SURE))) == {"b": "ca", "c": "bd", "d": "ca", "a": "bd"}
    assert {name: set(others) for name, others in heard(run(of(Ring(1)), Stage(SURE))).items()} == {
        "a": {"b", "d"}, "b": {"a", "c"}, "c": {"b", "d"}, "d": {"a", "c"},
    }  # fmt: skip


def test_groups_are_neighbours_of_the_new_order() -> None:
    assert heard(run(of(Groups(2, (2, 2)), BY_CONFIDENCE), Stage(SURE))) == {"b": "c", "c": "b", "d": "a", "a": "d"}


def test_groups_are_drawn_again_in_each_round() -> None:
    """Six rounds of pairs among four agents: all three pairings come up, and each agent has one partner a round."""
    debate = run(of(Groups(2), BY_LOT, times=6))
    rounds = [heard(debate, k) for k in range(6)]
    assert {each["a"] for each in rounds} == {"b", "c", "d"}
    for each in rounds:
        assert all(each[each[name]] == name for name in "abcd")


def test_without_an_order_groups_stay_as_they_were_drawn_once() -> None:
    debate = run(of(Groups(2), Choose("debater", "debater", "random", ALL), times=6))
    assert len({tuple(heard(debate, k).items()) for k in range(6)}) == 1


@pytest.mark.parametrize(
    ("groups", "expected"), [(Groups(2), {"b": "c", "c": "b", "d": ""}), (Groups(2, (2, 2)), None)]
)
def test_fewer_agents_make_smaller_groups(groups: Groups, expected: dict[str, str] | None) -> None:
    """The least confident leaves: b, c and d remain, in this order."""
    leave = Choose("debater", "debater", "confidence", Keep("drop_bottom", 1), "weight")
    assert heard(run(of(groups, leave), Stage(SURE))) == {"b": "c", "c": "b", "d": ""}


def test_places_are_ranks_after_an_order() -> None:
    pick = Choose("some", "debater", "position", ALL)
    steps: dict[str, dict[str, Any]] = {"answer": {}, "talk": {"hears": Everyone()}}
    role_agents = {"debater": "a b c d", "some": "a"}
    debate = run(method(steps, ["answer", BY_CONFIDENCE, pick, "talk"], role_agents), Stage(SURE))
    assert debate.choices[1].candidates == ("b", "c", "d", "a")
    assert debate.choices[1].weight == (1, 2, 3, 4)


def test_numbers_in_prompts_do_not_follow_the_order() -> None:
    stage = Stage(SURE)
    run(of(Everyone(), BY_CONFIDENCE), stage)
    numbers = {name: view["agent"]["number"] for name, view in stage.views.items() if name.startswith("talk")}
    assert numbers == {"talk:a1": 1, "talk:b1": 2, "talk:c1": 3, "talk:d1": 4}


def test_who_is_left_out_is_in_no_new_group() -> None:
    debate = run(of(Groups(2, (2, 2)), BY_CONFIDENCE), Stage(SURE), ablation=Ablation(agents=("c",)))
    assert heard(debate) == {"b": "d", "d": "b", "a": ""}


# ---------------------------------------------------------------- numbers of agents
def given(written: Method, **numbers: float) -> Method:
    role_agents = {
        role: tuple(dataclasses.replace(agent, vars={"trust": numbers[agent.name]}) for agent in agents)
        for role, agents in written.role_agents.items()
    }
    return dataclasses.replace(written, role_agents=role_agents)


def test_a_number_of_an_agent_weighs_it() -> None:
    order = Choose("debater", "debater", "vars(trust) * confidence", ALL, "weight")
    debate = run(given(of(Everyone(), order), a=5.0, b=1.0, c=0.0, d=-1.0), Stage(SURE))
    assert debate.choices[0].weight == pytest.approx((1.0, 0.9, 0.0, -0.5))
    assert debate.choices[0].chosen == ("a", "b", "c", "d")
