"""The engine at work: failures are data, debates branch anywhere, and the clock changes nothing."""

import asyncio
import dataclasses
import itertools
from typing import Any

import pytest

from cortexdsl.core import (
    Ablation,
    Bin,
    Call,
    Edges,
    Everyone,
    Groups,
    Image,
    Keep,
    OfRole,
    RandomEdges,
    Repeat,
    Reply,
    Sparse,
)
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import DebateError, ModelError
from tests.engine.stage import QUESTION, Stage, method, name_of, run, talk


# ------------------------------------------------------------ failures are data
def refused(call: Call) -> Reply:
    return Reply("key", "", None, 17, None, error="content filter")


def test_a_reply_that_failed_is_a_turn_that_nobody_hears() -> None:
    """It abstains, says why, and the other goes on without it."""
    stage = Stage({"answer:b0": refused})
    debate = run(talk(["answer", "revise"]), stage)
    turn = debate.turns[1]
    assert (turn.text, turn.answer, turn.unparsed) == ("", None, "no reply: content filter")
    assert (turn.confidence_stated, turn.confidence, turn.prompt_tokens, turn.call) == (None, None, 17, "key")
    assert stage.trace() == ["answer:a0", "answer:b0", "revise:a1", "revise:b1 <- answer:a0"]
    assert debate.turns[2].heard == ()
    assert debate.graphs[0].heard.tolist() == [[False, True], [False, False]]  # nothing came along its edge


def test_a_debate_in_which_every_reply_failed_has_no_answer() -> None:
    script = dict.fromkeys(("answer:a0", "answer:b0", "revise:a1", "revise:b1"), refused)
    steps = {"answer": {}, "revise": {"hears": Sparse("credibility * reliability", Keep("mean"))}}
    debate = run(method(steps, ["answer", Repeat(1, ("revise",), until="consensus")], "a b"), Stage(script))
    assert (debate.answer, debate.votes, debate.was_tied, debate.stop) == (None, {}, False, "rounds")


def test_an_unreadable_answer_is_heard_but_does_not_vote() -> None:
    stage = Stage({"answer:b0": "-|0.9", "revise:a1": "41|0.5", "revise:b1": "-|0.9"})
    debate = run(talk(["answer", "revise"]), stage)
    assert stage.trace()[2] == "revise:a1 <- answer:b0"
    assert (debate.answer, debate.votes) == ("41", {"41": 1.0})


def test_the_first_failing_call_ends_the_debate_once_all_of_its_step_are_back() -> None:
    """b fails at once and a later: the error is a's, the first in order; c's reply arrives before it is raised."""
    arrived = []

    def fails(call: Call) -> Reply:
        raise ModelError(call.messages[0]["content"])

    class Slow(Stage):
        async def ask(self, call: Call) -> Reply:
            reply = await super().ask(call)
            arrived.append(call.messages[0]["content"])
            return reply

    delays = {"answer:a0": 3, "answer:b0": 0, "answer:c0": 9}
    stage = Slow({"answer:a0": fails, "answer:b0": fails}, delay=lambda label: delays[label])
    with pytest.raises(ModelError, match="answer:a0"):
        run(method({"answer": {}}, ["answer"]), stage)
    assert arrived == ["answer:c0"]


def test_a_prompt_that_cannot_be_rendered_leaves_no_call_behind() -> None:
    """The second prompt of a step fails: the first is not sent, and nothing is left waiting (a warning is an error)."""

    class Strict(Stage):
        def render(self, prompt: str, view: Any) -> Any:
            if view["agent"]["name"] == "b":
                raise ValueError("no such variable")
            return super().render(prompt, view)

    stage = Strict()
    with pytest.raises(ValueError, match="no such variable"):
        run(method({"answer": {}}, ["answer"]), stage)
    assert stage.calls == []


# ------------------------------------------------------------ branches
CORTEX = method(
    {"answer": {}, "revise": {"hears": Sparse("reliability * intimacy / (self_orientation + 1)", Keep("mean"))}},
    ["answer", Repeat(3, ("revise",), until="consensus")],
)
SCRIPT = {
    f"{step}:{name}{k}": f"{40 + (k * ord(name)) % 3}|0.{3 + (k + ord(name)) % 6}"
    for step in ("answer", "revise")
    for name in "abc"
    for k in range(4)
}


def cosine(one: str, other: str) -> float:
    """Some number in [0, 1) that belongs to two texts."""
    return (sum(map(ord, one)) * sum(map(ord, other))) % 97 / 97


def test_a_debate_branches_at_any_turn() -> None:
    """From every turn on, also within a step, the rest is asked anew with the same seeds and ends the same."""
    whole = Stage(SCRIPT, cosine)
    debate = run(CORTEX, whole)
    assert len(debate.turns) == 12
    for cut in range(len(debate.turns) + 1):
        rest = Stage(SCRIPT, cosine)
        assert _plain(run(CORTEX, rest, given=debate.turns[:cut])) == _plain(debate)
        assert rest.calls == whole.calls[cut:]


