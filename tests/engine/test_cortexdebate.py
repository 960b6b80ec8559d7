"""CortexDebate by hand: three agents, two rounds, every weight, edge and vote worked out with bc to 20 digits."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cortexdsl.core import Agent, Bin, Call, Debate, Everyone, Floats, Keep, Method, Model, Repeat, Reply, Sparse
from cortexdsl.errors import DebateError
from tests.engine.stage import Stage, method, run

BINS = (Bin(0.0, 0.3, 0.3), Bin(0.3, 0.6, None), Bin(0.6, 0.8, 0.6), Bin(0.8, 1.0, 0.8))
WEIGHT = "credibility * reliability * intimacy / (self_orientation + 1)"

# C = 0.513499302322, 0.513206960880, 0.431536003161 (test_mdm.py)
TEAM = tuple(
    Agent(name, Model(name, "fake/model", parameters=parameters, tokens=tokens))
    for name, parameters, tokens in (("a", 7.6e9, 18e12), ("b", 8e9, 15e12), ("c", 0.5e9, 1e12))
)

SCRIPT = {
    # recalibrated: 0.8, 0.6, 0.5
    "answer:a0": "42|0.9",
    "answer:b0": "41|0.7",
    "answer:c0": "42|0.5",
    # 0.6, 0.3, 0.8
    "revise:a1": "42|0.65",
    "revise:b1": "41|0.2",
    "revise:c1": "40|1.0",
    # 0.8, 0.8, 0.3
    "revise:a2": "42|0.9",
    "revise:b2": "41|0.95",
    "revise:c2": "41|0.1",
}
COSINES = {
    ("a0", "b0"): 0.2,
    ("a0", "c0"): 0.6,
    ("b0", "c0"): 0.5,
    ("a1", "b1"): 0.4,
    ("a1", "c1"): 0.2,
    ("b1", "c1"): 0.3,
}


def cosine(one: str, other: str) -> float:
    pair = sorted(text.partition("|")[0].partition(":")[2] for text in (one, other))
    return COSINES[pair[0], pair[1]]


def cortexdebate(weight: str = WEIGHT, keep: Keep | None = None, rounds: int = 2, **settings: Any) -> Method:
    steps = {"answer": {}, "revise": {"hears": Sparse(weight, keep or Keep("mean"))}}
    of = method(steps, ["answer", Repeat(rounds, ("revise",), until="consensus")], recalibration=BINS, **settings)
    return dataclasses.replace(of, role_agents={"debater": TEAM})


def staged(script: dict[str, str] | None = None) -> Stage:
    return Stage(SCRIPT if script is None else script, cosine)


@pytest.fixture
def debate() -> Debate:
    return run(cortexdebate(), staged())


def matrix(*rows: list[float]) -> Floats:
    return np.array(rows)


def test_weights_and_edges_of_round_1(debate: Debate) -> None:
    """S = 0 for everybody, so that W = C R I with I_ab = .8, I_ac = .4, I_bc = .5.

    a hears b (.2463 of a mean of .1663) and not c; b hears a (.3286 of .2183); c hears a (.1643 of .1591).
    """
    graph = debate.graphs[0]
    assert graph.weight == pytest.approx(
        matrix(
            [np.nan, 0.328639553486, 0.164319776743],
            [0.246339341222, np.nan, 0.153962088264],
            [0.086307200632, 0.107884000790, np.nan],
        ),
        abs=1e-12,
        nan_ok=True,
    )
    assert graph.heard.tolist() == [[False, True, True], [True, False, False], [False, False, False]]
    assert (graph.round, graph.step, graph.speakers, graph.listeners) == (1, "revise", ("a", "b", "c"), ("a", "b", "c"))


def test_factors_of_round_2(debate: Debate) -> None:
    """R: (.8+.6)/2, (.6+.3)/2, (.5+.8)/2. Sim: means of two rounds. P: a spoke to two, b to one; S = 2 - P."""
    factors = debate.graphs[1].factors
    assert factors["credibility"] == pytest.approx([0.513499302322, 0.513206960880, 0.431536003161], abs=1e-12)
    assert factors["reliability"] == pytest.approx([0.7, 0.45, 0.65])
    assert factors["similarity"] == pytest.approx(matrix([1, 0.3, 0.4], [0.3, 1, 0.4], [0.4, 0.4, 1]))
    assert factors["intimacy"] == pytest.approx(matrix([0, 0.7, 0.6], [0.7, 0, 0.6], [0.6, 0.6, 0]))
    assert factors["participation"].tolist() == [2, 1, 0]
    assert factors["self_orientation"].tolist() == [0, 1, 2]


def test_weights_and_edges_of_round_2(debate: Debate) -> None:
    """Divided by S + 1 = 1, 2, 3. Without S, a would hear c (.1683), not b (.1617); with it b (.0808 of .0685)."""
    graph = debate.graphs[1]
    assert graph.weight == pytest.approx(
        matrix(
            [np.nan, 0.251614658138, 0.215669706975],
            [0.080830096339, np.nan, 0.069282939719],
            [0.056099680411, 0.056099680411, np.nan],
        ),
        abs=1e-12,
        nan_ok=True,
    )
    assert graph.heard.tolist() == [[False, True, True], [True, False, False], [False, False, False]]


def test_prompts_hold_the_kept_agents_last_words_and_no_more() -> None:
    stage = staged()
    run(cortexdebate(), stage)
    assert stage.trace() == [
        "answer:a0",
        "answer:b0",
        "answer:c0",
        "revise:a1 <- answer:b0",
        "revise:b1 <- answer:a0",
        "revise:c1 <- answer:a0",
        "revise:a2 <- revise:b1",
        "revise:b2 <- revise:a1",
        "revise:c2 <- revise:a1",
    ]
    assert "heard answer:b0|41" in stage.prompts()[3].splitlines()  # whole, without its confidence


def test_the_last_round_votes(debate: Debate) -> None:
    """42, 41, 41: the opening's majority of 42 is gone; a's 0.8 does not count against two votes."""
    assert (debate.answer, debate.votes, debate.was_tied) == ("41", {"42": 1.0, "41": 2.0}, False)
    assert (debate.rounds, debate.stop) == (2, "rounds")
    assert [turn.confidence for turn in debate.turns] == [0.8, 0.6, 0.5, 0.6, 0.3, 0.8, 0.8, 0.8, 0.3]
    assert debate.turns[3].confidence_stated == 0.65


def test_consensus_ends_it_after_a_round_and_never_before() -> None:
    """A unanimous opening is debated for a round, as the paper has it; then everybody agrees, and it ends."""
    debate = run(cortexdebate(rounds=5), staged({}))
    assert (len(debate.turns), debate.rounds, debate.stop, debate.answer) == (6, 1, "consensus", "42")


def test_listeners_learn_whom_they_trust() -> None:
    """Full graph with MDM: all edges are kept, and the prompt's view holds each heard agent's weight."""
    stage = staged()
    run(cortexdebate(keep=Keep("all")), stage)
    heard = stage.views["revise:a1"]["heard"]
    assert [turn["speaker"] for turn in heard] == ["b", "c"]
    assert [turn["weight"] for turn in heard] == pytest.approx([0.246339341222, 0.086307200632], abs=1e-12)


def test_a_review_along_a_weighed_edge_knows_its_weight() -> None:
    """Each reviews whom it trusts most, by confidence .8, .6, .5: a reviews b, and b and c review a."""
    steps = {"answer": {}, "review": {"hears": Sparse("confidence", Keep("top", 1)), "each": "edge", "reads": "review"}}
    stage = staged()
    run(
        dataclasses.replace(method(steps, ["answer", "review"], recalibration=BINS), role_agents={"debater": TEAM}),
        stage,
    )
    weights = {name: view["heard"][0]["weight"] for name, view in stage.views.items() if name.startswith("review")}
    assert weights == {"review:a1>b": 0.6, "review:b1>a": 0.8, "review:c1>a": 0.8}


def test_the_times_that_an_agent_heard_others_are_a_name() -> None:
    """In round 1 each agent heard exactly one other."""
    factors = run(cortexdebate(f"{WEIGHT} + 0 * times_hearing"), staged()).graphs[1].factors
    assert factors["times_hearing"].tolist() == [1, 1, 1]
    assert factors["participation"].tolist() == [2, 1, 0]


def test_an_opening_by_turns_is_no_round_of_debate() -> None:
    """Participation counts rounds 1 to d - 1: who was heard while opening one by one has not debated yet."""
    steps = {
        "answer": {"hears": Everyone(), "order": "sequential"},
        "revise": {"hears": Sparse("1 / (self_orientation + 1)", Keep("mean"))},
    }
    debate = run(method(steps, ["answer", "revise"]))
    assert debate.graphs[1].factors["participation"].tolist() == [0, 0, 0]
    assert debate.graphs[1].factors["self_orientation"].tolist() == [0, 0, 0]


def test_a_division_by_zero_names_the_round_the_agent_and_the_remedy() -> None:
    """The paper's own formula: S is 0 for everybody in round 1."""
    of = cortexdebate("credibility * reliability * intimacy / self_orientation")
    with pytest.raises(
        DebateError, match=r"round 1: the weight of agent 'a'.*self_orientation 0.*\(self_orientation \+ 1\)"
    ):
        run(of, staged())


