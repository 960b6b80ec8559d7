"""A method fitted to one question: its matched budget and its passages."""

import dataclasses

import pytest

from cortexdsl.core import Agent, Debate, Everyone, Model, Repeat
from cortexdsl.engine.methods import match_budget, with_identities, with_pool, with_samples
from tests.engine.stage import method, run

SAMPLING = method({"answer": {"samples": 5}}, ["answer"], "a")


def spent(*tokens: tuple[int | None, int | None]) -> Debate:
    """A debate of two agents whose turns cost (prompt, completion) tokens, the opening first."""
    steps = {"answer": {}, "revise": {"hears": Everyone()}}
    debate = run(method(steps, ["answer", Repeat(len(tokens) // 2 - 1, ("revise",))], "a b"))
    turns = zip(debate.turns, tokens, strict=True)
    return dataclasses.replace(
        debate,
        turns=tuple(dataclasses.replace(turn, prompt_tokens=p, completion_tokens=c) for turn, (p, c) in turns),
    )


def test_as_many_samples_as_calls() -> None:
    debate = spent((9, 9), (9, 9), (9, 9), (9, 9), (9, 9), (9, 9))
    assert match_budget(SAMPLING, debate, "calls").steps["answer"].samples == 6
    assert len(run(match_budget(SAMPLING, debate, "calls")).turns) == 6


@pytest.mark.parametrize(
    ("tokens", "draws"),
    [
        # an opening answer costs (120 + 160) / 2 = 140; 280 + 420 = 700 hold five
        (((100, 20), (140, 20), (200, 10), (200, 10)), 5),
        # what was counted of a turn is counted: 100 each, and 100 + 100 + 50 + 50 hold three
        (((100, None), (None, 100), (50, None), (None, 50)), 3),
        # 210 of 100 each: the nearest whole number is two
        (((50, 50), (50, 50), (5, 0), (5, 0)), 2),
        # what a server did not count cannot be matched: as many samples as calls
        (((None, None),) * 4, 4),
    ],
)
def test_as_many_samples_as_the_tokens_hold(tokens: tuple[tuple[int | None, int | None], ...], draws: int) -> None:
    assert match_budget(SAMPLING, spent(*tokens), "tokens").steps["answer"].samples == draws


def test_one_agent_is_matched_by_its_own_opening() -> None:
    """Its answer costs 100, what it says later 260: 360 hold four (3.6)."""
    alone = method({"answer": {}, "revise": {"memory": "last"}}, ["answer", "revise"], "a")
    debate = run(alone)
    turns = (dataclasses.replace(debate.turns[0], prompt_tokens=60, completion_tokens=40),
             dataclasses.replace(debate.turns[1], prompt_tokens=200, completion_tokens=60))  # fmt: skip
    assert match_budget(SAMPLING, dataclasses.replace(debate, turns=turns), "tokens").steps["answer"].samples == 4


def test_a_debate_without_an_opening_is_matched_by_its_calls() -> None:
    """What one of its answers cost is not known."""
    debate = spent((50, 50), (50, 50), (9, 9), (9, 9))
    later = tuple(dataclasses.replace(turn, round=1) for turn in debate.turns)
    assert match_budget(SAMPLING, dataclasses.replace(debate, turns=later), "tokens").steps["answer"].samples == 4


def test_where_no_step_samples_those_that_answer_do() -> None:
    steps = {"answer": {}, "check": {"reads": "comment"}, "judge": {"reads": "verdict"}}
    of = method(steps, ["answer", "check", "judge"])
    assert {name: step.samples for name, step in with_samples(of, 8).steps.items()} == {
        "answer": 8,
        "check": 1,
        "judge": 1,
    }


@pytest.mark.parametrize("draws", [2, 3])
def test_steps_that_draw_once_are_left_alone(draws: int) -> None:
    of = method({"answer": {"samples": draws}, "revise": {}}, ["answer", "revise"])
    assert [step.samples for step in with_samples(of, 8).steps.values()] == [8, 1]


def test_a_tool_says_what_its_replies_depend_on_and_a_model_does_not() -> None:
    tool = Agent("calc", Model("calc", "tool/python", options={"timeout": 3}))
    of = dataclasses.replace(SAMPLING, role_agents={**SAMPLING.role_agents, "tool": (tool,)})
    told = with_identities(of, {"calc": "d1", "a": "d2", "other": "d3"})
    assert told.role_agents["tool"][0].model.options == {"timeout": 3, "identity": "d1"}
    assert told.role_agents["debater"] == of.role_agents["debater"]
    assert with_identities(of, {"other": "d3"}) == with_identities(of, {}) == of


def test_passages_take_the_place_of_the_names_of_their_sources() -> None:
    steps = {"answer": {"material": {"pool": ("wiki",), "example": "x"}}, "revise": {"material": {"example": "x"}}}
    fitted = with_pool(method(steps, ["answer"]), [{"text": "one"}, {"text": "two"}])
    assert fitted.steps["answer"].material == {"pool": ({"text": "one"}, {"text": "two"}), "example": "x"}
    assert fitted.steps["revise"].material == {"example": "x"}
