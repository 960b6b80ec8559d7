"""What the parameters of the built-in solver do, on arithmetic questions: tables of docs/benchmarks/solver.md.

Run: python benchmarks/models/solver.py [--questions 200]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence

from cortexdsl.core import (
    Agent,
    Call,
    Dataset,
    Debate,
    Decide,
    Everyone,
    Floats,
    Method,
    Model,
    Ports,
    Repeat,
    Reply,
    Ring,
    Step,
    Topology,
)
from cortexdsl.engine.run import run_debate
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.transports.builtin import solve
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates

AGENTS = 5
ROUNDS = 3
ANSWER = Step("answer", "debater", "common/answer.j2")


async def ask(call: Call) -> Reply:
    solved = solve(call.messages, call.seed, call.model.options)
    used = solved.usage
    return Reply(call_key(call), solved.text, solved.finish_reason, used.prompt_tokens, used.completion_tokens)


async def no_similarity(embedding: str, texts: Sequence[str]) -> Floats:
    raise AssertionError("no method here weighs by similarity")


def method(name: str, agents: int, **options: float) -> Method:
    role_agents = {
        "debater": tuple(Agent(f"a{k}", Model("s", "builtin/solver", options=options)) for k in range(agents))
    }
    topologies: dict[str, Topology] = {"multi-llm": Everyone(), "neighbor": Ring(1)}
    hears = topologies.get(name)
    if hears is None:
        return Method(name, role_agents, {"answer": ANSWER}, ("answer",), Decide("majority"))
    revise = Step("revise", "debater", "multi-llm/revise.j2", hears=hears)
    schedule = ("answer", Repeat(ROUNDS, ("revise",)))
    return Method(name, role_agents, {"answer": ANSWER, "revise": revise}, schedule, Decide("majority"))


async def debates(task: Task, plan: Method) -> list[Debate]:
    templates = Templates()

    async def one(number: int) -> Debate:
        question = task.questions[number]
        extra = {"answer_format": task.format_of(question.id)}
        ports = Ports(
            ask, lambda prompt, view: templates.render(prompt, {**view, **extra}), task.reader(question), no_similarity
        )
        return await run_debate(plan, question, ports, seed=1, replicate=1)

    return [await one(number) for number in range(len(task.questions))]


def accuracy(task: Task, done: Sequence[Debate]) -> float:
    return sum(task.grade(each.question_id, each.answer) for each in done) / len(done)


def by_round(task: Task, done: Sequence[Debate], number: int) -> float:
    """Mean accuracy of single answers in a round."""
    turns = [(each.question_id, turn.answer) for each in done for turn in each.turns if turn.round == number]
    return sum(task.grade_all(turns)) / len(turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200)
    task = load(Dataset("arithmetic", name="arithmetic", size=parser.parse_args().questions, seed=3))

    print("| skill | one answer | vote of 5 | ring, 3 rounds | all hear all, 3 rounds | single answers, last round |")
    print("|---|---|---|---|---|---|")
    for skill in (0.0, 0.1, 0.3, 0.5, 0.55, 0.7, 0.8, 0.9, 1.0):
        vote = asyncio.run(debates(task, method("voting", AGENTS, skill=skill)))
        ring = asyncio.run(debates(task, method("neighbor", AGENTS, skill=skill)))
        full = asyncio.run(debates(task, method("multi-llm", AGENTS, skill=skill)))
        row = (by_round(task, vote, 0), accuracy(task, vote), accuracy(task, ring), accuracy(task, full))
        print(f"| {skill} | " + " | ".join(f"{x:.1%}" for x in (*row, by_round(task, full, ROUNDS))) + " |")

    print("\n| stubbornness | all hear all | single answers after round 1 | 2 | 3 |\n|---|---|---|---|---|")
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        full = asyncio.run(debates(task, method("multi-llm", AGENTS, skill=0.5, stubbornness=value)))
        rounds = " | ".join(f"{by_round(task, full, number):.1%}" for number in range(1, ROUNDS + 1))
        print(f"| {value} | {accuracy(task, full):.1%} | {rounds} |")

    print(
        "\n| overconfidence | mean confidence | of right answers | of wrong answers | accuracy |\n|---|---|---|---|---|"
    )
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        vote = asyncio.run(debates(task, method("voting", AGENTS, skill=0.5, overconfidence=value)))
        turns = [(each.question_id, turn) for each in vote for turn in each.turns]
        right = [task.grade(question, turn.answer) == 1 for question, turn in turns]
        said = [turn.confidence_stated or 0.0 for _, turn in turns]
        mean = [
            sum(group) / len(group)
            for group in (
                said,
                [c for c, r in zip(said, right, strict=True) if r],
                [c for c, r in zip(said, right, strict=True) if not r],
            )
        ]
        print(f"| {value} | " + " | ".join(f"{x:.2f}" for x in mean) + f" | {sum(right) / len(right):.1%} |")

    print("\n| malformed | unreadable answers | no readable confidence |\n|---|---|---|")
    for value in (0.0, 0.1, 0.5):
        vote = asyncio.run(debates(task, method("voting", AGENTS, skill=0.5, malformed=value)))
        all_turns = [turn for each in vote for turn in each.turns]
        lost = sum(turn.answer is None for turn in all_turns) / len(all_turns)
        mute = sum(turn.confidence_stated is None for turn in all_turns) / len(all_turns)
        print(f"| {value} | {lost:.1%} | {mute:.1%} |")

    messages = [{"role": "user", "content": "Question: What is the result of 12+7*3+20-4*5?\n\nAnswer: <a number>"}]
    begun = time.perf_counter()
    for seed in range(5_000):
        solve(messages, seed, {"skill": 0.5})
    print(f"\n{5_000 / (time.perf_counter() - begun):,.0f} replies a second in one process")


if __name__ == "__main__":
    main()