def test_another_weight_that_is_no_number_gives_no_advice_on_self_orientation() -> None:
    with pytest.raises(
        DebateError, match=r"round 1: the weight of agent 'c' .*log\(reliability - 0\.5\) with reliability 0\.5$"
    ):
        run(cortexdebate("log(reliability - 0.5)"), staged())


def nothing(call: Call) -> Reply:
    return Reply("key", "", None, 5, None, error="content filter")


@pytest.mark.parametrize("keep", [Keep("mean"), Keep("median"), Keep("top", 1), Keep("drop_bottom", 1), Keep("all")])
def test_an_empty_reply_is_no_candidate_for_an_edge(keep: Keep) -> None:
    """c says nothing in the opening: it has no weight, nobody hears it, and everybody hears somebody.

    Thresholds are worked out over the others: one candidate is left for a and for b, which each keeps. Among a and b,
    c keeps a and b under `all` and the better, a (.3286 or more of whatever intimacy), under the rest.
    """
    debate = run(cortexdebate(keep=keep, rounds=1), Silent(SCRIPT | {"answer:c0": nothing}, cosine))
    graph = debate.graphs[0]
    assert np.isnan(graph.weight[2]).all()  # type: ignore[index]
    assert not np.isnan(graph.weight[[0, 1, 0, 1], [1, 0, 2, 2]]).any()  # type: ignore[index]
    assert not graph.heard[2].any()
    assert graph.heard.any(axis=0).all()
    assert [len(turn.heard) for turn in debate.turns[3:]] == graph.heard.sum(axis=0).tolist()
    assert graph.factors["similarity"] == pytest.approx(np.where(np.eye(3), 1.0, 0.2))  # c is as like as any


