"""Two agents debate in Inspect; `test_debates.py` runs it with the real tool to have a log."""

from __future__ import annotations

import sys
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.agent import AgentState, agent, run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match, model_graded_qa
from inspect_ai.solver import TaskState, solver


def model(name: str, *texts: str) -> Any:
    """Return a mock model that says the texts in turn."""
    replies = []
    for text in texts:
        replies.append(ModelOutput.from_content(name, text))
        replies[-1].usage = ModelUsage(input_tokens=9, output_tokens=2, total_tokens=11)
    return get_model(f"mockllm/{name}", custom_outputs=replies, memoize=False)


@agent
def debater(speaker: Any) -> Any:
    """Return an agent that replies once."""

    async def execute(state: AgentState) -> AgentState:
        state.output = await speaker.generate(state.messages)
        state.messages.append(state.output.message)
        return state

    return execute


@solver
def debate() -> Any:
    """Return a debate of two rounds: ann reads bob's words in a prompt, bob does not read ann's."""

    async def solve(state: TaskState, generate: Any) -> TaskState:
        ann = debater(model("small", "I add them up. Answer: 7", "I stay with what I said. Answer: 7"))
        bob = debater(model("large", "My first guess is eight. Answer: 8", "I count once more. Answer: 7"))
        first = await run(ann, state.input_text, name="ann")
        other = await run(bob, state.input_text, name="bob")
        heard = ChatMessageUser(content=f"bob said: {other.output.completion}\nWhat do you say now?")
        await run(ann, [*first.messages, heard], name="ann")
        last = await run(bob, [*other.messages, ChatMessageUser(content="Are you sure?")], name="bob")
        state.output = last.output
        return state

    return solve


def sums() -> Task:
    """Return the task. Its mock models say each text once, so each run needs a new one."""
    samples = [Sample(id="q1", input="3 + 4?", target="7"), Sample(id="q2", input="5 + 2?", target="7")]
    judge = model_graded_qa(model=model("judge", "GRADE: C", "GRADE: I"))
    return Task(dataset=MemoryDataset(samples, name="sums"), solver=debate(), scorer=[match(numeric=True), judge])


if __name__ == "__main__":
    for form in sys.argv[2:]:
        eval(sums(), model="mockllm/none", log_dir=sys.argv[1], display="none", log_format=form)
