"""The variants of the shipped methods: every ablation of the papers is a value of a setting."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from cortexdsl.core import Debate, Keep, Method, OfRole, Sparse
from cortexdsl.errors import SpecError
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import load_protocol, protocol_of
from cortexdsl.language.reader import parse
from tests.engine import published
from tests.engine.stage import Stage, agents, run


def shipped(name: str, team: str, settings: str = "{}") -> Method:
    """A built-in protocol with its agents, each prompt called by its step as the stage does."""
    team_ = agents(team, parameters=7e9, tokens=2e12)
    method = resolve(load_protocol(name), MethodChoice("methods.tried", parse(settings, "tried.yaml"), team_))
    return dataclasses.replace(
        method, steps={step: dataclasses.replace(words, prompt=step) for step, words in method.steps.items()}
    )


def heard_by(debate: Debate, label: str) -> list[str]:
    """Whom a step's first execution let the first listener hear."""
    graph = next(graph for graph in debate.graphs if graph.step == label)
    return [name for name, kept in zip(graph.speakers, graph.heard[:, 0], strict=True) if kept]


# ------------------------------------------------------------ a similarity that a model is asked for
def alike(pairs: dict[str, str]) -> dict[str, Any]:
    """A script in which the comparer says how alike two agents are."""
    said = published.disagreeing(5, 6)
    return said | {f"compare:comparer1>{pair}": f"-|{value}" for pair, value in pairs.items()}


def test_an_asked_similarity_is_one_call_a_pair_and_round() -> None:
    """n (D + 1) answers and D n (n - 1) / 2 comparisons: 4 * 3 + 2 * 6."""
    stage = Stage(published.disagreeing(5, 6))
    debate = run(shipped("cortexdebate", "a b c d", "{rounds: 2, similarity: asked}"), stage)
    assert len(debate.turns) == 4 * 3 + 2 * 6
    assert stage.trace()[4:7] == [
        "compare:comparer1>aandb <- answer:a0 answer:b0",
        "compare:comparer1>aandc <- answer:a0 answer:c0",
        "compare:comparer1>aandd <- answer:a0 answer:d0",
    ]


def test_an_asked_similarity_decides_who_is_heard() -> None:
    """With intimacy alone as weight a hears whom the comparer finds least like it: 1 - 0.9 < mean < 1 - 0.2."""
    said = "{rounds: 1, similarity: asked, weight: intimacy}"
    debate = run(shipped("cortexdebate", "a b c", said), Stage(alike({"aandb": "0.9", "aandc": "0.2", "bandc": "0.5"})))
    assert heard_by(debate, "revise") == ["c"]
    graph = next(graph for graph in debate.graphs if graph.step == "revise")
    np.testing.assert_allclose(graph.factors["similarity"], [[1, 0.9, 0.2], [0.9, 1, 0.5], [0.2, 0.5, 1]])


def test_a_similarity_that_cannot_be_read_is_none() -> None:
    debate = run(
        shipped("cortexdebate", "a b", "{rounds: 1, similarity: asked, weight: intimacy}"),
        Stage(alike({"aandb": "-"})),
    )
    graph = next(graph for graph in debate.graphs if graph.step == "revise")
    assert graph.factors["similarity"][0, 1] == 0.0


def test_similarities_are_averaged_over_rounds() -> None:
    """Eq. 6 of CortexDebate: 0.8 after the opening, 0.4 after round 1, so 0.6 in round 2."""
    script = published.disagreeing(2, 3) | {"compare:comparer1>aandb": "-|0.8", "compare:comparer2>aandb": "-|0.4"}
    debate = run(shipped("cortexdebate", "a b", "{rounds: 2, similarity: asked}"), Stage(script))
    assert [g.factors["similarity"][0, 1] for g in debate.graphs if g.step == "revise"] == pytest.approx([0.8, 0.6])


def test_an_embedding_needs_no_comparer() -> None:
    method = shipped("cortexdebate", "a b c")
    assert list(method.role_agents) == ["debater"]
    assert list(method.steps) == ["answer", "revise"]


def test_a_weight_by_an_asked_similarity_needs_a_step_that_asks() -> None:
    text = (
        "steps:\n  a: {role: debater, prompt: a.j2}\n"
        "  b: {role: debater, prompt: b.j2, hears: {weight: intimacy}}\n"
        "schedule: [a, b]\ndecide: majority\nsimilarity: asked\n"
    )
    with pytest.raises(SpecError, match="no step asks for the similarity"):
        resolve(
            protocol_of("p", parse(text, "p.yaml")), MethodChoice("methods.m", parse("{}", "s.yaml"), agents("a b"))
        )


# ------------------------------------------------------------ steps that a setting chooses
def test_without_adaptive_selection_everybody_reads_the_whole_pool() -> None:
    """MADKE, section 5.2.2: n D calls fewer, one selection an utterance, and the same talk."""
    chosen, everything = Stage(published.disagreeing(5, 6)), Stage(published.disagreeing(5, 6))
    run(shipped("madke", "a b", "{rounds: 2, pool: [x, y]}"), chosen)
    run(shipped("madke", "a b", "{rounds: 2, pool: [x, y], selection: everything}"), everything)
    assert len(chosen.calls) - len(everything.calls) == 2 * 2
    assert [line for line in chosen.trace() if not line.startswith("select:")] == everything.trace()
    assert everything.views["speak:a0"]["evidence"] == everything.views["respond:a1"]["evidence"] == ["x", "y"]


def test_a_value_that_is_no_case_is_told_in_its_place() -> None:
    with pytest.raises(
        SpecError, match=r"(?s)tried.yaml:1:13: methods.tried.selection: 'evrything' is not a case.*did you"
    ):
        shipped("madke", "a b", "{selection: evrything}")


