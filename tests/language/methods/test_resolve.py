"""Settings and agents put into a protocol: the frozen method that the engine interprets."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.core import (
    NAMED_BINS,
    Agent,
    Decide,
    Edges,
    Everyone,
    Groups,
    Keep,
    Method,
    Model,
    NetworkX,
    OfRole,
    RandomEdges,
    Repeat,
    Ring,
    Self,
    Sparse,
    Topology,
)
from cortexdsl.engine.confidence import recalibrate
from cortexdsl.errors import SpecError
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import Protocol, load_protocol, protocol_of
from cortexdsl.language.reader import parse

MODEL = Model("m", "builtin/solver", parameters=7e9, tokens=1e12)
STRONG = Model("strong", "openai/x")
TEAM = tuple(Agent(name, MODEL) for name in ("ann", "bob", "cai", "dee", "eve"))


def made(protocol: str | Protocol, chosen: str = "{}", team: tuple[Agent, ...] = TEAM) -> Method:
    """Resolve a protocol with settings written as YAML."""
    node = parse(f"protocol: x\n{chosen}" if chosen != "{}" else "protocol: x", "spec.yaml")
    found = load_protocol(protocol) if isinstance(protocol, str) else protocol
    agents = {agent.name: agent for agent in team}
    models, tools = {"m": MODEL, "strong": STRONG}, {"sums": Model("sums", "tool/calculator")}
    return resolve(found, MethodChoice("methods.m", node, team, agents, models, tools))


def hearing(hears: str) -> Topology:
    """Return the topology that a `hears:` means."""
    text = f"steps: {{a: {{role: debater, prompt: a.j2, hears: {hears}}}}}\nschedule: [a]\ndecide: first\n"
    return made(protocol_of("p", parse(text, "p.yaml"))).steps["a"].hears


@pytest.mark.parametrize(
    ("hears", "meant"),
    [
        ("everyone", Everyone()),
        ("self", Self()),
        ("{ring: 2}", Ring(2)),
        ("{groups: 2}", Groups(2)),
        ("{groups: [4, 1]}", Groups(2, (4, 1))),
        ("debater", OfRole(("debater",))),
        ("[debater]", OfRole(("debater",))),
        ("{topology: {ring: 1}}", Ring(1)),
        (
            "{topology: {ring: 1}, where: differs, weight: confidence}",
            Sparse("confidence", Keep("mean"), Sparse("differs", Keep("above", 0), Ring(1))),
        ),
        ("{edges: [[ann, bob], [bob, cai]]}", Edges((("ann", "bob"), ("bob", "cai")))),
        ("{random: 0.5}", RandomEdges(0.5)),
        ("{networkx: watts_strogatz_graph, k: 2, p: 0.1}", NetworkX("watts_strogatz_graph", {"k": 2, "p": 0.1})),
        ("{weight: confidence}", Sparse("confidence", Keep("mean"))),
        ("{weight: confidence, keep: {top: 1}}", Sparse("confidence", Keep("top", 1))),
        ("{weight: confidence, keep: {drop_bottom: 2}}", Sparse("confidence", Keep("drop_bottom", 2))),
        ("{weight: confidence, keep: mean_of_all}", Sparse("confidence", Keep("mean_of_all"))),
    ],
)
def test_words_of_hears(hears: str, meant: Topology) -> None:
    assert hearing(hears) == meant


@pytest.mark.parametrize(
    ("hears", "said"),
    [
        ("{edges: [[ann, bbo]]}", "no agent of the debate is called bbo"),
        ("{edges: [[ann]]}", "is empty|at least 2"),
        ("{networkx: no_such_graph}", "no_such_graph"),
        ("{networkx: watts_strogatz_graph, k: 9, p: 0.1}", "watts_strogatz_graph"),
        ("{groups: 6}", "6 groups, and 5 agents"),
        ("{groups: [2, 2]}", "add up to 4"),
    ],
)
def test_graphs_that_do_not_fit_the_agents(hears: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        hearing(hears)


def test_settings_become_counts_by_arithmetic() -> None:
    """GroupDebate, T = 5 rounds in stages of 2: two stages, and one of the round that is left."""
    method = made("group", "rounds: 5")
    assert method.schedule == (
        "answer",
        Repeat(1, ("discuss",)),
        Repeat(1, ("summarize", "share", Repeat(1, ("discuss",)))),
        Repeat(1, ("summarize", "share", Repeat(0, ("discuss",)))),
    )
    assert [agent.name for agent in method.role_agents["summarizer"]] == ["summarizer"]


def test_a_truth_may_say_when_a_loop_is_passed_over() -> None:
    assert made("cortexdebate").schedule[1] == Repeat(5, ("revise",), until="consensus", unless="never")
    checked = made("cortexdebate", "check_opening: true").schedule[1]
    assert checked == Repeat(5, ("revise",), until="consensus", unless="consensus")


def test_a_whole_setting_may_be_any_form() -> None:
    method = made("cortexdebate", "keep: {top: 3}\nweight: credibility * reliability\nrecalibration: none")
    assert method.steps["revise"].hears == Sparse("credibility * reliability", Keep("top", 3))
    assert method.recalibration == ()
    assert method.steps["revise"].material["keep"] == {"top": 3}


def test_settings_within_texts() -> None:
    text = (
        "settings: {power: 2, style: short, lists: [last]}\n"
        "steps: {a: {role: debater, prompt: my/$style.j2, shows: [$lists, evidence],\n"
        "  with: {price: costs $5, own: $style}, hears: {weight: confidence ** $power}}}\n"
        "schedule: [a, {repeat: '$power * $power - 1', do: [a]}]\ndecide: first\n"
    )
    method = made(protocol_of("p", parse(text, "p.yaml")))
    step = method.steps["a"]
    assert step.prompt == "my/short.j2"
    assert step.shows == ("last", "evidence")
    assert step.material == {"price": "costs $5", "own": "short"}
    assert step.hears == Sparse("confidence ** (2)", Keep("mean"))
    assert method.schedule[1] == Repeat(3, ("a",))


def test_roles_are_bound_to_agents() -> None:
    role_agents = made("acc").role_agents
    assert {role: [agent.name for agent in agents] for role, agents in role_agents.items()} == {
        "actor": ["ann"],
        "critic": ["bob"],
    }
    role_agents = made("acc", "roles: {actor: 3, critic: {model: strong}}").role_agents
    assert role_agents["actor"] == (TEAM[2],)
    assert role_agents["critic"] == (Agent("critic", STRONG),)
    assert [agent.name for agent in made("voting", "roles: {debater: [eve, ann]}").role_agents["debater"]] == [
        "eve",
        "ann",
    ]


def test_an_extra_agent_cannot_share_a_name() -> None:
    team = (Agent("critic", MODEL), *TEAM)
    with pytest.raises(SpecError, match="another agent called critic is actor"):
        made("acc", "roles: {critic: {model: strong}}", team)


def test_prompts_of_a_method_replace_those_of_the_protocol() -> None:
    method = made("multi-llm", "prompts: {revise: my/revise.j2}")
    assert method.steps["revise"].prompt == "my/revise.j2"
    assert method.steps["answer"].prompt == "common/answer.j2"


@pytest.mark.parametrize(
    ("decide", "meant"),
    [
        ("[majority, none]", Decide("majority", tie="none")),
        ("[weighted, none]", Decide("weighted", tie="none")),
        ("[{vote: last}, none]", Decide("vote", tie="none", weight="last")),
        ("first", Decide("first")),
        ("debater", Decide("last", "debater")),
        ("[debater, none]", Decide("last", "debater")),
        ("[debater, majority]", Decide("last", "debater", otherwise="majority")),
        ("[debater, weighted, none]", Decide("last", "debater", otherwise="weighted", tie="none")),
    ],
)
def test_decisions(decide: str, meant: Decide) -> None:
    text = f"steps: {{a: {{role: debater, prompt: a.j2}}}}\nschedule: [a]\ndecide: {decide}\n"
    assert made(protocol_of("p", parse(text, "p.yaml"))).decide == meant


@pytest.mark.parametrize(
    ("rule", "stated", "meant"),
    [
        # Sun et al. 2025, Algorithm 1: >= 0.8 is 0.8, [0.6, 0.8) is 0.6, [0.3, 0.6) is kept, below is 0.3
        *[("cortexdebate", h, r) for h, r in [(1, 0.8), (0.8, 0.8), (0.79, 0.6), (0.6, 0.6), (0.59, 0.59)]],
        *[("cortexdebate", h, r) for h, r in [(0.3, 0.3), (0.1, 0.3)]],
        # Chen et al. 2023, section 3: 1 is 1, [0.9, 1) is 0.8, [0.8, 0.9) is 0.5, (0.6, 0.8) is 0.3, the rest 0.1
        *[("reconcile", h, r) for h, r in [(1, 1), (0.95, 0.8), (0.9, 0.8), (0.8, 0.5), (0.7, 0.3), (0.6, 0.1)]],
        *[("none", h, h) for h in (0, 0.5, 1)],
        ("{0: 0.2, 0.2: keep, 0.7: 0.7, 0.9: 0.9}", 0.85, 0.7),
        ("{0: 0.2, 0.2: keep, 0.7: 0.7, 0.9: 0.9}", 0.1, 0.2),
        ("{0: 0.1, 0.6: keep}", 0.59, 0.1),
        ("{0.6: keep, 0: 0.1}", 0.6, 0.6),
        ("{0: 0.1, 0.6: keep}", 1, 1),
        ("{0: 0.5, 1: 1}", 1, 1),
        ("{0: 0.5, 1: 1}", 0.99, 0.5),
    ],
)  # fmt: skip
def test_recalibration(rule: str, stated: float, meant: float) -> None:
    assert recalibrate(stated, made("cortexdebate", f"recalibration: {rule}").recalibration) == pytest.approx(meant)


def test_reconcile_recalibrates_by_its_own_bins() -> None:
    assert made("reconcile").recalibration == NAMED_BINS["reconcile"]


@pytest.mark.parametrize("name", ["cortexdebate", "chateval", "madke", "peer-review", "reconcile", "self-consistency"])
def test_defaults_resolve(name: str) -> None:
    method = made(name)
    assert method.protocol == name
    assert method == made(name)


def _weights(weight: Any) -> str:
    return f"weight: {weight}\nkeep: all"


def test_a_weight_without_credibility_needs_no_sizes() -> None:
    team = tuple(Agent(name, STRONG) for name in ("a", "b"))
    assert made("cortexdebate", _weights("confidence"), team).steps["revise"].hears == Sparse("confidence", Keep("all"))
    with pytest.raises(SpecError, match="credibility needs the parameters and tokens of model strong"):
        made("cortexdebate", _weights("credibility"), team)
