"""What a reply says of other agents is not its own answer, whatever they are called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader

NUMBER = AnswerReader(kind_named("number"))
LETTER = AnswerReader(kind_named("choice", tuple((letter, f"option {letter}") for letter in "ABCD")))
NAMES = ("Agent 2", "agent_2", "Agent B", "The second agent", "My colleague", "The other agent", "Another solution")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("reader", "reply", "answer"),
    [
        (LETTER, "Answer: B\nConfidence: 0.8\n{} argues that the answer is C.", "B"),
        (LETTER, "I think that the answer is B. {} claims the answer is (C), which is wrong.", "B"),
        (NUMBER, "Answer: 7\nConfidence: 0.9\n({}'s answer is 9.)", "7"),
        (NUMBER, "I get 7, not 9 as {} claims.", "7"),
        (NUMBER, "The answer is 7. {} got 9.", "7"),
        (NUMBER, "3 + 4 = 7, as {} also said", "7"),
    ],
)
def test_the_answer_of_another_agent_is_not_the_authors(
    reader: AnswerReader, reply: str, answer: str, name: str
) -> None:
    assert reader.lenient(reply.format(name)).value == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("I agree with Agent 2 that the answer is 9.", "9"),
        ("Unlike Agent 2, I find that the answer is 9.", "9"),
        ("Agent 1 says 5 and Agent 2 says 6.\nAnswer: 7", "7"),
        ("Agent 1:\nAnswer: 5\nAgent 2:\nAnswer: 6\nAnswer: 7", "7"),
        ("I was wrong, and agents 1 and 2 are right.\nAnswer: 12", "12"),
    ],
)
def test_an_answer_that_is_shared_or_comes_after_a_quotation_is_the_authors(reply: str, answer: str) -> None:
    assert NUMBER.lenient(reply).value == answer


@pytest.mark.parametrize(
    "header", ["[Agent 2] Answer: 9", "Agent 2:\nAnswer: 9", "**Agent 2:** I think so.\nAnswer: 9"]
)
def test_an_invented_next_agent_is_cut_off(header: str) -> None:
    """As an invented next question is: base models go on with the transcript."""
    assert NUMBER.lenient(f"3 + 4 = 7\nAnswer: 7\nConfidence: 0.9\n\n{header}\nConfidence: 0.5").value == "7"


@pytest.mark.parametrize("header", ["[Critic]", "**Judge:**", "Reviewer 1:", "Opponent:", "[Agent 2]"])
def test_a_turn_that_a_reply_invents_for_another_role_is_cut(header: str) -> None:
    assert NUMBER.read("answer", f"So it is 7.\nAnswer: 7\nConfidence: 0.8\n\n{header}\nAnswer: 9").value == "7"
    assert LETTER.read("answer", f"Answer: B\nConfidence: 0.8\n\n{header} I would say C.\nAnswer: C").value == "B"


@pytest.mark.parametrize("header", ["Alice:", "[alice] Answer: 9", "**Old Man**", "### old-man:", "- Ben:"])
def test_a_turn_that_a_reply_invents_for_an_agent_of_the_debate_is_cut(header: str) -> None:
    reader = replace(NUMBER, agents=("debater", "alice", "Ben", "old_man", "answer"))
    reply = f"Answer: 7\nConfidence: 0.8\n\n{header}\nAnswer: 9"
    assert reader.read("answer", reply).value == "7"
    assert NUMBER.read("answer", reply).value == "9"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Alice: Answer: 5\nBen: Answer: 6\nAnswer: 7", "7"),  # a quotation before
        ("Answer: 5\nI was wrong, and Alice is right.\nAnswer: 7", "7"),
        ("Answer: 5\n\nFinal Answer: 7", "7"),  # an answer line, and not a turn of the role `final`
        ("Answer: 7\nBenjamin: Answer: 9", "7"),
    ],
)
def test_names_of_agents_elsewhere_in_a_reply_cut_nothing(reply: str, answer: str) -> None:
    assert replace(NUMBER, agents=("alice", "ben", "final")).lenient(reply).value == answer


def test_an_answer_that_is_the_name_of_an_agent_is_read() -> None:
    reader = AnswerReader(kind_named("text"), agents=("alice", "ben"))
    assert reader.lenient("Who won?\nAnswer:\n**Alice**\n\nBen:\nAnswer: nobody").value == "alice"


@pytest.mark.parametrize("reply", ["> 12", ">= 12", "at least 12", "x < 12", "12 or more", "3 < x < 12", r"\\geq 12"])
def test_a_bound_is_not_a_number(reply: str) -> None:
    assert NUMBER.lenient(f"Answer: {reply}").value is None
    assert NUMBER.strict(f"Answer: {reply}").value is None


@pytest.mark.parametrize("reply", ["Answer: -> 12", "Answer: => 12", "Answer: <b>12</b>", "So at least 12 are needed."])
def test_arrows_tags_and_conclusions_are_not_bounds(reply: str) -> None:
    assert NUMBER.lenient(reply).value == "12"


@pytest.mark.parametrize(("said", "value"), [("3 dozen", "36"), ("two dozen eggs", "24"), ("7 dozens", "7")])
def test_a_dozen_is_twelve(said: str, value: str) -> None:
    """Dozens are a unit: "how many dozens?" is answered by a number of them."""
    assert NUMBER.lenient(f"Answer: {said}").value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Answer: 4, 6", None),  # a list
        ("Answer: 12, 000", "12"),
        ("Answer: 5, 3 more than 2", "5"),
        ("Final answer - 42", "42"),
        ("Final answer: - 42", "-42"),
    ],
)
def test_lists_and_dashes(text: str, value: str | None) -> None:
    assert NUMBER.read("answer", text).value == value


@pytest.mark.parametrize("span", ["between 4 and 6", "from 4 to 6", "4-6", "4 to 6", "between $4 and $6"])
@pytest.mark.parametrize("around", ["{}", "Answer: {}", "It is {}.", "So the total is {} dollars."])
def test_a_range_is_not_a_number(span: str, around: str) -> None:
    assert NUMBER.lenient(around.format(span)).value is None


@pytest.mark.parametrize("reply", ["between 4 and 6, so 5", "The distance between 4 and 9 is 5."])
def test_what_follows_from_a_range_is_a_number(reply: str) -> None:
    assert NUMBER.lenient(reply).value == "5"


@pytest.mark.parametrize(
    "announced",
    [
        "The other agents said:",
        "Note: the previous solution ended with",
        "In contrast, my colleague's final line was:",
        "Agent 2 wrote:",
        "For comparison, Agent 3's answer was:",
    ],
)
def test_an_answer_line_that_is_announced_as_that_of_another_is_not_the_authors(announced: str) -> None:
    assert NUMBER.lenient(f"Answer: 7\nConfidence: 0.9\n\n{announced}\nAnswer: 9\nwhich forgets a step.").value == "7"


@pytest.mark.parametrize(
    "own",
    [
        "Wait, I made a mistake.",
        "Agent 2 says something that convinced me:",
        "As Agent 2 says:",
        "Agent 2 is right after all:",
        "After what the others said I change my answer:",
        "Checking again gives:",
    ],
)
def test_an_answer_line_that_corrects_the_first_is_the_authors(own: str) -> None:
    assert NUMBER.lenient(f"Answer: 7\n\n{own}\nAnswer: 9").value == "9"
