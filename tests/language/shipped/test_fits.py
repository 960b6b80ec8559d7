"""Methods of docs/benchmarks/fits.md that a spec holds: who is asked, who is heard, and what decides."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cortexdsl.core import Method, Model
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import protocol_of
from cortexdsl.language.reader import parse, read
from cortexdsl.templates.templates import Templates
from tests.engine.stage import Stage, agents, run

ROOT = Path(__file__).resolve().parents[3]


def fitted(name: str, team: str, settings: str = "{}") -> Method:
    """A protocol of the example spec with its agents, each prompt called by its step as the stage does."""
    node = read(ROOT / "specs/examples/more.yaml").find(("protocols", name))
    assert node is not None
    models = {"huge": Model("huge", "fake/model")}
    choice = MethodChoice("methods.tried", parse(settings, "tried.yaml"), agents(team), models=models)
    method = resolve(protocol_of(name, node), choice)
    return dataclasses.replace(
        method, steps={step: dataclasses.replace(words, prompt=step) for step, words in method.steps.items()}
    )


def test_a_secretary_settles_a_tie_of_two_groups() -> None:
    """a and b answer 41, c and d 42: the secretary says 41, and the vote would have been drawn."""
    script = {f"{step}:{name}{k}": "41|0.5" for step, k in (("answer", 0), ("discuss", 1)) for name in "ab"}
    stage = Stage(script | {"settle:secretary2": "41|0.5"})
    debate = run(fitted("cmd", "a b c d", "{rounds: 1}"), stage)
    assert stage.trace()[-1] == "settle:secretary2 <- discuss:a1 discuss:b1 discuss:c1 discuss:d1"
    assert debate.answer == "41"


def test_a_majority_of_groups_needs_no_secretary() -> None:
    stage = Stage({"discuss:a1": "41|0.5"})
    debate = run(fitted("cmd", "a b c d", "{rounds: 1}"), stage)
    assert [line.split(":")[0] for line in stage.trace()] == ["answer"] * 4 + ["discuss"] * 4
    assert debate.answer == "42"


def test_of_another_group_the_answers_alone_are_told() -> None:
    """Places 1 and 3 are a group, 2 and 4 another: a is told c's words, and of b and d their answers."""
    stage = Stage()
    run(fitted("cmd", "a b c d", "{rounds: 1}"), stage)
    seen = stage.views["discuss:a1"]
    assert [(turn["speaker"], turn["weight"]) for turn in seen["heard"]] == [("b", 0.0), ("c", 1.0), ("d", 0.0)]
    text = Templates((ROOT / "specs/examples/prompts",)).text("more/discuss.j2", {**seen, "answer_format": "Answer:"})
    assert "answer:c0" in text
    assert "answer:b0" not in text
    assert "42, 42" in text


def test_both_orders_of_a_pair_count() -> None:
    """a wins both its pairs in one order and none in the other; c beats b in both, and b beats a once."""
    script = {
        "compare:ranker1>aandb": "1|-", "compare:ranker1>aandc": "1|-", "compare:ranker1>bandc": "3|-",
        "reverse:ranker1>aandb": "2|-", "reverse:ranker1>aandc": "3|-", "reverse:ranker1>bandc": "3|-",
    }  # fmt: skip
    stage = Stage(script)
    debate = run(fitted("llm-blender", "a b c", "{best: 1}"), stage)
    assert debate.choices[-1].weight == (0.5, 0.25, 0.75)
    assert stage.trace()[-1] == "fuse:fuser1 <- propose:c0"


def test_the_other_order_is_shown_in_the_other_order() -> None:
    stage = Stage()
    run(fitted("llm-blender", "a b c", "{best: 1}"), stage)
    templates = Templates((ROOT / "specs/examples/prompts",))
    for step, first in (("compare", 1), ("reverse", 2)):
        of = read(ROOT / "specs/examples/more.yaml").find(("protocols", "llm-blender", "steps", step, "prompt"))
        text = templates.text(str(of.value if of else ""), stage.views[f"{step}:ranker1>aandb"])
        shown = [text.index("propose:a0"), text.index("propose:b0")]
        assert (shown == sorted(shown)) is (first == 1)


SCORES = {  # who gives whom what: d is praised by c, whom nobody thinks much of, and c by d
    "a": {"b": 0.9, "c": 0.1, "d": 0.2}, "b": {"a": 0.8, "c": 0.1, "d": 0.2},
    "c": {"a": 0.1, "b": 0.1, "d": 1.0}, "d": {"a": 0.7, "b": 0.5, "c": 1.0},
}  # fmt: skip


def test_each_reviewers_say_weighs_as_much_as_it_wins_itself() -> None:
    """The weights are worked out again from the reviews of the record, giver by giver."""
    script = {f"review:{u}1>{v}": f"x|{score}" for u, given in SCORES.items() for v, score in given.items()}
    script |= {f"answer:{name}0": f"4{k}|0.5" for k, name in enumerate("abcd")}
    debate = run(fitted("peer-rank", "a b c d"), Stage(script))
    given = {(t.speaker, t.about): t.confidence or 0.0 for t in debate.turns if t.reads == "review"}
    assert len(given) == 12
    say = {v: sum(given[u, v] for u in "abcd" if u != v) / 3 for v in "abcd"}
    for _ in range(2):
        say = {v: sum(given[u, v] * say[u] for u in "abcd" if u != v) for v in "abcd"}
    assert debate.choices[-1].weight == pytest.approx(tuple(say.values()))
    assert (max(say, key=lambda name: say[name]), debate.answer) == ("a", "40")


def test_the_best_alone_are_passed_on() -> None:
    """The judge prefers b and c: all write a second time having heard them, and nobody hears itself."""
    stage = Stage({"select:judge1": "2,3|-", "moderate:moderator1": "disagree|-", "select:judge2": "1,2|-"})
    run(fitted("smoa", "a b c", "{layers: 3}"), stage)
    trace = stage.trace()
    assert trace[4] == "moderate:moderator1 <- propose:b0 propose:c0"
    assert trace[5:8] == [
        "refine:a1 <- propose:b0 propose:c0",
        "refine:b1 <- propose:c0",
        "refine:c1 <- propose:b0",
    ]
    assert trace[-1] == "aggregate:aggregator2 <- refine:a1 refine:b1"