def test_a_debate_is_continued_by_a_longer_method() -> None:
    """The turns of one round, given to the method with three: only the other two rounds are asked."""
    short = dataclasses.replace(CORTEX, schedule=("answer", Repeat(1, ("revise",), until="consensus")))
    stage = Stage(SCRIPT, cosine)
    continued = run(CORTEX, stage, given=run(short, Stage(SCRIPT, cosine)).turns)
    assert _plain(continued) == _plain(run(CORTEX, Stage(SCRIPT, cosine)))
    assert len(stage.calls) == 6


def test_a_changed_turn_changes_what_follows() -> None:
    """A given turn is taken as it is: its words are heard, its answer counts."""
    debate = run(talk(["answer", "revise"]))
    other = dataclasses.replace(debate.turns[0], text="answer:a0 guided|7|0.5", answer="7")
    stage = Stage()
    branched = run(talk(["answer", "revise"]), stage, given=[other])
    assert branched.turns[0] is other
    assert stage.trace() == ["answer:b0", "revise:a1 <- answer:b0", "revise:b1 <- answer:a0 guided"]


@pytest.mark.parametrize("change", [{"step": "revise"}, {"speaker": "b"}, {"about": "b"}])
def test_turns_of_another_method_are_refused(change: dict[str, str]) -> None:
    debate = run(talk(["answer"]))
    with pytest.raises(DebateError, match="branch with the method that made the turns"):
        run(talk(["answer"]), given=[dataclasses.replace(debate.turns[0], **change)])  # type: ignore[arg-type]


def test_more_turns_than_the_schedule_has_are_refused() -> None:
    debate = run(talk(["answer", "revise"]))
    with pytest.raises(DebateError, match="4 turns are given, but the debate ends after 2"):
        run(talk(["answer"]), given=debate.turns)


# ------------------------------------------------------------ chance and time
def test_the_order_of_arrival_changes_nothing() -> None:
    """All six orders in which three replies of a step can arrive give the same debate."""
    debates = []
    for order in itertools.permutations(range(3)):
        stage = Stage(SCRIPT, cosine, delay=lambda label, order=order: order["abc".index(label[-2])])  # type: ignore[misc]
        debates.append(_plain(run(CORTEX, stage)))
    assert all(debate == debates[0] for debate in debates)


def test_debates_side_by_side_are_the_same_as_alone() -> None:
    async def together() -> list[Any]:
        ports = [Stage(SCRIPT, cosine, delay=lambda label, k=k: k).ports() for k in range(3)]  # type: ignore[misc]
        return await asyncio.gather(*(run_debate(CORTEX, QUESTION, h, seed=7, replicate=1) for h in ports))

    alone = _plain(run(CORTEX, Stage(SCRIPT, cosine)))
    assert [_plain(debate) for debate in asyncio.run(together())] == [alone] * 3


def test_random_edges_are_drawn_anew_in_every_step_from_the_seeds_alone() -> None:
    of = method({"answer": {}, "revise": {"hears": RandomEdges(0.5)}}, ["answer", Repeat(4, ("revise",))], "a b c d")
    graphs = [graph.heard.tolist() for graph in run(of).graphs]
    assert graphs == [graph.heard.tolist() for graph in run(of).graphs]
    assert len({str(graph) for graph in graphs}) == 4
    assert graphs != [graph.heard.tolist() for graph in run(of, replicate=2).graphs]


def test_groups_are_drawn_once_a_debate_and_anew_in_another() -> None:
    of = method({"answer": {}, "discuss": {"hears": Groups(2)}}, ["answer", Repeat(2, ("discuss",))], "a b c d e")
    first, second = (graph.heard.tolist() for graph in run(of).graphs)
    assert first == second
    assert len({str(run(of, replicate=k).graphs[0].heard.tolist()) for k in range(8)}) > 1


def test_steps_that_talk_in_different_groups_are_refused() -> None:
    """They would not say whose group a summary is."""
    steps = {"answer": {}, "two": {"hears": Groups(2)}, "three": {"hears": Groups(3)}}
    with pytest.raises(DebateError, match="different groups"):
        run(method(steps, ["answer", "two", "three"]))


def test_a_call_for_each_pair_that_a_speaker_hears() -> None:
    """a hears b, c and d, which are three pairs, and says which two it was asked about."""
    edges = Edges((("b", "a"), ("c", "a"), ("d", "a"), ("a", "b"), ("c", "b")))
    steps = {"answer": {}, "compare": {"hears": edges, "each": "pair", "reads": "similarity"}}
    debate = run(method(steps, ["answer", "compare"], "a b c d"))
    assert [name_of(turn) for turn in debate.turns[4:]] == [
        "compare:a1>bandc", "compare:a1>bandd", "compare:a1>candd", "compare:b1>aandc",
    ]  # fmt: skip


