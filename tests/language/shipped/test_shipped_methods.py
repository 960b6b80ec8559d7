"""The built-in protocol files say what the papers' methods say: same calls, same listening, call for call."""

import dataclasses
from collections import Counter
from typing import Any

import pytest

from cortexdsl.core import Method, Model, Question, Reply
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import builtin_names, load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.templates.templates import Templates
from tests.engine import published
from tests.engine.stage import Stage, agents, run
from tests.engine.traces import TRACES


def shipped(name: str, team: str, settings: str = "{}") -> Method:
    """A built-in protocol with its agents, each prompt called by its step as the stage does."""
    tools = {"library": Model("library", "tool/search")}
    choice = MethodChoice("methods.tried", parse(settings, "tried.yaml"), _team(team), tools=tools)
    method = resolve(load_protocol(name), choice)
    steps = {
        step: dataclasses.replace(words, prompt=step, by_agent={}, by_role={}, said=())
        for step, words in method.steps.items()
    }
    return dataclasses.replace(method, steps=steps)


def _team(names: str) -> Any:
    return agents(names, parameters=7e9, tokens=2e12)


# what a spec says, and the golden trace of the method that it means
TRACED = [
    ("voting", "a b c", "{}", "voting"),
    ("multi-llm", "a b c", "{rounds: 2}", "multi-llm"),
    ("neighbor", "a b c d e", "{rounds: 1}", "neighbor"),
    ("chateval", "a b", "{rounds: 2}", "chateval"),
    ("chateval-one-by-one", "a b", "{rounds: 1}", "chateval-one-by-one"),
    ("peer-review", "a b c", "{rounds: 1}", "peer-review"),
    ("mad-summary", "a b", "{}", "mad-summary"),
    ("mad-summary", "a b", "{memory: last}", "mad-forget"),
    ("group", "a b c d e", "{rounds: 5}", "group"),
    ("madke", "a b", "{rounds: 2}", "madke"),
    ("acc", "a c", "{rounds: 3}", "acc"),
    ("reflection", "a b c", "{}", "reflection"),
    ("self-consistency", "a b c", "{samples: 3}", "self-consistency"),
]


@pytest.mark.parametrize(("name", "team", "settings", "trace"), TRACED)
def test_who_hears_whom(name: str, team: str, settings: str, trace: str) -> None:
    stage = Stage(published.disagreeing(5, 6))
    run(shipped(name, team, settings), stage)
    expected = [line.strip() for line in TRACES[trace][1].strip().splitlines()]
    extras = {"summarizer": "s", "judge": "j"}  # the stage calls extra roles by one letter
    assert [_short(line, extras) for line in stage.trace()] == expected


def _short(line: str, extras: dict[str, str]) -> str:
    for long, letter in extras.items():
        line = line.replace(f":{long}", f":{letter}")
    return line


@pytest.mark.parametrize(
    ("name", "n", "settings", "calls"),
    [
        ("voting", 5, "{}", 5),
        ("multi-llm", 5, "{rounds: 5}", 30),
        ("debate", 5, "{rounds: 5}", 30),
        ("neighbor", 5, "{rounds: 5}", 30),
        ("reconcile", 5, "{rounds: 5}", 30),
        ("cortexdebate", 5, "{rounds: 5}", 30),
        ("cortexdebate", 5, "{rounds: 5, keep: median, recalibration: none}", 30),
        ("cortexdebate-peers", 3, "{rounds: 1}", 12),  # 3 answers, 6 reviews, 3 revisions
        ("chateval", 5, "{rounds: 5}", 35),
        ("chateval-simultaneous", 3, "{rounds: 2}", 9),
        ("peer-review", 5, "{rounds: 1}", 30),
        ("group", 5, "{rounds: 3}", 17),
        ("group", 8, "{groups: [4, 2, 2], rounds: 4}", 35),
        ("mad-summary", 5, "{rounds: 3}", 25),
        ("madke", 2, "{rounds: 3}", 16),
        ("acc", 2, "{rounds: 5}", 9),
        ("reflection", 1, "{}", 4),
        ("self-consistency", 1, "{samples: 40}", 40),
        ("cot", 3, "{}", 1),
        ("standard", 3, "{}", 1),
        ("rag", 3, "{}", 1),
        ("persona", 3, "{rounds: 1}", 6),
        ("mad-judge", 2, "{rounds: 2}", 7),  # 3 R + 1
        ("moa", 3, "{layers: 4}", 10),  # n (L - 1) + 1
        ("sparse-mad", 4, "{rounds: 2}", 12),
        ("free-mad", 3, "{rounds: 2}", 9),
        ("s2-mad", 4, "{stages: 1}", 6),  # b's group alone has something to discuss, and settles it
        ("eot", 3, "{rounds: 2}", 9),
        ("dylan", 3, "{before: 0, after: 1}", 6),  # two of three are not more than 2/3; three are not ranked
        ("dylan", 4, "{}", 4),  # three of four are
        ("tournament", 4, "{rounds: 1}", 6),
        ("dmad", 3, "{rounds: 1}", 6),
        ("heter-mad", 5, "{debaters: 2, rounds: 1}", 4),
        ("conformist", 3, "{rounds: 1}", 4),  # b alone has another answer than the others
        ("follower", 3, "{rounds: 1}", 6),
        ("mav", 3, "{}", 12),
        ("adversary", 3, "{rounds: 1}", 6),
        ("comm", 2, "{}", 3),
        ("drag", 2, "{searches: 1, rounds: 1}", 4),
    ],
)
def test_calls_per_question(name: str, n: int, settings: str, calls: int) -> None:
    script = published.disagreeing(5, 6) | {f"judge:judge{k}": "disagree|-" for k in range(9)}
    assert len(run(shipped(name, published.team(n), settings), Stage(script)).turns) == calls


