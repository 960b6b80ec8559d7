"""The built-in protocol files say what the papers' methods say: same calls, same listening, call for call."""

import dataclasses
from typing import Any

import pytest

from cortexdsl.protocols.loader import builtin_names, load_protocol
from cortexdsl.protocols.resolve import Choice, resolve
from cortexdsl.spec.text import parse
from cortexdsl.terms import Method
from tests.debate import published
from tests.debate.stage import Stage, agents, run
from tests.debate.traces import TRACES


def shipped(name: str, team: str, settings: str = "{}") -> Method:
    """A built-in protocol with its agents, each prompt called by its step as the stage does."""
    method = resolve(load_protocol(name), Choice("methods.tried", parse(settings, "tried.yaml"), _team(team)))
    return dataclasses.replace(
        method, steps={step: dataclasses.replace(words, prompt=step) for step, words in method.steps.items()}
    )


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
    ("mad-summary", "a b", "{memory: latest}", "mad-forget"),
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
        ("neighbor", 5, "{rounds: 5}", 30),
        ("reconcile", 5, "{rounds: 5}", 30),
        ("cortexdebate", 5, "{rounds: 5}", 30),
        ("cortexdebate", 5, "{rounds: 5, keep: median, recalibration: none, participation: both}", 30),
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
    ],
)
def test_calls_per_question(name: str, n: int, settings: str, calls: int) -> None:
    script = published.disagreeing(5, 6) | {f"judge:judge{k}": "disagree|-" for k in range(9)}
    assert len(run(shipped(name, published.team(n), settings), Stage(script)).turns) == calls


def test_every_built_in_protocol_is_tried_here() -> None:
    tried = {row[0] for row in TRACED} | {mark[0] for mark in test_calls_per_question.pytestmark[0].args[1]}  # type: ignore[attr-defined]
    assert tried == set(builtin_names())


def test_personas_debate_as_everyone_does_and_remember_their_own_last_words() -> None:
    stages = Stage(), Stage()
    run(shipped("persona", "a b c", "{rounds: 2}"), stages[0])
    run(shipped("multi-llm", "a b c", "{rounds: 2, own: latest}"), stages[1])
    assert stages[0].trace() == stages[1].trace()


def test_check_opening_ends_a_unanimous_debate_before_its_first_round() -> None:
    assert len(run(shipped("cortexdebate", "a b c")).turns) == 6
    assert len(run(shipped("cortexdebate", "a b c", "{check_opening: true}")).turns) == 3


def test_openings_are_shared_by_all_that_begin_alone() -> None:
    """Voting, debates and samples ask their first question with the same messages and seeds."""
    calls = {}
    for name in ("voting", "multi-llm", "cortexdebate", "neighbor", "group", "peer-review", "cot", "self-consistency"):
        method = resolve(load_protocol(name), Choice("methods.tried", parse("{}", "tried.yaml"), _team("a b c")))
        assert method.steps["answer"].prompt == "common/answer.j2"
        stage = Stage()
        run(method, stage)
        calls[name] = stage.calls[0]
    assert len({(call.messages[0]["content"], call.seed) for call in calls.values()}) == 1
