"""Debates to learn from: where they branch, who is asked what, and how roll-outs end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from cortexdsl.core import Call, Choose, Decide, Everyone, Keep, Message, Method, OfRole, Repeat, Reply
from cortexdsl.engine.seeds import call_seed
from cortexdsl.engine.trajectories import (
    BRANCH_KINDS,
    BranchKind,
    BranchPoint,
    Guide,
    role_turns,
    trajectory,
    turn_sequence,
)
from cortexdsl.errors import InputError
from tests.engine.stage import QUESTION, Stage, method

ACC = method(
    {
        "answer": {"role": "actor"},
        "comment": {"role": "critic", "reads": "comment", "hears": OfRole(("actor",))},
        "revise": {"role": "actor", "hears": OfRole(("critic",)), "memory": "last"},
    },
    ["answer", Repeat(2, ("comment", "revise"))],
    role_agents={"actor": "a", "critic": "c"},
    decide=Decide("last", role="actor"),
)


def towards(target: str) -> Guide:
    """A guide that adds a line to what is asked."""

    def guide(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return ({**messages[0], "content": f"{messages[0]['content']}\nguided {target}"},)

    return guide


GUIDES: dict[BranchKind, Guide] = {"right": towards("R"), "wrong": towards("W")}


def moments(of: Method, stage: Stage, role: str, samples: int = 1) -> tuple[BranchPoint, ...]:
    return asyncio.run(trajectory(of, QUESTION, stage.ports(), GUIDES, role=role, samples=samples, seed=7))


def said(call: Call, answer: str) -> Reply:
    """Say an answer, and whether one was guided."""
    first, *more = call.messages[0]["content"].splitlines()
    way = "".join(line.removeprefix("guided ") for line in more if line.startswith("guided "))
    return Reply(f"key-{first}-{call.seed}-{way}", f"{first}{way}|{way or answer}|0.5", "stop", 1, 1)


def staged(answer: Callable[[Call], str] = lambda call: "N") -> Stage:
    labels = product(("answer", "comment", "revise"), "ac", range(5))
    return Stage({f"{s}:{n}{r}": (lambda call: said(call, answer(call))) for s, n, r in labels})


def test_a_course_is_the_schedule_laid_out_and_one_more_pass_of_its_last_loop() -> None:
    course = turn_sequence(ACC)
    assert course.steps == ("answer", "comment", "revise", "comment", "revise", "comment", "revise")
    assert course.length == 5


def test_rounds_are_counted_as_the_paper_does() -> None:
    """The comment on the opening answer is of round 0, as that is (section 3)."""
    assert role_turns(ACC, "actor") == ((0, 0), (2, 1), (4, 2))
    assert role_turns(ACC, "critic") == ((1, 0), (3, 1))


def test_only_the_reply_at_the_branch_is_guided() -> None:
    """What came before it stays, and whoever rolls out from it is asked as always."""
    stage = staged()
    found = moments(ACC, stage, "critic")
    assert [(moment.turn, moment.round) for moment in found] == [(1, 0), (3, 1)]
    for moment in found:
        assert [moment.responses[way].turn.answer for way in BRANCH_KINDS] == [
            None,
            None,
            None,
        ]  # a comment is no answer
        labels = [moment.responses[way].turn.text.partition("|")[0] for way in BRANCH_KINDS]
        assert [label[-1] for label in labels] == [str(moment.round + 1), "R", "W"]
        assert "guided" not in moment.prompt[0]["content"]
    guided = [prompt for prompt in stage.prompts() if "guided" in prompt]
    assert sorted(prompt.splitlines()[0] for prompt in guided) == ["comment:c1"] * 2 + ["comment:c2"] * 2
    assert all(prompt.splitlines()[1] == "heard answer:a0|N" for prompt in guided if prompt.startswith("comment:c1"))


def test_the_three_replies_answer_one_prompt() -> None:
    stage = staged()
    for moment in moments(ACC, stage, "actor"):
        asked = {call.messages[0]["content"].partition("\nguided")[0] for call in stage.calls
                 if call.messages[0]["content"].splitlines()[0] == moment.prompt[0]["content"].splitlines()[0]
                 and "guided" in call.messages[0]["content"]}  # fmt: skip
        assert asked == {moment.prompt[0]["content"]}


REPLICATES = range(1, 7)
COMMENTS, ANSWERS = ("good", "bad"), ("R", "R", "W")


def drawn(call: Call) -> str:
    """A model with two comments and three answers, equally likely: replicate k draws the k-th of all six pairs.

    After a bad comment every answer is wrong, after a guided one the answer is the one that it argues for.
    """
    speaker = call.messages[0]["content"].partition(":")[2][0]
    seeds = {call_seed(7, k, QUESTION.id, speaker, repeat): k for k in REPLICATES for repeat in (0, 1)}
    k = seeds[call.seed] - 1
    heard = [line.rpartition("|")[2] for line in call.messages[0]["content"].splitlines() if line.startswith("heard")]
    if speaker == "c":
        return COMMENTS[k % 2]
    return {"R": "R", "W": "W", "bad": "W"}.get("".join(heard), ANSWERS[k % 3])


def test_roll_outs_are_worth_what_counting_all_that_can_happen_says() -> None:
    """Six replicates draw each pair of a comment and an answer once, so that their mean is the expectation."""
    stage = staged(drawn)
    value = {
        (moment.turn, way): sum(end.answer == "R" for end in moment.responses[way].endings) / len(REPLICATES)
        for role in ("actor", "critic")
        for moment in moments(ACC, stage, role, samples=len(REPLICATES))
        for way in BRANCH_KINDS
    }
    after_an_answer = sum(comment == "good" and answer == "R" for comment in COMMENTS for answer in ANSWERS) / 6
    # The first replicate's comments are good, so that the debate itself hears good ones.
    after_a_good_comment = sum(answer == "R" for answer in ANSWERS) / 3
    assert after_an_answer == pytest.approx(1 / 3)
    for turn in (0, 2, 4):  # whatever the actor says: the comment on it and the next answer are drawn anew
        assert [value[turn, way] for way in BRANCH_KINDS] == pytest.approx([after_an_answer] * 3)
    for turn in (1, 3):
        assert [value[turn, way] for way in BRANCH_KINDS] == pytest.approx([after_a_good_comment, 1.0, 0.0])


def test_the_kth_roll_outs_share_their_seeds_and_the_debate_has_those_of_the_first() -> None:
    """So the debate's own next turns are the first roll-out from its replies, and are asked once."""
    stage = staged()
    found = moments(ACC, stage, "critic", samples=3)
    seeds = Counter(call.seed for call in stage.calls if call.messages[0]["content"].startswith("revise:a1"))
    # One roll-out from each of the three replies a replicate, and the debate itself.
    assert [seeds[call_seed(7, k, QUESTION.id, "a", 0)] for k in (1, 2, 3)] == [4, 3, 3]
    natural = found[0].responses["natural"].endings[0]
    assert natural.call == f"key-revise:a1-{call_seed(7, 1, QUESTION.id, 'a', 0)}-"


def test_a_debate_whose_turns_are_not_known_beforehand_cannot_be_learned_from() -> None:
    talk = {"answer": {}, "revise": {"hears": Everyone()}}
    cases = {
        "not one agent speaks": method(talk, ["answer", Repeat(1, ("revise",))]),
        "a condition": replace(ACC, schedule=("answer", Repeat(2, ("comment", "revise"), until="consensus"))),
        "no loop": replace(ACC, schedule=("answer", "comment")),
        "chooses a actor": replace(ACC, schedule=("answer", Choose("actor", "critic", "1", Keep("all")))),
    }
    for why, of in cases.items():
        with pytest.raises(InputError, match=why):
            turn_sequence(of)


def test_with_no_round_but_the_opening_there_is_still_one_to_roll_out() -> None:
    once = replace(ACC, schedule=("answer", Repeat(0, ("comment", "revise"))))
    stage = staged()
    (moment,) = moments(once, stage, "actor", samples=2)
    assert [end.step for end in moment.responses["natural"].endings] == ["revise", "revise"]
    assert role_turns(once, "critic") == ()