def test_every_built_in_protocol_is_tried_here() -> None:
    tried = {row[0] for row in TRACED} | {mark[0] for mark in test_calls_per_question.pytestmark[0].args[1]}  # type: ignore[attr-defined]
    assert tried == set(builtin_names())


EOT = {
    "report": ["b0 c0 d0 e0", "a0", "a0", "a0", "a0"],
    "relay": ["b0", "c0", "d0", "e0", "a0"],
    "tree": ["b0 c0", "c0 d0 e0", "b0", "e0", "d0"],
}


@pytest.mark.parametrize("mode", EOT)
def test_the_topologies_of_exchange_of_thought(mode: str) -> None:
    """Yin et al., figure 2, with five agents: a star, a directed ring, a tree whose siblings hear each other."""
    stage = Stage(published.disagreeing(5, 6))
    run(shipped("eot", "a b c d e", f"{{rounds: 1, topology: {mode}}}"), stage)
    told = [line.partition(" <- ")[2].partition(" |")[0].replace("answer:", "") for line in stage.trace()[5:]]
    assert told == EOT[mode]


def test_constancy_is_the_confidence_of_exchange_of_thought() -> None:
    """After the opening and one revision: a kept its answer (1), b changed it (1/2), as its listeners are shown."""
    stage = Stage({"answer:b0": "41|0.5", "answer:c0": "40|0.5", "revise:c1": "40|0.5"})
    run(shipped("eot", "a b c", "{rounds: 2}"), stage)
    assert [turn["weight"] for turn in stage.views["revise:c2"]["heard"]] == [1.0, 0.5]


def test_a_judges_preference_ends_the_debate_of_two_sides() -> None:
    """The judge's answer is the debate's whenever it has a preference; a debate without one is concluded by it."""
    stage = Stage({"judge:judge2": "40|0.5"})
    debate = run(shipped("mad-judge", "a b", "{rounds: 2}"), stage)
    assert [line.partition(" ")[0] for line in stage.trace()] == [
        "open:a0", "oppose:b1", "judge:judge2", "reply:a2", "oppose:b3", "judge:judge4", "conclude:judge4",
    ]  # fmt: skip
    assert stage.trace()[-1] == "conclude:judge4 <- open:a0 oppose:b1 reply:a2 oppose:b3"
    assert debate.rounds == 3


def test_in_s2_mad_only_who_meets_something_new_speaks() -> None:
    """Four agents in two groups; a and b share one with the same answer, so that c and d alone discuss.

    Then all meet another answer and share; once they agree the debate is over.
    """
    of = shipped("s2-mad", "a b c d", "{groups: [2, 2]}")
    stage = Stage({f"answer:{name}0": f"{k}|0.5" for k, name in enumerate("abcd")})
    groups = run(of, stage).graphs[0].heard
    pair = ["abcd"[k] for k in range(4) if groups[0, k] or k == 0]
    script = {f"answer:{name}0": ("7|0.5" if name in pair else f"{k}|0.5") for k, name in enumerate("abcd")}
    stage = Stage(script)
    debate = run(of, stage)
    assert [turn.speaker for turn in debate.turns if turn.step == "discuss"] == [n for n in "abcd" if n not in pair]
    assert all(debate.turns[k].answer != "7" for t in debate.turns if t.step == "discuss" for k in t.heard)