def test_a_step_in_which_nobody_has_to_speak_makes_no_round() -> None:
    """Reviews along no edges are no calls, and an answer along no edges is not a round."""
    steps = {"answer": {}, "reply": {"hears": RandomEdges(0.0), "each": "edge"}}
    debate = run(method(steps, ["answer", Repeat(2, ("reply",)), "answer"], "a b"))
    assert [name_of(turn) for turn in debate.turns] == ["answer:a0", "answer:b0", "answer:a1", "answer:b1"]
    assert [turn.execution for turn in debate.turns] == [0, 0, 1, 1]


def test_a_debate_in_which_nobody_answered_has_no_rounds() -> None:
    debate = run(method({"answer": {}}, [Repeat(0, ("answer",))]))
    assert (debate.rounds, debate.turns, debate.answer, debate.stop) == (0, (), None, "rounds")


def test_comments_and_summaries_have_no_answer_and_scores_are_not_recalibrated() -> None:
    """What was read of them is their text; a verdict is read, and its certainty is left as it was said."""
    steps = {
        "answer": {},
        "note": {"hears": Everyone(), "reads": "comment"},
        "sum": {"role": "judge", "hears": OfRole(("debater",)), "reads": "summary"},
        "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
    }
    of = method(
        steps, ["answer", "note", "sum", "rule"], {"debater": "a b", "judge": "j"}, recalibration=(Bin(0, 1, 0.3),)
    )
    turns = run(of, Stage({"rule:j1": "agree|0.8"})).turns
    assert [turn.answer for turn in turns] == ["42", "42", None, None, None, "agree"]
    assert [turn.confidence for turn in turns] == [0.3, 0.3, 0.5, 0.5, 0.5, 0.8]


def test_draws_of_a_step_are_turns_of_one_execution_and_the_last_one_votes() -> None:
    stage = Stage({"answer:b0": "41|0.5"})
    debate = run(method({"answer": {"samples": 2}}, ["answer"], "a b"), stage)
    assert [(turn.turn, turn.execution, turn.speaker) for turn in debate.turns] == [
        (0, 0, "a"), (1, 0, "a"), (2, 0, "b"), (3, 0, "b"),
    ]  # fmt: skip
    assert debate.votes == {"42": 2.0, "41": 2.0}
    assert len({call.seed for call in stage.calls}) == 4
    assert debate.standing == ()


def test_a_step_that_hears_nobody_leaves_no_graph_and_any_other_leaves_one() -> None:
    graphs = run(talk(["answer", "revise", "judge", "answer"])).graphs
    assert [(graph.round, graph.step) for graph in graphs] == [(1, "revise"), (2, "judge")]


def test_a_step_of_which_nobody_is_left_to_speak_leaves_nothing() -> None:
    debate = run(talk(["answer", "judge", "revise"]), ablation=Ablation(agents=("j",)))
    assert [graph.step for graph in debate.graphs] == ["revise"]
    assert [turn.execution for turn in debate.turns] == [0, 0, 1, 1]


def test_a_failure_after_others_is_raised_too() -> None:
    """The last of three fails alone: its error ends the debate."""

    def fails(call: Call) -> Reply:
        raise ModelError(call.messages[0]["content"])

    with pytest.raises(ModelError, match="answer:c0"):
        run(method({"answer": {}}, ["answer"]), Stage({"answer:c0": fails}))


def test_a_given_turn_that_is_not_the_next_one_is_named() -> None:
    debate = run(talk(["answer"]))
    told = (
        "^given turn 1 is of 'b' in step 'answer', but 'a' speaks next, in step 'answer': "
        "branch with the method that made the turns$"
    )
    with pytest.raises(DebateError, match=told):
        run(talk(["answer"]), given=debate.turns[::-1])


def _plain(debate: Any) -> Any:
    """A debate as values that compare."""
    graphs = [
        (g.round, g.step, g.heard.tolist(), str(g.weight), sorted((k, str(v)) for k, v in g.factors.items()))
        for g in debate.graphs
    ]
    return dataclasses.replace(debate, graphs=()), graphs


def test_every_call_about_a_question_shows_its_images_and_the_debate_keeps_their_digests() -> None:
    stage, image = Stage(), Image("d" * 64, "image/png", "/a.png")
    asked = dataclasses.replace(QUESTION, images=(image,))
    debate = run(talk(["answer", "revise", "judge"]), stage, question=asked)
    assert {call.images for call in stage.calls} == {(image,)}
    assert debate.images == ("d" * 64,)
