"""Values of the pass before, in loops whose passes have several rounds, or none."""

from __future__ import annotations

import pytest

from cortexdsl.core import Everyone, OfRole, Repeat
from cortexdsl.language.grammar.expressions import expression
from tests.engine.stage import Stage, method, run

STEPS = {"answer": {}, "revise": {"hears": Everyone()}, "again": {"hears": Everyone()}}


def answers(step: str, *rounds: str) -> dict[str, str]:
    """Return a script: for each round of a step the answers of a, b and c."""
    return {
        f"{step}:{who}{number}": f"{said}|0.5"
        for number, row in enumerate(rounds)
        for who, said in zip("abc", row, strict=False)
        if said != "."
    }


@pytest.mark.parametrize(
    ("condition", "rounds"),
    [("agreement == last_pass(agreement)", 4), ("agreement == before(agreement)", 2),
     ("all(answer == last_pass(answer))", 4)],
)  # fmt: skip
def test_a_pass_of_two_rounds_is_compared_with_the_pass_before(condition: str, rounds: int) -> None:
    """Opening 123, first pass 112 and 113, second 113 and 113: the passes end alike, and rounds 1 and 2, too."""
    said = (
        answers("answer", "123")
        | answers("revise", "...", "112", "...", "113")
        | answers("again", "...", "...", "113", "...", "113")
    )
    loop = Repeat(3, ("revise", "again"), until=condition)
    assert run(method(STEPS, ["answer", loop]), Stage(said)).rounds == rounds


def test_a_pass_without_answers_has_an_end_of_its_own() -> None:
    """Nobody answers in the loop; it ends when the judge's score of a stays what it was a pass ago."""
    steps = {"answer": {}, "judge": {"role": "judge", "hears": OfRole(("debater",)), "each": "edge", "reads": "review"}}
    said = {f"judge:j1>{who}": iter(("x|0.2", "x|0.6", "x|0.6", "x|0.6")) for who in "abc"}
    stage = Stage()

    def ask(call):  # type: ignore[no-untyped-def]
        from cortexdsl.core import Reply

        mine = call.messages[0]["content"].splitlines()[0]
        return Reply(f"{mine}{len(stage.calls)}", f"{mine}|{next(said[mine])}", "stop", 1, 1)

    stage.script = dict.fromkeys(said, ask)
    loop = Repeat(4, ("judge",), until="all(mean_score == last_pass(mean_score))")
    debate = run(method(steps, ["answer", loop], {"debater": "a b c", "judge": "j"}), stage)
    assert [turn.step for turn in debate.turns].count("judge") == 9


def test_outside_of_a_loop_the_present_value_counts() -> None:
    """The condition of an item that runs once belongs to the loop around it; here there is none."""
    part = Repeat(1, ("revise",), unless="agreement != last_pass(agreement)")
    assert run(method(STEPS, ["answer", part]), Stage(answers("answer", "123"))).rounds == 1


def test_two_passes_back() -> None:
    said = answers("answer", "123") | answers("revise", "...", "112", "113", "111", "111")
    loop = Repeat(6, ("revise",), until="agreement == last_pass(last_pass(agreement))")
    assert run(method(STEPS, ["answer", loop]), Stage(said)).rounds == 5


@pytest.mark.parametrize("place", ["vote", "turn", "label"])
def test_there_are_no_passes_in_a_vote_or_of_a_turn(place: str) -> None:
    with pytest.raises(Exception, match="has no value of a pass"):
        expression(place)("last_pass(confidence) > 0.5")  # type: ignore[arg-type]


def test_the_distance_between_rounds_for_two_rounds() -> None:
    """The largest share moves by 1/3, 0, 0: two rounds in a row are stable at the end of the third."""
    said = answers("answer", "123") | answers("revise", "...", "112", "112", "112", "112")
    stable = "abs(agreement - before(agreement)) < 0.05 and abs(before(agreement) - before(before(agreement))) < 0.05"
    assert run(method(STEPS, ["answer", Repeat(9, ("revise",), until=stable)]), Stage(said)).rounds == 3