def test_free_mad_scores_the_whole_course() -> None:
    """a, b and c open with 41, d with 42; b and c go over to 42.

    41: 3 * 20 for the openings, 20 / 2 for a, who stays, -2 * 25 / 2 for two who leave. 42: 20, 20 / 2, 2 * 30 / 2.
    """
    script = {f"answer:{name}0": "41|0.5" for name in "abc"} | {"revise:a1": "41|0.5"}
    debate = run(shipped("free-mad", "a b c d", "{}"), Stage(script))
    assert dict(debate.votes) == {"41": 45.0, "42": 60.0}


def test_personas_debate_as_everyone_does_and_remember_their_own_last_words() -> None:
    stages = Stage(), Stage()
    run(shipped("persona", "a b c", "{rounds: 2}"), stages[0])
    run(shipped("multi-llm", "a b c", "{rounds: 2, memory: last}"), stages[1])
    assert stages[0].trace() == stages[1].trace()


def test_check_opening_ends_a_unanimous_debate_before_its_first_round() -> None:
    assert len(run(shipped("cortexdebate", "a b c")).turns) == 6
    assert len(run(shipped("cortexdebate", "a b c", "{check_opening: true}")).turns) == 3


def test_openings_are_shared_by_all_that_begin_alone() -> None:
    """Voting, debates and samples ask their first question with the same messages and seeds."""
    calls = {}
    for name in ("voting", "multi-llm", "cortexdebate", "neighbor", "group", "peer-review", "cot", "self-consistency"):
        method = resolve(load_protocol(name), MethodChoice("methods.tried", parse("{}", "tried.yaml"), _team("a b c")))
        assert method.steps["answer"].prompt == "common/answer.j2"
        stage = Stage()
        run(method, stage)
        calls[name] = stage.calls[0]
    assert len({(call.messages[0]["content"], call.seed) for call in calls.values()}) == 1


def test_only_who_is_not_of_the_majority_speaks_again_among_conformists() -> None:
    """c and a answer 42, b 41: b alone hears the others; with 42 it joins them, and the debate is over."""
    stage = Stage({"answer:b0": "41|0.5"})
    debate = run(shipped("conformist", "a b c", "{rounds: 3}"), stage)
    assert stage.trace()[3:] == ["revise:b1 <- answer:a0 answer:c0 | answer:b0"]
    assert (debate.answer, debate.stop) == ("42", "consensus")


def test_where_no_two_agree_conformists_all_speak() -> None:
    stage = Stage({"answer:b0": "41|0.5", "answer:c0": "40|0.5"})
    run(shipped("conformist", "a b c", "{rounds: 1}"), stage)
    assert [line.split(" ")[0] for line in stage.trace()[3:]] == ["revise:a1", "revise:b1", "revise:c1"]


def test_the_pool_of_a_heterogeneous_debate_is_drawn_question_by_question() -> None:
    drawn = {
        tuple(dict.fromkeys(turn.speaker for turn in run(shipped("heter-mad", "a b c d e"), seed=seed).turns))
        for seed in range(20)
    }
    assert all(len(names) == 3 for names in drawn)
    assert len(drawn) > 3


def test_who_is_asked_otherwise_in_dmad_and_beside_an_adversary() -> None:
    team = _team("a b c d")
    for name, ways in (
        ("dmad", ["dmad/steps.j2", "dmad/step-back.j2", "dmad/program.j2", "dmad/steps.j2"]),
        ("adversary", ["adversary/open.j2", *["common/answer.j2"] * 3]),
    ):
        step = resolve(load_protocol(name), MethodChoice("methods.tried", parse("{}", "tried.yaml"), team)).steps[
            "answer"
        ]
        assert [step.prompt_of(agent.name) for agent in team] == ways


def test_experts_hear_each_other_in_turn_and_the_summarizer_both() -> None:
    stage = Stage()
    run(shipped("comm", "a b", "{turns: 2}"), stage)
    assert stage.trace() == [
        "open:a0",
        "reply:b1 <- open:a0",
        "again:a2 <- reply:b1 | open:a0",
        "reply:b3 <- again:a2 | open:a0 reply:b1",
        "conclude:summarizer4 <- again:a2 reply:b3",
    ]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_answer_is_verified_under_every_aspect(n: int) -> None:
    """Lifshitz et al.: each verifier judges each candidate, whatever the size of the team."""
    team = "a b c d e"[: 2 * n - 1]
    debate = run(shipped("mav", team, "{checks: 2}"), Stage())
    checked = Counter((turn.step, turn.about) for turn in debate.turns if turn.reads == "review")
    assert checked == {(step, name): 2 for step in ("logic", "facts", "numbers") for name in team.split()}


