"""Groups that stay as they were drawn, and numbers that the spec gives agents."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cortexdsl.core import Choose, Debate, Everyone, Groups, Keep, Method, Repeat, SchedulePart
from tests.engine.stage import Stage, method, run

ALL = Keep("all")
SURE = {f"answer:{name}0": f"42|{sure}" for name, sure in zip("abcd", (0.2, 0.9, 0.5, 0.5), strict=True)}


def heard(debate: Debate, number: int = 0) -> dict[str, str]:
    graph = debate.graphs[number]
    return {
        listener: "".join(speaker for row, speaker in enumerate(graph.speakers) if graph.heard[row, column])
        for column, listener in enumerate(graph.listeners)
    }


def of(hears: Any, *choices: SchedulePart, times: int = 1, agents: str = "a b c d") -> Method:
    return method({"answer": {}, "talk": {"hears": hears}}, ["answer", Repeat(times, (*choices, "talk"))], agents)


def test_groups_stay_as_they_were_drawn_once() -> None:
    debate = run(of(Groups(2), Choose("debater", "debater", "random", ALL), times=6))
    assert len({tuple(heard(debate, k).items()) for k in range(6)}) == 1


# ---------------------------------------------------------------- numbers of agents
def given(written: Method, **numbers: float) -> Method:
    role_agents = {
        role: tuple(dataclasses.replace(agent, vars={"trust": numbers[agent.name]}) for agent in agents)
        for role, agents in written.role_agents.items()
    }
    return dataclasses.replace(written, role_agents=role_agents)


def test_a_number_of_an_agent_weighs_it() -> None:
    weighed = Choose("debater", "debater", "vars(trust) * confidence", ALL)
    debate = run(given(of(Everyone(), weighed), a=5.0, b=1.0, c=0.0, d=-1.0), Stage(SURE))
    assert debate.choices[0].weight == pytest.approx((1.0, 0.9, 0.0, -0.5))
    assert debate.choices[0].chosen == ("a", "b", "c", "d")
