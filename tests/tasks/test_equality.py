"""One equality for votes and for grades: two answers of which one would be right with the other as gold vote as one."""

from __future__ import annotations

import asyncio

import pytest

from cortexdsl.core import Ports, Question, Reading
from cortexdsl.engine.readings import reread_debate
from cortexdsl.engine.run import run_debate
from cortexdsl.tasks.grading.metrics import METRICS, equality_of
from cortexdsl.tasks.task import Item, Task
from tests.engine.stage import Stage, StagedReader, method, run

PAIRS = [
    ("math", "0.5", r"\frac{1}{2}", True),
    ("math", "(x+1)^2", "x^2+2x+1", True),
    ("math", "x+1", "x+2", False),
    ("math", r"\{1,2\}", r"\{2,1\}", True),
    ("hendrycks", "1/2", r"\frac{1}{2}", True),
    ("hendrycks", "(x+1)^2", "x^2+2x+1", False),
    ("em", "U.S. senate", "us senate", True),
    ("em", "the", "a", False),  # nothing is left of either
    ("trivia_em", "spider-man", "spider man", True),
    ("f1", "spider-man", "spider man", False),
    ("text", "Paris.", "paris", True),
    ("accuracy", "3", "3", True),
    ("accuracy", "3", "3.0", False),  # readers spell numbers in one way before
    ("rouge", "a b", "b a", False),
]


@pytest.mark.parametrize(("metric", "one", "other", "is_one"), PAIRS)
def test_equal_answers_are_those_that_the_metric_grades_equal(metric: str, one: str, other: str, is_one: bool) -> None:
    assert equality_of(metric)(one, other) is is_one
    if metric not in ("em", "rouge"):  # with 0 for the words that both lack, and graded by degrees
        assert METRICS[metric](one, (other,), ()) == float(is_one) or not is_one


class Halves(StagedReader):
    """Takes 0.5, 1/2 and 2/4 for one answer, as a grader of mathematics does."""

    def same(self, answer: str, earlier: str) -> bool:
        return {answer, earlier} <= {"0.5", "1/2", "2/4"}


SPELLINGS = {"answer:a0": "1/2|0.9", "answer:b0": "0.5|0.9", "answer:c0": "3|0.9", "answer:d0": "2/4|0.2"}


class Halved(Stage):
    """A stage whose reader knows halves."""

    def ports(self) -> Ports:
        return Ports(self.ask, self.render, Halves(), self.similarity)


def test_spellings_of_one_answer_vote_together_and_the_text_stays() -> None:
    of = method({"answer": {}}, ["answer"], {"debater": "a b c d"})
    debate = run(of, Halved(SPELLINGS))
    assert (debate.answer, debate.votes) == ("1/2", {"1/2": 3.0, "3": 1.0})
    assert [turn.text.split("|")[1] for turn in debate.turns] == ["1/2", "0.5", "3", "2/4"]
    assert run(of, Stage(SPELLINGS)).votes == {"1/2": 1.0, "0.5": 1.0, "3": 1.0, "2/4": 1.0}


def test_a_debate_that_is_read_again_votes_as_it_did() -> None:
    """Also one that an earlier version decided by spellings."""
    of = method({"answer": {}}, ["answer"], {"debater": "a b c d"})
    earlier = run(of, Stage(SPELLINGS))
    again = reread_debate(earlier, of, Halves(), seed=7, replicate=1)
    assert again == reread_debate(again, of, Halves(), seed=7, replicate=1)
    assert (again.answer, again.votes) == ("1/2", {"1/2": 3.0, "3": 1.0})


def test_the_reader_of_a_question_has_the_equality_of_its_metric() -> None:
    question = Question("q-1", "What is a half?")
    task = Task("own", "own", (Item(question, ("0.5",), "expression", "math"),))
    reader = task.reader(question)
    readings = [reader.read("answer", f"Answer: {said}\nConfidence: 0.9") for said in ("1/2", "0.5", "$\\frac12$", "2")]
    values = [reading.value for reading in readings if isinstance(reading, Reading)]
    assert None not in values
    assert [reader.same(str(value), str(values[0])) for value in values] == [True, True, True, False]


def test_a_debate_of_mathematicians_reaches_consensus() -> None:
    """Three spellings of one value: the loop ends after the opening, as no agent disagrees."""
    question = Question("q-1", "Expand.")
    task = Task("own", "own", (Item(question, ("x^2+2x+1",), "expression", "math"),))
    said = {"answer:a0": "(x+1)^2", "answer:b0": "x^2+2x+1", "answer:c0": "1+2x+x^2"}

    class Written(Stage):
        async def ask(self, call):  # type: ignore[no-untyped-def]
            reply = await super().ask(call)
            mine = call.messages[0]["content"].splitlines()[0]
            return type(reply)(reply.key, f"Answer: ${said[mine]}$\nConfidence: 0.9", "stop", 10, 10)

    of = method({"answer": {}}, ["answer"], {"debater": "a b c"})
    stage = Written()
    ports = Ports(stage.ask, stage.render, task.reader(question), stage.similarity)
    debate = asyncio.run(run_debate(of, question, ports, seed=1, replicate=1))
    assert list(debate.votes.values()) == [3.0]
    assert task.grade("q-1", debate.answer) == 1.0