def test_the_best_verified_answer_is_that_of_the_debate() -> None:
    """b's answer passes all checks, a's and c's two of three: 41 of one beats 42 of two."""
    failed = {"logic:verifier1>a": "x|0.1", "numbers:verifier1>c": "x|0.1"}
    passed = {f"{step}:verifier1>{name}": "x|1" for step in ("logic", "facts", "numbers") for name in "abc"}
    debate = run(shipped("mav", "a b c"), Stage(passed | failed | {"answer:b0": "41|0.5"}))
    assert debate.answer == "41"


def test_verifiers_of_a_role_do_not_check_their_own_answers() -> None:
    choice = MethodChoice("methods.tried", parse("{roles: {verifier: everyone}}", "tried.yaml"), _team("a b c"))
    debate = run(resolve(load_protocol("mav"), choice), Stage())
    pairs = [(turn.speaker, turn.about) for turn in debate.turns if turn.reads == "review"]
    assert len(pairs) == 18
    assert all(speaker != about for speaker, about in pairs)


def test_a_debate_over_searches_runs_the_opponents_query() -> None:
    """The judge is not content once: the opponent's query is searched, and the next debate is over both searches."""
    stage = Stage({"rule:judge0": lambda call: Reply("key", f"rule:judge0|{next(verdicts)}|-", "stop", None, None)})
    verdicts = iter(["disagree", "agree"])
    run(shipped("drag", "a b", "{rounds: 2}"), stage)
    both, arguments = "first:library0 search:library0", "defend:a0 attack:b0"
    assert stage.trace() == [
        "first:library0",
        "defend:a0 <- first:library0",
        "attack:b0 <- first:library0",
        f"rule:judge0 <- first:library0 {arguments}",
        "search:library0 <- attack:b0",
        f"defend:a0 <- {both}",
        f"attack:b0 <- {both}",
        f"rule:judge0 <- {both} {arguments}",
        f"answer:a0 <- {both}",
        "alone:b1",
        f"reply:a2 <- {both} alone:b1 | answer:a0",
        "doubt:b3 <- answer:a0 reply:a2 | alone:b1",
        f"conclude:judge4 <- {both} reply:a2 doubt:b3",
    ]


def test_the_judge_of_two_sides_remembers_the_exchanges_that_it_has_judged() -> None:
    """Its earlier prompts and judgements, then the last words of both sides."""
    stage = Stage({"judge:judge2": "40|0.5"})
    run(shipped("mad-judge", "a b", "{rounds: 2}"), stage)
    assert "judge:judge4 <- reply:a2 oppose:b3 | open:a0 oppose:b1 judge:judge2" in stage.trace()


@pytest.mark.parametrize(("team", "ranked"), [("a b c", 0), ("a b c d", 1)])
def test_a_team_of_three_is_not_ranked(team: str, ranked: int) -> None:
    """DyLAN ranks teams of four agents or more; in smaller ones everybody goes on."""
    script = {f"{step}:{name}{k}": f"{name}|0.5" for name in "abcd" for k, step in enumerate(["answer", "revise"])}
    debate = run(shipped("dylan", team, "{}"), Stage(script))
    assert [turn.step for turn in debate.turns].count("rank") == ranked


def test_an_aggregator_does_not_see_whose_answers_it_reads() -> None:
    """Mixture-of-Agents numbers its references, one's own among them."""
    turn = {"text": "said", "reads": "answer", "number": 3, "round": 0, "is_mine": True, "speaker": "c"}
    view = {
        "question": Question("q1", "?"), "agent": {"name": "c", "number": 3, "persona": None}, "answer_format": "End.",
        "talk": [turn, turn], "heard": [turn], "own": [turn],
    }  # fmt: skip
    (message,) = Templates().render("moa/aggregate.j2", view)
    assert "[Answer 1]\nsaid\n\n[Answer 2]\nsaid\n" in message["content"]
    assert "Agent" not in message["content"]


@pytest.mark.parametrize(("level", "disagrees"), [(0, False), (1, True), (3, True)])
def test_who_seeks_agreement_is_not_told_to_disagree(level: int, disagrees: bool) -> None:
    """Nor is somebody who disputes every point told to say what is right in it."""
    turn = {"text": "said", "reads": "answer", "number": 1, "round": 0, "is_mine": False, "speaker": "a"}
    view = {
        "question": Question("q1", "?"), "agent": {"name": "b", "number": 2, "persona": None}, "answer_format": "End.",
        "talk": [turn], "heard": [turn], "own": [], "level": level,
    }  # fmt: skip
    (message,) = Templates().render("mad-judge/oppose.j2", view)
    assert ("You disagree" in message["content"]) == disagrees
    assert ("what is right" in message["content"]) == (level < 2)
