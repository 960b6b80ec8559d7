"""What holds for every debate: the order of agents is a matter of print, and the record says what the prompts held."""

import dataclasses
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortexdsl.core import Agent, Bin, Debate, Decide, Everyone, Keep, Method, Model, Repeat, Ring, Sparse
from tests.engine.stage import Stage, method, name_of, run

BINS = (Bin(0.0, 0.3, 0.3), Bin(0.3, 0.6, None), Bin(0.6, 0.8, 0.6), Bin(0.8, 1.0, 0.8))
ROUNDS = 3


@st.composite
def scripts(draw: st.DrawFn) -> tuple[tuple[Agent, ...], Stage]:
    """A team of two to five and all that it will ever say; cosines belong to pairs of agents."""
    names = "abcde"[: draw(st.integers(2, 5))]
    team = tuple(
        Agent(name, Model(name, "fake/model", parameters=draw(st.sampled_from([5e8, 7.6e9])), tokens=1e12))
        for name in names
    )
    words = st.tuples(st.sampled_from(["40", "41", "42", "-"]), st.sampled_from(["0.2", "0.45", "0.7", "1", "-"]))
    script = {
        f"{'revise' if k else 'answer'}:{name}{k}": "|".join(draw(words)) for name in names for k in range(ROUNDS + 1)
    }
    cosines = {(u, v): draw(st.integers(-8, 8)) / 8 for u in names for v in names if u < v}

    def cosine(one: str, other: str) -> float:
        first, second = sorted(text.partition("|")[0].partition(":")[2][0] for text in (one, other))
        return cosines[first, second]

    return team, Stage(script, cosine)


TOPOLOGIES = st.one_of(
    st.just(Everyone()),
    st.builds(
        Sparse,
        st.sampled_from([
            "credibility * reliability * intimacy / (self_orientation + 1)",
            "confidence",
            "reliability / (participation + times_hearing + 1) + similarity",
            "1",
        ]),
        st.sampled_from([Keep("mean"), Keep("median"), Keep("mean_of_all"), Keep("top", 2), Keep("drop_bottom", 1)]),
    ),
)  # fmt: skip
METHODS = st.builds(
    lambda hears, decide: method(
        {"answer": {}, "revise": {"hears": hears}},
        ["answer", Repeat(ROUNDS, ("revise",), until="consensus")],
        decide=decide,
        recalibration=BINS,
    ),
    TOPOLOGIES,
    st.sampled_from([Decide("majority"), Decide("weighted"), Decide("majority", tie="none")]),
)


def with_team(of: Method, team: tuple[Agent, ...]) -> Method:
    return dataclasses.replace(of, role_agents={"debater": team})


def edges(debate: Debate) -> list[dict[tuple[str, str], tuple[bool, Any]]]:
    """Each graph as (speaker, listener) -> (kept, weight)."""
    return [
        {
            (u, v): (
                bool(graph.heard[i, j]),
                None if graph.weight is None else pytest.approx(graph.weight[i, j], nan_ok=True),
            )
            for i, u in enumerate(graph.speakers)
            for j, v in enumerate(graph.listeners)
        }
        for graph in debate.graphs
    ]


@settings(max_examples=60, deadline=None)
@given(scripts(), METHODS, st.randoms(use_true_random=False))
def test_the_order_of_agents_changes_no_weight_no_edge_no_vote(
    staged: tuple[tuple[Agent, ...], Stage], of: Method, shuffler: random.Random
) -> None:
    team, stage = staged
    shuffled = list(team)
    shuffler.shuffle(shuffled)
    one, other = run(with_team(of, team), stage), run(with_team(of, tuple(shuffled)), stage)
    assert edges(one) == edges(other)
    assert (one.answer, one.was_tied, one.rounds, one.stop) == (other.answer, other.was_tied, other.rounds, other.stop)
    assert one.votes == pytest.approx(other.votes)
    heard = [{name_of(turn): {name_of(d.turns[k]) for k in turn.heard} for turn in d.turns} for d in (one, other)]
    assert heard[0] == heard[1]


@settings(max_examples=60, deadline=None)
@given(scripts(), METHODS)
def test_a_record_agrees_with_itself(staged: tuple[tuple[Agent, ...], Stage], of: Method) -> None:
    """Everybody hears somebody; turns heard are the kept edges; rounds, votes and consensus follow from the turns."""
    team, stage = staged
    debate = run(with_team(of, team), stage)
    assert [turn.turn for turn in debate.turns] == list(range(len(debate.turns)))
    assert len(debate.graphs) == debate.rounds
    for graph in debate.graphs:
        assert graph.heard.any(axis=0).all()
        for listener, column in zip(graph.listeners, graph.heard.T, strict=True):
            turn = next(t for t in debate.turns if (t.round, t.speaker) == (graph.round, listener))
            kept = [name for name, heard in zip(graph.speakers, column, strict=True) if heard]
            assert [debate.turns[k].speaker for k in turn.heard] == kept
            assert all(debate.turns[k].round == graph.round - 1 for k in turn.heard)
    last = [turn for turn in debate.turns if turn.round == debate.rounds]
    answers = [turn.answer for turn in last if turn.answer is not None]
    assert set(debate.votes) == set(answers)
    assert (debate.stop == "consensus") == (debate.rounds > 0 and len(answers) == len(last) and len(set(answers)) == 1)
    for turn in debate.turns:
        assert turn.confidence is None or (0 <= turn.confidence <= 1 and math.isfinite(turn.confidence))
        assert (turn.answer is None) == (turn.unparsed is not None)


@settings(max_examples=30, deadline=None)
@given(scripts(), METHODS, st.integers(0, 2**20))
def test_the_order_of_replies_changes_nothing(staged: tuple[tuple[Agent, ...], Stage], of: Method, seed: int) -> None:
    """Replies arrive after random numbers of turns of the event loop; the record is the same."""
    team, stage = staged
    waits = random.Random(seed)
    late = dataclasses.replace(stage, delay=lambda label: waits.randrange(5), calls=[], views={})
    one, other = run(with_team(of, team), stage), run(with_team(of, team), late)
    assert one.turns == other.turns
    assert edges(one) == edges(other)
    assert [call.seed for call in stage.calls] == [call.seed for call in late.calls]


@settings(max_examples=30, deadline=None)
@given(scripts(), METHODS, METHODS)
def test_two_methods_share_their_opening_call_for_call(
    staged: tuple[tuple[Agent, ...], Stage], one: Method, other: Method
) -> None:
    team, stage = staged
    calls = []
    for of in (one, other):
        fresh = dataclasses.replace(stage, calls=[], views={})
        run(with_team(of, team), fresh)
        calls.append(fresh.calls[: len(team)])
    assert calls[0] == calls[1]


def test_a_ring_is_a_matter_of_order() -> None:
    """The one place where the order of agents counts is where a topology says so."""
    of = method({"answer": {}, "revise": {"hears": Ring(1)}}, ["answer", "revise"], "a b c d")
    other = dataclasses.replace(of, role_agents={"debater": tuple(of.role_agents["debater"][k] for k in (0, 2, 1, 3))})
    assert edges(run(of)) != edges(run(other))