def test_branches_are_checked_whatever_the_default_chooses() -> None:
    text = (
        "settings: {mode: x}\nsteps: {a: {role: debater, prompt: a.j2}}\n"
        "schedule: [{case: $mode, do: {x: [a], y: [b]}}]\ndecide: first\n"
    )
    with pytest.raises(SpecError, match="there is no step b"):
        protocol_of("p", parse(text, "p.yaml"))


def test_a_case_may_choose_by_true_and_false_and_hold_loops() -> None:
    text = (
        "settings: {twice: true}\nsteps: {a: {role: debater, prompt: a.j2}}\n"
        "schedule: [{case: $twice, do: {'true': [{repeat: 2, do: [a]}], else: [a]}}]\ndecide: majority\n"
    )
    protocol = protocol_of("p", parse(text, "p.yaml"))
    for said, calls in (("{}", 2), ("{twice: false}", 1), ("{twice: 7}", 1)):
        method = resolve(protocol, MethodChoice("methods.m", parse(said, "s.yaml"), agents("a")))
        assert len(run(method).turns) == calls


# ------------------------------------------------------------ several roles heard
def test_debaters_may_hear_the_summary_and_the_answers() -> None:
    """ChatEval's option: the summary first, then the others' last answers."""
    method = shipped("chateval", "a b c", "{rounds: 1, hears: [summarizer, debater]}")
    assert method.steps["revise"].hears == OfRole(("summarizer", "debater"))
    stage = Stage(published.disagreeing(5, 6))
    run(method, stage)
    assert stage.trace()[4] == "revise:a1 <- summarize:summarizer1 answer:b0 answer:c0"


def test_a_role_that_is_not_there_is_told_in_its_place() -> None:
    with pytest.raises(SpecError, match=r"(?s)tried.yaml:1:9.*there is no role sumarizer.*summarizer"):
        shipped("chateval", "a b", "{hears: [sumarizer]}")


# ------------------------------------------------------------ CortexDebate's ablations
def test_the_full_graph_with_mdm_shows_every_weight() -> None:
    debate = run(shipped("cortexdebate", "a b c", "{rounds: 1, keep: all}"), Stage(published.disagreeing(5, 6)))
    graph = debate.graphs[-1]
    assert graph.heard.sum() == 3 * 2
    assert graph.weight is not None


@pytest.mark.parametrize(
    ("settings", "hears"),
    [
        ("{weight: confidence, keep: mean_of_all}", Sparse("confidence", Keep("mean_of_all"))),
        ("{weight: credibility * reliability}", Sparse("credibility * reliability", Keep("mean"))),
        ("{keep: {drop_bottom: 3}}", Keep("drop_bottom", 3)),
        ("{keep: {top: 3}}", Keep("top", 3)),
        ("{keep: median}", Keep("median")),
    ],
)
def test_evaluations_and_keep_rules(settings: str, hears: Sparse | Keep) -> None:
    found = shipped("cortexdebate", "a b c d e", settings).steps["revise"].hears
    assert hears in (found, getattr(found, "keep", None))


def test_self_orientation_may_count_what_an_agent_heard() -> None:
    weight = "(round - 1) * (n_agents - 1) - times_hearing"
    debate = run(
        shipped("cortexdebate", "a b c", f"{{rounds: 2, weight: {weight}}}"),
        Stage(published.disagreeing(5, 6), cosine=lambda one, other: 0.25),
    )
    first, second = (graph for graph in debate.graphs if graph.step == "revise")
    assert second.factors["times_hearing"].tolist() == first.heard.sum(axis=0).tolist()
    assert np.nanmax(second.weight, axis=1).tolist() == (2 - first.heard.sum(axis=0)).tolist()


def test_fallback_none_leaves_a_debate_of_different_answers_without_one() -> None:
    """The paper's rule: all answers different counts as wrong."""
    script = {"revise:a1": "1|0.9", "revise:b1": "2|0.5", "revise:c1": "3|0.5"}
    answers = [
        run(shipped("cortexdebate", "a b c", f"{{rounds: 1, decide: {word}}}"), Stage(script)).answer
        for word in ("[majority, none]", "majority")
    ]
    assert answers == [None, "1"]


def test_own_answers_are_shown_on_request() -> None:
    stage = Stage(published.disagreeing(5, 6))
    run(shipped("cortexdebate", "a b c", "{rounds: 1, memory: last, keep: all}"), stage)
    assert stage.trace()[3] == "revise:a1 <- answer:b0 answer:c0 | answer:a0"


# ------------------------------------------------------------ ending early
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("multi-llm", 3 + 3),
        ("debate", 3 + 3),
        ("neighbor", 3 + 3),
        ("persona", 3 + 3),
        ("chateval", 3 + 1 + 3),
        ("chateval-simultaneous", 3 + 3),
        ("chateval-one-by-one", 3 + 3),
        ("peer-review", 3 + 6 + 3),
        ("mad-summary", 3 + 3 + 3),
        ("group", 3 + 3),
    ],
)
def test_every_debate_may_end_when_all_agree(name: str, calls: int) -> None:
    """Consensus is first looked at after the first round of debate, as CortexDebate does."""
    assert len(run(shipped(name, "a b c", "{rounds: 5, until: consensus}")).turns) == calls


@pytest.mark.parametrize("name", ["cortexdebate", "reconcile"])
def test_every_debate_may_go_on_though_all_agree(name: str) -> None:
    assert len(run(shipped(name, "a b c", "{rounds: 3, until: never}")).turns) == 3 * 4
