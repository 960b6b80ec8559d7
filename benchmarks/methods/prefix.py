"""What a server's prefix cache can reuse of each method's prompts: the table of docs/benchmarks/prefix-cache.md.

Five built-in solvers of one model debate arithmetic questions, five questions at a time. Prompts are taken in the order
in which they are sent, and counted as vLLM's prefix cache counts: a prompt is cut into blocks of 16 tokens, a block is
found if it and all before it were sent before, whatever room the cache has. A token is taken as 4 characters, so that a
block is 64: the share depends little on it, and no model's vocabulary is needed.

Run: python benchmarks/methods/prefix.py [--questions 20] [--prompts FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cortexdsl.core import Agent, Call, Dataset, Message, Method, Model, Ports, Question, Reply
from cortexdsl.engine.methods import with_pool
from cortexdsl.engine.run import run_debate
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.models.transports.builtin import solve
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates

CHARACTERS, BLOCK = 4, 16
AT_ONCE = 5  # questions in flight together: their prompts come in turns, as a job's do
SKILLS = (0.40, 0.50, 0.60, 0.65, 0.70)  # those of the quickstart
METHODS = {
    "voting": ("voting", "{}"),
    "multi-llm": ("multi-llm", "{rounds: 5}"),
    "multi-llm, memory: last": ("multi-llm", "{rounds: 5, memory: last}"),
    "multi-llm, memory: all": ("multi-llm", "{rounds: 5, memory: all}"),
    "reconcile": ("reconcile", "{rounds: 5, until: never}"),
    "chateval": ("chateval", "{rounds: 5}"),
    "chateval-simultaneous": ("chateval-simultaneous", "{rounds: 5}"),
    "chateval-one-by-one": ("chateval-one-by-one", "{rounds: 5}"),
    "peer-review": ("peer-review", "{rounds: 5}"),
    "group": ("group", "{rounds: 6}"),
    "group, memory: all": ("group", "{rounds: 6, memory: all}"),
    "mad-summary": ("mad-summary", "{rounds: 6}"),
    "neighbor": ("neighbor", "{rounds: 5}"),
    "cortexdebate": ("cortexdebate", "{rounds: 5, until: never}"),
    "cortexdebate-peers": ("cortexdebate-peers", "{rounds: 5, until: never}"),
    "madke": ("madke", "{rounds: 3, pool: [wiki]}"),
    "acc": ("acc", "{rounds: 5}"),
    "reflection": ("reflection", "{}"),
}
PASSAGES = tuple({"title": f"Passage {k}", "text": "Words that say little about it. " * 20} for k in range(10))


@dataclass
class Cache:
    """Blocks that were sent before, each known by all that stands before it."""

    known: set[bytes] = field(default_factory=set)
    tokens: int = 0
    found: int = 0

    def send(self, messages: Sequence[Message]) -> None:
        """Count one prompt."""
        text = "".join(f"<|{message['role']}|>{message['content']}<|end|>" for message in messages)
        self.tokens += -(-len(text) // CHARACTERS)
        before, hit = b"", True
        for start in range(0, len(text) - CHARACTERS * BLOCK + 1, CHARACTERS * BLOCK):
            block = text[start : start + CHARACTERS * BLOCK]
            before = hashlib.blake2b(before + block.encode(), digest_size=16).digest()
            hit = hit and before in self.known
            self.found += BLOCK * hit
            self.known.add(before)


async def shared(method: Method, task: Task, prompts: Templates) -> Cache:
    """Debate the questions, and return what a cache would have found of their prompts."""
    cache, gate = Cache(), asyncio.Semaphore(AT_ONCE)

    async def ask(call: Call) -> Reply:
        await asyncio.sleep(0)  # a step's prompts are sent together, those of other questions between its steps
        cache.send(call.messages)
        solved = solve(call.messages, call.seed, call.model.options)
        key = call_key(call)
        # Solvers often say the same word for word, which models that draw their words do not.
        return Reply(
            key,
            f"Thought {key[:12]}.\n{solved.text}",
            solved.finish_reason,
            solved.usage.prompt_tokens,
            solved.usage.completion_tokens,
        )

    async def one(question: Question) -> None:
        def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
            return prompts.render(prompt, {**view, "answer_format": task.format_of(question.id)})

        async with gate:
            ports = Ports(ask, render, task.reader(question), Embedder())
            await run_debate(method, question, ports, seed=7, replicate=1)

    await asyncio.gather(*map(one, task.questions))
    return cache


def main() -> None:
    """Measure each method, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--prompts", type=Path, help="a folder of other prompts, to compare with")
    parser.add_argument("--only", help="one method")
    args = parser.parse_args()
    task = load(Dataset("arithmetic", "arithmetic", size=args.questions))
    team = tuple(
        Agent(f"a{k}", Model(f"m{k}", "builtin/solver", options={"skill": skill}, parameters=k * 1e9, tokens=1e12))
        for k, skill in enumerate(SKILLS, 1)
    )
    prompts = Templates((args.prompts,) if args.prompts else ())
    print("| method | prompt tokens a question | found, share |")
    print("|---|---|---|")
    for name, (protocol, settings) in METHODS.items():
        if args.only not in (None, name):
            continue
        size = {"madke": 2, "acc": 2, "reflection": 1}.get(protocol, 5)
        choice = MethodChoice("methods.measured", parse(settings, "prefix.yaml"), team[:size])
        method = with_pool(resolve(load_protocol(protocol), choice), PASSAGES)
        cache = asyncio.run(shared(method, task, prompts))
        print(f"| {name} | {cache.tokens / args.questions:,.0f} | {cache.found / cache.tokens:.0%} |", flush=True)


if __name__ == "__main__":
    main()