class Silent(Stage):
    """A stage whose similarity of an empty text is 0 with all, as an embedding's is."""

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        def between(one: str, other: str) -> float:
            return 0.0 if not (one and other) else 1.0 if one == other else self.cosine(one, other)

        return np.array([[between(u, v) for v in texts] for u in texts])


def test_a_listener_hears_nobody_only_where_nobody_said_anything() -> None:
    script = SCRIPT | {"answer:b0": nothing, "answer:c0": nothing}
    graph = run(cortexdebate(rounds=1), Silent(script, cosine)).graphs[0]
    assert graph.heard.tolist() == [[False, True, True], [False] * 3, [False] * 3]


def test_without_intimacy_and_self_orientation() -> None:
    """W = C R: a 0.4108, b 0.3079, c 0.2158. Each hears the better of both others; no similarity is asked for."""

    class NoSimilarity(Stage):
        async def similarity(self, embedding: str, texts: object) -> Floats:
            raise AssertionError("nobody needs it")

    debate = run(cortexdebate("credibility * reliability", rounds=1), NoSimilarity(SCRIPT))
    assert debate.graphs[0].heard.tolist() == [[False, True, True], [True, False, False], [False, False, False]]
    assert "similarity" not in debate.graphs[0].factors


def test_self_evaluation_hears_those_above_the_mean_confidence() -> None:
    """Recalibrated confidences .8, .6, .5: the mean is .6333. b and c hear a; a, with nobody above, hears its best."""
    debate = run(cortexdebate("confidence", Keep("mean_of_all"), rounds=1), staged())
    assert debate.graphs[0].heard.tolist() == [[False, True, True], [True, False, False], [False, False, False]]
    assert debate.graphs[0].factors["confidence"].tolist() == [0.8, 0.6, 0.5]


