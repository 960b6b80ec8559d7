"""The names of the expression language: each has a value wherever it may stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cortexdsl.core import Choose, Decide, Everyone, Keep, Method, OfRole, Price, Repeat, Sparse
from cortexdsl.expressions.evaluation import evaluate, parse
from cortexdsl.expressions.names import (
    HAVE_EARLIER,
    NAMES,
    OF_AGENT,
    OF_DEBATE,
    OF_PAIR,
    ExpressionPlace,
    sample_values,
)
from tests.engine.stage import method, run

WRITTEN = {"answer": "(answer != before(answer))", "vars": "vars(trust)", "stated": "stated(clarity)"}
"""Names that do not stand alone, as they are written."""


@pytest.mark.parametrize("place", NAMES)
def test_every_name_can_be_checked_where_it_may_stand(place: ExpressionPlace) -> None:
    """A made-up value in the shape that it has in a debate: an edge's weight is one a pair, a vote's one an answer."""
    for name in set(NAMES[place]) - WRITTEN.keys():
        assert np.isfinite(evaluate(parse(name), sample_values(place, 0.5))).all()


@pytest.mark.parametrize(
    ("place", "of_agent", "of_pair"),
    [("weight", (4, 1), (4, 4)), ("condition", (4, 1), (4, 4)), ("choice", (1, 4), (4, 4))],
)
def test_made_up_values_have_the_shapes_of_a_debate_and_lie_near_the_one_that_is_asked_for(
    place: ExpressionPlace, of_agent: tuple[int, int], of_pair: tuple[int, int]
) -> None:
    found = sample_values(place, 0.5)
    assert found.keys() == {*NAMES[place], *HAVE_EARLIER[place]}
    for name, values in found.items():
        shape = of_agent if name in OF_AGENT else of_pair if name in {*OF_PAIR, "weight"} else ()
        assert np.shape(values) == shape
        assert (np.asarray(values) >= 0.5).all()
        assert (np.asarray(values) <= 0.55).all()
    drawn = np.concatenate([np.ravel(values) for values in found.values()])
    assert len(set(drawn.tolist())) == drawn.size, "what is compared, such as a == b, is no tie"


def test_a_vote_has_a_value_an_answer() -> None:
    assert {np.shape(values) for values in sample_values("vote", 0.5).values()} == {(4,)}


def test_an_edge_has_no_past_but_in_its_own_step() -> None:
    assert [place for place, names in HAVE_EARLIER.items() if "weight" in names] == ["weight"]
    assert set(NAMES["choice"]) == set(NAMES["condition"]) == set(NAMES["weight"])
    assert {"position", "random", "participation", "self_orientation"}.isdisjoint(NAMES["vote"])


STEPS = {
    "answer": {},
    "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
    "choose": {"role": "judge", "hears": OfRole(("debater",)), "reads": "choice"},
    "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
    "revise": {"role": "some", "hears": Everyone()},
}
CAST = {"debater": "a b c", "some": "a b c", "judge": "j"}
ALL = ["answer", "review", "choose", "rule"]


def given(of: Method) -> Method:
    """A method whose agents have a number called trust, and whose models have prices."""
    role_agents = {
        role: tuple(replace(agent, vars={"trust": 0.5}) for agent in agents) for role, agents in of.role_agents.items()
    }
    return replace(of, role_agents=role_agents, charged={model.name: Price(1.0, 2.0) for model in of.models})


@pytest.mark.parametrize("name", NAMES["weight"])
def test_every_name_weighs_edges(name: str) -> None:
    steps = {**STEPS, "revise": {"hears": Sparse(WRITTEN.get(name, name), Keep("all"))}}
    graph = run(given(method(steps, [*ALL, "revise", "revise"], {"debater": "a b c", "judge": "j"}))).graphs[-1]
    assert graph.weight is not None
    assert np.isfinite(graph.weight[~np.eye(3, dtype=bool)]).all()


@pytest.mark.parametrize("name", NAMES["choice"])
def test_every_name_weighs_agents_and_the_debate(name: str) -> None:
    """At the opening, before anybody has answered, too: a condition may be looked at first of all."""
    is_pair, is_debate, name = name in OF_PAIR, name in OF_DEBATE, WRITTEN.get(name, name)
    weight = f"any({name})" if is_pair else name
    condition = name if is_debate else f"mean(mean({name}))"
    schedule = [Repeat(1, ("answer",), unless=f"({condition}) < -1"), *ALL[1:]]
    schedule += [Choose("some", "debater", weight, Keep("all")), Repeat(1, ("revise",), until=f"({condition}) < -1")]
    debate = run(given(method(STEPS, schedule, CAST)))
    assert debate.choices[0].chosen == ("a", "b", "c")
    assert debate.rounds == 1


@pytest.mark.parametrize("name", NAMES["vote"])
def test_every_name_weighs_answers(name: str) -> None:
    weight = f"1 + {WRITTEN.get(name, name)}"
    debate = run(given(method(STEPS, [*ALL, "revise"], CAST, decide=Decide("vote", weight=weight))))
    assert np.isfinite(list(debate.votes.values())).all()
    assert debate.answer == "42"
