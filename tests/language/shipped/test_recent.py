"""Methods of specs/examples/recent.yaml: who is asked, who is heard, what ends a debate, and what decides."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Method, Model, Question, Reply
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import protocol_of
from cortexdsl.language.reader import parse, read
from cortexdsl.tasks.reading.choice import ChoiceKind
from cortexdsl.tasks.reading.reader import AnswerReader
from tests.engine.stage import Stage, agents, name_of, run

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = (("A", "one"), ("B", "two"))
QUESTION = Question("q1", "How many?", options=OPTIONS, context="There was one. Nobody saw two.")


class Real(Stage):
    """A stage that reads replies as a task does; what is not scripted is `Answer: A` and a score of 5 in everything."""

    def __init__(self, **script: str) -> None:
        super().__init__()
        self.said = {key.replace("__", ":"): text for key, text in script.items()}

    async def ask(self, call: Any) -> Reply:
        self.calls.append(call)
        mine = call.messages[0]["content"].splitlines()[0]
        named = " ".join(f"{name}: 5" for name in ("Strength", "Points", "Complexity"))
        return Reply(f"{len(self.calls)}", self.said.get(mine, f"Answer: A\n{named}"), "stop", 10, 10)

    def ports(self) -> Any:
        reader = AnswerReader(ChoiceKind(OPTIONS), passage=QUESTION.context)
        return dataclasses.replace(super().ports(), reader=reader)


def fitted(name: str, team: str, settings: str = "{}") -> Method:
    """A protocol of the example spec with its agents, each prompt called by its step as the stage does."""
    node = read(ROOT / "specs/examples/recent.yaml").find(("protocols", name))
    assert node is not None
    known = {agent.name: agent for agent in agents("hasty quick steady careful thorough")}
    models = {"tiny": Model("tiny", "fake/model")}
    choice = MethodChoice("methods.tried", parse(settings, "tried.yaml"), agents(team), known, models=models)
    method = resolve(protocol_of(name, node), choice)
    steps = {step: dataclasses.replace(words, prompt=step) for step, words in method.steps.items()}
    return dataclasses.replace(method, steps=steps)


ALL = "hasty quick steady careful thorough"


def test_d3_ends_when_the_scores_stay_and_the_jury_decides() -> None:
    """The first advocate's argument is worth 3, then 6 and 6: the third round changes nothing."""
    said = {f"score:judge{k}>careful": f"Strength: {worth}" for k, worth in ((1, 3), (2, 6), (3, 6))}
    said |= {f"vote:{name}3": "Answer: B" for name in ("hasty", "quick", "steady")} | {"argue:careful0": "Answer: A"}
    stage = Real(**{})
    stage.said = said
    debate = run(fitted("d3", ALL), stage, question=QUESTION)
    assert [turn.step for turn in debate.turns].count("argue") == 6
    assert debate.answer == "B"


def test_d3_ends_with_its_tokens() -> None:
    debate = run(fitted("d3", ALL, "{most_tokens: 50}"), Real(), question=QUESTION)
    assert [turn.step for turn in debate.turns].count("argue") == 2


@pytest.mark.parametrize(
    ("complexity", "steps"),
    [
        ("1", ["triage", "alone"]),
        ("5", ["triage", *["answer"] * 3]),
        ("9", ["triage", *["answer"] * 3, "report"]),
        ("unknown", ["triage", "alone"]),
    ],
)
def test_mdagents_asks_one_doctor_a_team_or_a_team_with_a_report(complexity: str, steps: list[str]) -> None:
    stage = Real()
    stage.said = {"triage:moderator0": f"Complexity: {complexity}"}
    stage.said |= {"triage:moderator1": f"Complexity: {complexity}"}
    debate = run(fitted("mdagents", "hasty quick steady"), stage, question=QUESTION)
    assert [turn.step for turn in debate.turns] == steps


def test_all_calls_of_a_split_are_counted_beforehand() -> None:
    """The passage of the example question is empty, and a plan may have fewer items: the most are counted."""
    from cortexdsl.plan.rehearsal.explain import calls_of, rehearse_example, why_fewer_calls

    chain, planned = fitted("chain-of-agents", "careful", "{parts: 4}"), fitted("planned", "a b", "{most: 3}")
    assert (calls_of(rehearse_example(chain)), calls_of(rehearse_example(planned))) == (5, 4)
    assert why_fewer_calls(planned) == " (fewer if there are fewer items)"


def test_agents_drop_out_one_a_round() -> None:
    debate = run(fitted("dropout", ALL, "{node: position}"), Real(), question=QUESTION)
    assert [choice.chosen for choice in debate.choices] == [tuple(ALL.split()[1:]), tuple(ALL.split()[2:])]


def test_points_of_one_reply_each_decide() -> None:
    stage = Real()
    stage.said = {f"answer:{name}0": f"Answer: {said}" for name, said in zip("abc", "ABA", strict=True)}
    stage.said |= {f"revise:{name}1": f"Answer: {said}" for name, said in zip("abc", "ABA", strict=True)}
    stage.said |= {f"share:{u}2>{v}": f"Points: {9 if v == 'b' else 1}" for u in "abc" for v in "abc"}
    of = fitted("mallm", "a b c", "{ballot: share, rule: {vote: last * stated(points)}}")
    debate = run(of, stage, question=QUESTION)
    assert (debate.answer, dict(debate.votes)) == ("B", pytest.approx({"A": 0.2, "B": 0.9}))


def test_a_consultant_speaks_for_the_answer_that_it_chose_and_the_judge_sees_no_passage() -> None:
    stage = Real()
    debate = run(fitted("hidden", "careful thorough", "{form: consultancy}"), stage, question=QUESTION)
    assert [name_of(turn).split(":")[0] for turn in debate.turns] == ["choose", "claim", "claim", "judge"]
    assert stage.views[f"judge:judge{debate.turns[-1].round}"]["question"].context == ""
    assert stage.views["claim:careful0"]["question"].context == QUESTION.context


def test_workers_read_the_passage_part_by_part() -> None:
    stage = Real()
    run(fitted("chain-of-agents", "careful", "{parts: 2}"), stage, question=QUESTION)
    assert [view["item"] for name, view in stage.views.items() if name.startswith("read")] == [
        "There was one.", "Nobody saw two.",
    ]  # fmt: skip