def test_confidence_is_that_of_the_last_round_and_nothing_where_none_was_stated() -> None:
    script = SCRIPT | {"revise:b1": "41|-"}
    debate = run(cortexdebate("confidence", Keep("mean_of_all")), staged(script))
    assert debate.graphs[1].factors["confidence"].tolist() == [0.6, 0.0, 0.8]
    assert debate.graphs[1].factors["reliability"] == pytest.approx([0.7, 0.6, 0.65])  # b's one stated round


def peer_evaluation() -> Method:
    steps = {
        "answer": {},
        "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
        "revise": {"hears": Sparse("mean_score", Keep("mean_of_all"))},
    }
    return method(steps, ["answer", Repeat(1, ("review", "revise"))], recalibration=BINS)


def test_peer_evaluation_hears_those_above_the_mean_score() -> None:
    """Scores: a 1.0 and 0.9, mean 0.95; b 0.5 and 0.7, mean 0.6; c 0.1 and nothing readable, 0.1. Mean of all 0.55.

    Scores are no confidences in an answer: 1.0 stays 1.0, where recalibration would make it 0.8.
    """
    script = SCRIPT | {
        "review:b1>a": "good|1.0",
        "review:c1>a": "good|0.9",
        "review:a1>b": "fair|0.5",
        "review:c1>b": "fair|0.7",
        "review:a1>c": "poor|0.1",
        "review:b1>c": "-|-",
    }
    debate = run(peer_evaluation(), staged(script))
    assert debate.graphs[1].factors["mean_score"] == pytest.approx([0.95, 0.6, 0.1])
    assert debate.graphs[1].heard.tolist() == [[False, True, True], [True, False, True], [False, False, False]]
    assert debate.graphs[1].factors["participation"].tolist() == [0, 0, 0]  # reviews are no debate


def test_the_last_scores_of_a_peer_are_what_counts() -> None:
    """Two who review each other twice, once a round: the second score is heeded, not the mean, and not the first."""
    script = {
        "review:b1>a": "poor|0.2",
        "review:b2>a": "good|0.9",
        "review:a1>b": "good|1.0",
        "review:a2>b": "fair|0.5",
    }
    steps, settings = peer_evaluation().steps, {"recalibration": BINS}
    words = {"answer": {}, "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
             "revise": {"hears": steps["revise"].hears}}  # fmt: skip
    debate = run(method(words, ["answer", Repeat(2, ("review", "revise"))], "a b", **settings), Stage(script))
    sparse = [graph.factors["mean_score"].tolist() for graph in debate.graphs if "mean_score" in graph.factors]
    assert sparse == [[0.2, 1.0], [0.9, 0.5]]


def test_trust_is_each_ones_share_of_the_weight_that_is_heard() -> None:
    """By confidence .8 and .6: b, who hears both, trusts a by .8 / 1.4."""
    steps = {"answer": {}, "revise": {"hears": Sparse("confidence", Keep("all"))}}
    stage = Stage({"answer:a0": "1|0.8", "answer:c0": "2|0.6"})
    run(method(steps, ["answer", "revise"]), stage)
    trust = {turn["speaker"]: turn["trust"] for turn in stage.views["revise:b1"]["heard"]}
    assert trust == {"a": pytest.approx(0.8 / 1.4), "c": pytest.approx(0.6 / 1.4)}


def test_a_weight_without_what_it_needs_is_an_error() -> None:
    of = dataclasses.replace(
        cortexdebate(), role_agents={"debater": tuple(Agent(n, Model(n, "fake/model")) for n in "abc")}
    )
    with pytest.raises(DebateError, match="the weight uses credibility, which needs parameters and tokens"):
        run(of, staged())


def test_nothing_can_be_weighed_before_anybody_has_answered() -> None:
    of = method({"answer": {"hears": Sparse("confidence", Keep("mean"))}}, ["answer"])
    with pytest.raises(DebateError, match="step 'answer' weighs answers before"):
        run(of)


def test_a_role_that_does_not_answer_cannot_hear_by_weight() -> None:
    steps = {
        "answer": {},
        "judge": {"role": "judge", "hears": Sparse("confidence", Keep("top", 1)), "reads": "verdict"},
    }
    with pytest.raises(DebateError, match="step 'judge' of role 'judge': only debaters"):
        run(method(steps, ["answer", "judge"], role_agents={"debater": "a b", "judge": "j"}))
