"""Placebos: what each kind shows, and that everything but the words stays as in the debate."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from cortexdsl.core import (
    Choose,
    Debate,
    Everyone,
    Keep,
    Method,
    OfRole,
    OtherQuestion,
    Ports,
    Question,
    Repeat,
    Sparse,
    TurnFilter,
)
from cortexdsl.engine.placebo import as_long_as, draw_other_question, shuffled_words
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import DebateError
from tests.engine.stage import QUESTION, Stage, method, run

TALK: dict[str, dict[str, Any]] = {"answer": {}, "revise": {"hears": Everyone()}}
QUESTIONS = tuple(Question(f"q{k}", f"What is {k} * 7?") for k in range(1, 30))


def placebo(kind: str, times: int = 1, steps: dict[str, dict[str, Any]] = TALK, **words: Any) -> Method:
    revise = {**steps["revise"], "placebo": kind, **words}
    return method({**steps, "revise": revise}, ["answer", Repeat(times, ("revise",))])


class TwoQuestions(Stage):
    """A stage whose prompts say which question they are about, with another question for placebos."""

    def ports(self) -> Ports:
        def other(question: Question, chance: random.Random) -> OtherQuestion:
            return OtherQuestion(Question("q2", "Another?"), replace(Stage.ports(self), render=self.render_other))

        return replace(Stage.ports(self), other=other)

    def render_other(self, prompt: str, view: Any) -> Any:
        messages = Stage.render(self, prompt, view)
        return ({"role": "user", "content": "other " + messages[0]["content"]},)


def shown(debate: Debate, number: int) -> dict[int, str]:
    return {each.turn: each.text for each in debate.turns[number].placebos}


def test_own_shows_each_agent_its_last_reply_once_for_each_other_agent() -> None:
    stage = Stage({"answer:a0": "1|0.9", "answer:b0": "2|0.8", "answer:c0": "3|0.7"})
    debate = run(placebo("own"), stage)
    assert stage.trace()[3:] == [
        "revise:a1 <- answer:a0 answer:a0", "revise:b1 <- answer:b0 answer:b0", "revise:c1 <- answer:c0 answer:c0",
    ]  # fmt: skip
    assert debate.turns[3].heard == (1, 2)
    assert [(each.kind, each.answer, each.confidence) for each in debate.turns[3].placebos] == [("own", "1", 0.9)] * 2
    assert {each.call for each in debate.turns[3].placebos} == {debate.turns[0].call}


def test_an_agent_that_has_not_spoken_hears_nothing_in_place_of_its_own_reply() -> None:
    steps: dict[str, dict[str, Any]] = {"answer": {"hears": Everyone(), "order": "sequential", "placebo": "own"}}
    stage = Stage()
    debate = run(method(steps, ["answer", "answer"]), stage)
    assert stage.trace()[:3] == ["answer:a0", "answer:b0", "answer:c0"]
    assert stage.trace()[3] == "answer:a1 <- answer:a0 answer:a0"
    assert not debate.turns[1].heard


def test_shuffled_shows_the_same_words_in_another_order_with_the_same_answer() -> None:
    said = {f"answer:{name}0": "one two\nthree  four five six seven|0.5" for name in "abc"}
    debate = run(placebo("shuffled"), Stage(said))
    texts = shown(debate, 3)
    for number, text in texts.items():
        original = debate.turns[number].text.rpartition("|")[0]
        assert text != original
        assert sorted(text.split()) == sorted(original.split())
        assert [len(line.split()) for line in text.split("\n")] == [2, 5]
    assert texts[1] != texts[2]
    assert debate.turns[3].placebos[0].answer == debate.turns[1].answer


def test_shuffling_keeps_spaces_and_line_ends_in_place() -> None:
    assert shuffled_words("a  bb\n\nccc ", random.Random(1)).split() != []
    text = shuffled_words("a  b\n\nc ", random.Random(3))
    assert [text[k] for k in (1, 2, 4, 5, 7)] == [" ", " ", "\n", "\n", " "]


@pytest.mark.parametrize(("length", "text"), [(2, "is 7"), (4, "so it is 7"), (6, "is 7\n\nso it is 7"), (0, "")])
def test_a_reply_is_cut_at_its_beginning_or_repeated(length: int, text: str) -> None:
    assert as_long_as("so it is 7", length) == text


def test_same_length_asks_each_agent_again_once_for_each_other_agent_and_not_each_round() -> None:
    stage = Stage({"answer:a0": "1|0.9", "answer:b0": "one two three|0.8"})
    debate = run(placebo("same_length", 2), stage)
    again = [prompt for prompt in stage.prompts() if prompt == "answer:a0"]
    assert len(again) == 1 + 2 + 2  # the log has the calls of the first round when the second asks for them
    calls = [call for call in stage.calls if call.messages[0]["content"] == "answer:a0"]
    assert len({call.seed for call in calls}) == 3
    assert {each.call for each in debate.turns[3].placebos} == {each.call for each in debate.turns[6].placebos}
    assert [len(text.split()) for text in shown(debate, 3).values()] == [3, 1]


def test_further_replies_are_those_of_self_consistency() -> None:
    """Their seeds are those of an agent that sends its opening prompt again, so cells that sample share the calls."""
    stage, sampled = Stage(), Stage()
    run(placebo("same_length"), stage)
    run(method({"answer": {"samples": 3}}, ["answer"]), sampled)
    known = {(call.messages[0]["content"], call.seed) for call in sampled.calls}
    assert {
        (c.messages[0]["content"], c.seed) for c in stage.calls if c.messages[0]["content"][:6] == "answer"
    } == known


def test_other_question_shows_the_same_point_of_the_undisturbed_debate_about_it() -> None:
    stage = TwoQuestions({"answer:a0": "1|0.9", "answer:b0": "2|0.8", "answer:c0": "3|0.7"})
    debate = run(placebo("other_question", 2), stage)
    first, second = debate.turns[3].placebos, debate.turns[6].placebos
    assert [each.question for each in (*first, *second)] == ["q2"] * 4
    assert [each.text for each in first] == ["other answer:b0|42", "other answer:c0|42"]
    assert [each.text for each in second] == ["other revise:b1|42", "other revise:c1|42"]
    others = [prompt for prompt in stage.prompts() if prompt.startswith("other ")]
    heads = [prompt.splitlines()[0] for prompt in others]
    assert heads == [f"other answer:{name}0" for name in "abc"] + [f"other revise:{name}1" for name in "abc"]
    assert "heard" in others[-1]  # in the other debate, agents hear each other
    assert all(len(prompt.splitlines()) == 3 for prompt in others[3:])


def test_the_other_debate_goes_only_as_far_as_it_is_needed() -> None:
    stage = TwoQuestions()
    run(placebo("other_question", 1), stage)
    assert sum(prompt.startswith("other ") for prompt in stage.prompts()) == 3


def test_without_another_question_there_is_an_error() -> None:
    with pytest.raises(DebateError, match="no other question"):
        run(placebo("other_question"), Stage())


def test_another_question_is_one_of_the_eight_before_whatever_comes_after() -> None:
    for place in (0, 1, 5, 20):
        drawn = {draw_other_question(QUESTIONS, QUESTIONS[place], random.Random(seed)).id for seed in range(200)}
        few = {draw_other_question(QUESTIONS[: place + 2], QUESTIONS[place], random.Random(s)).id for s in range(200)}
        expected = {q.id for q in QUESTIONS[max(0, place - 8) : place]} or {"q2"}
        assert drawn == few == expected


def test_a_question_with_the_same_text_is_not_another_one() -> None:
    twins = (QUESTION, replace(QUESTION, id="twin"))
    with pytest.raises(DebateError, match="needs a second question"):
        draw_other_question(twins, twins[1], random.Random(1))


def test_graphs_weights_and_votes_go_by_what_was_said() -> None:
    steps: dict[str, dict[str, Any]] = {"answer": {}, "revise": {"hears": Sparse("confidence", Keep("top", 1))}}
    script = {"answer:a0": "1|0.9", "answer:b0": "2|0.8", "answer:c0": "3|0.7"}
    plain, instead = (run(placebo(kind, steps=steps), Stage(dict(script))) for kind in ("none", "shuffled"))
    assert [turn.heard for turn in plain.turns] == [turn.heard for turn in instead.turns]
    assert (plain.graphs[0].heard == instead.graphs[0].heard).all()
    assert plain.votes == instead.votes


def test_a_remembered_conversation_shows_turns_as_they_were_shown() -> None:
    stage = Stage({"answer:a0": "1|0.9", "answer:b0": "2|0.8", "answer:c0": "3|0.7"})
    steps = {**TALK, "conclude": {"memory": "all"}}
    of = method({**steps, "revise": {**TALK["revise"], "placebo": "own"}}, ["answer", "revise", "conclude"])
    debate = run(of, stage)
    last = debate.turns[6]
    assert stage.trace()[6] == "conclude:a2 | answer:a0 answer:a0 answer:a0 revise:a1"
    assert {each.turn for each in last.placebos} == {1, 2}
    assert last.recalled == (0, 1, 2, 3)


def test_grouped_answers_are_those_that_are_shown() -> None:
    stage = Stage({"answer:a0": "1|0.9", "answer:b0": "2|0.8", "answer:c0": "3|0.7"})
    run(placebo("own", shows=("by_answer",)), stage)
    groups = stage.views["revise:a1"]["by_answer"]
    assert [(str(group["answer"]), len(group["turns"])) for group in groups] == [("1", 2)]


def test_reviews_and_other_roles() -> None:
    """A placebo stands for whatever reaches the step: here the summary that another role wrote."""
    steps: dict[str, dict[str, Any]] = {
        "answer": {}, "sum": {"role": "scribe", "hears": OfRole(("debater",)), "reads": "summary"},
        "revise": {"hears": OfRole(("scribe",)), "shows": (TurnFilter(("sum",)),), "placebo": "other_question"},
    }  # fmt: skip
    stage = TwoQuestions()
    debate = run(method(steps, ["answer", "sum", "revise"], {"debater": "a b", "scribe": "s"}), stage)
    assert [each.turn for each in debate.turns[3].placebos] == [2]
    assert "other sum:s1" in [prompt.splitlines()[0] for prompt in stage.prompts()]
    assert stage.prompts()[2].startswith("sum:s1\nheard answer:a0")  # the scribe hears what was said


def test_a_debate_branches_after_turns_with_placebos() -> None:
    of = placebo("same_length", 2)
    whole = run(of)
    assert run(of, given=whole.turns[:6]).turns == whole.turns


def test_a_choice_that_empties_the_other_debate_leaves_nothing_to_show() -> None:
    of = method(
        {**TALK, "revise": {**TALK["revise"], "placebo": "other_question"}},
        ["answer", Choose("debater", "debater", "confidence", Keep("above", 0.4)), "revise"],
    )
    stage = TwoQuestions()
    debate = asyncio.run(run_debate(of, QUESTION, stage.ports(), seed=1, replicate=1))
    assert len(debate.turns) == 6
