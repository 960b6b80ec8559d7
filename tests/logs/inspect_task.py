"""A task of Inspect with two mock models; `test_inspect.py` runs it with the real tool to have its logs."""

from __future__ import annotations

import random
import sys
from typing import Any

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Target, accuracy, match, scorer
from inspect_ai.solver import TaskState, generate

TOPICS = ("even", "odd")
SAMPLES = [
    Sample(id=f"q{k}", input=f"What is {k}+{k}?", target=str(2 * k), metadata={"topic": TOPICS[k % 2]})
    for k in range(40)
]


@scorer(metrics={"near": [accuracy()], "short": [accuracy()]})
def parts() -> Any:
    """Return a scorer with a dictionary of values."""

    async def score(state: TaskState, target: Target) -> Score:
        said = state.output.completion
        return Score(value={"near": abs(int(said) - int(target.text)) < 2, "short": len(said) < 2})

    return score


@task
def sums() -> Task:
    """Return the task."""
    return Task(dataset=MemoryDataset(SAMPLES, name="sums"), solver=generate(), scorer=[match(numeric=True), parts()])


def model(name: str, share: float) -> Any:
    """Return a mock model that is right in a share of its replies."""
    draws = random.Random(name)

    def reply(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        k = int(messages[-1].text.split("+")[1].rstrip("?"))
        output = ModelOutput.from_content(name, str(2 * k if draws.random() < share else 2 * k + 1))
        output.usage = ModelUsage(input_tokens=9, output_tokens=2, total_tokens=11)
        return output

    return get_model(f"mockllm/{name}", custom_outputs=reply, memoize=False)


if __name__ == "__main__":
    folder = sys.argv[1]
    for name, share in (("weak", 0.5), ("strong", 0.85)):
        eval(sums(), model=model(name, share), epochs=2, log_dir=f"{folder}/zip", display="none", log_format="eval")
        eval(sums(), model=model(name, share), limit=10, log_dir=f"{folder}/json", display="none", log_format="json")
