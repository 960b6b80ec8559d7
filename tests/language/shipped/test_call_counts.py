"""Calls per question, counted by a server: every row of the published tables, through the client, over HTTP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.core import Agent, Debate, Message, Method, Model, Ports, Question
from cortexdsl.engine.methods import match_budget
from cortexdsl.engine.run import run_debate
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import builtin_names, load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.models.client import Client, open_client
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader, answer_format
from cortexdsl.templates.templates import Templates
from tests.models.stub import Stub, serving

QUESTION = Question("q1", "What is the result of 2+3*4?")

# protocol, agents, settings, calls; n agents, D rounds after the opening
COUNTS = [
    ("voting", 5, "{}", 5),  # n
    ("multi-llm", 5, "{rounds: 5}", 30),  # n (D + 1)
    ("debate", 4, "{rounds: 3}", 16),  # n (D + 1) at most
    ("debate", 4, "{rounds: 3, topology: trust}", 16),
    ("persona", 3, "{rounds: 4}", 15),  # n (D + 1)
    ("reconcile", 5, "{rounds: 5}", 30),  # n (D + 1) at most
    ("neighbor", 5, "{rounds: 5}", 30),  # n (D + 1)
    ("cortexdebate", 5, "{rounds: 5}", 30),  # n (D + 1) at most
    ("cortexdebate", 5, "{rounds: 5, similarity: asked}", 80),  # and D n (n - 1) / 2 comparisons
    ("cortexdebate-peers", 5, "{rounds: 2}", 55),  # n + D (n (n - 1) + n)
    ("chateval", 5, "{rounds: 5}", 35),  # n (D + 1) + D
    ("chateval", 5, "{rounds: 5, hears: [summarizer, debater]}", 35),  # n (D + 1) + D
    ("chateval-simultaneous", 4, "{rounds: 2}", 12),  # n (D + 1)
    ("chateval-one-by-one", 4, "{rounds: 2}", 12),  # n (D + 1)
    ("peer-review", 5, "{rounds: 1}", 30),  # n + D (n (n - 1) + n)
    ("peer-review", 4, "{rounds: 2}", 36),  # n + D (n (n - 1) + n)
    ("group", 5, "{rounds: 3}", 17),  # GroupDebate, table 2
    ("group", 8, "{groups: [4, 2, 2], rounds: 4}", 35),  # 4 * 8 answers, one summary for each of 3 groups
    ("mad-summary", 5, "{rounds: 3}", 25),  # GroupDebate, table 2
    ("mad-summary", 5, "{rounds: 3, memory: last}", 25),
    ("madke", 2, "{rounds: 3}", 16),  # D (2n + 1) + 1
    ("madke", 2, "{rounds: 3, selection: everything}", 10),  # D (n + 1) + 1
    ("acc", 2, "{rounds: 5}", 9),  # T answers, T - 1 comments
    ("cot", 1, "{}", 1),  # GroupDebate, table 2
    ("standard", 1, "{}", 1),
    ("rag", 1, "{}", 1),
    ("reflection", 1, "{}", 4),  # GroupDebate, table 2
    ("self-consistency", 1, "{samples: 40}", 40),  # GroupDebate, table 2
    ("mad-judge", 2, "{rounds: 3}", 10),  # 3 R, and 1 where no verdict came
    ("moa", 6, "{layers: 3}", 13),  # n (L - 1) + 1
    ("dylan", 4, "{}", 11),  # n + n + 1 + 2
    ("dylan", 3, "{}", 9),  # n + n + n: three are not ranked
    ("tournament", 8, "{}", 15),  # n answers, n - 1 matches
    ("tournament", 5, "{comparisons: 3}", 17),  # n answers, 3 (2 + 1 + 1) comparisons
    ("eot", 3, "{rounds: 5}", 18),  # n (D + 1) at most
    ("sparse-mad", 6, "{rounds: 3}", 24),  # n (D + 1)
    ("s2-mad", 6, "{groups: 2}", 30),  # n (1 + stages (rounds_per_stage + 1)) where nobody agrees
    ("free-mad", 4, "{rounds: 1}", 8),  # n (D + 1)
    ("dmad", 3, "{rounds: 2}", 9),  # n (D + 1)
    ("heter-mad", 5, "{debaters: 3, rounds: 2}", 9),  # those drawn (D + 1)
    ("conformist", 4, "{rounds: 2}", 12),  # n (D + 1) where no two agree
    ("follower", 4, "{rounds: 2, share: 0}", 12),  # n (D + 1) where nobody follows
    ("mav", 4, "{checks: 2}", 28),  # n + 3 checks n
    ("mav", 3, "{roles: {verifier: everyone}}", 21),  # n + 3 checks n (n - 1)
    ("adversary", 4, "{rounds: 3}", 16),  # n (D + 1)
    ("comm", 2, "{}", 3),  # 2 T + 1
    ("comm", 2, "{turns: 2}", 5),  # 2 T + 1
    ("drag", 2, "{}", 20),  # 1 + 4 (S - 1) + 2 R + 1
    ("drag", 2, "{searches: 3, rounds: 2}", 14),  # 1 + 4 (S - 1) + 2 R + 1
]


class Server(Stub):
    """Every answer is another, and no judge finds agreement."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count(100)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        prompt = body["messages"][-1]["content"]
        asked = prompt.splitlines()[-1].partition(":")[0]
        numbers = re.findall(r"^\[Agent (\d+)", prompt, re.MULTILINE)
        said = {
            "Confidence": f"Answer: {next(self._numbers)}\nConfidence: 0.5",
            "Verdict": f"Answer: {next(self._numbers)}\nVerdict: disagree",
            "Choice": f"Choice: {', '.join(numbers[: 2 if 'best 2' in prompt else 1])}",
            "Score": "Score: 5",
            "Selected": "Selected: none",
            "Similarity": "Similarity: 0.5",
        }.get(asked, "Summary: they differ.")
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return web.json_response({"id": "x", "model": body["model"], "choices": [choice], "usage": usage})


def method_of(name: str, agents: int, settings: str, base: str) -> Method:
    models = [Model(f"m{k}", f"direct/m{k}", api_base=base, parameters=7e9, tokens=1e12) for k in range(agents)]
    team = tuple(Agent(f"agent-{k}", model) for k, model in enumerate(models, 1))
    tools = {"library": Model("library", "direct/library", api_base=base)}
    return resolve(load_protocol(name), MethodChoice("methods.tried", parse(settings, "tried.yaml"), team, tools=tools))


TEMPLATES = Templates()


async def debated(method: Method, client: Client) -> Debate:
    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        return TEMPLATES.render(prompt, {**view, "answer_format": answer_format("a number")})

    ports = Ports(client, render, AnswerReader(kind_named("number")), Embedder(client))
    return await run_debate(method, QUESTION, ports, seed=7, replicate=1)


@pytest.mark.parametrize(("name", "agents", "settings", "calls"), COUNTS)
def test_calls_per_question(tmp_path: Path, name: str, agents: int, settings: str, calls: int) -> None:
    async def scene() -> tuple[int, Debate]:
        async with serving(server := Server()), open_client(tmp_path / "calls" / "job.jsonl") as client:
            found = await debated(method_of(name, agents, settings, server.base), client)
            return server.calls, found

    served, found = asyncio.run(scene())
    assert served == len(found.turns) == calls


def test_every_built_in_protocol_is_counted() -> None:
    assert {row[0] for row in COUNTS} == set(builtin_names())


@pytest.mark.parametrize(("unit", "samples"), [("calls", 17), ("tokens", 17)])
def test_self_consistency_with_the_budget_of_a_debate(tmp_path: Path, unit: Any, samples: int) -> None:
    """GroupDebate (5, 3) makes 17 calls; this server counts every call as 120 tokens, so that tokens give 17 too."""

    async def scene() -> int:
        async with serving(server := Server()), open_client(tmp_path / "calls" / "job.jsonl") as client:
            budget = await debated(method_of("group", 5, "{rounds: 3}", server.base), client)
            before = server.calls
            # Under another address: at the same one the first sample is the debate's opening, and not asked again.
            sampled = match_budget(method_of("self-consistency", 1, "{}", f"{server.base}/"), budget, unit)
            assert len((await debated(sampled, client)).turns) == samples
            return server.calls - before

    assert asyncio.run(scene()) == samples


def test_what_was_asked_is_replayed_without_a_server(tmp_path: Path) -> None:
    """Comparisons that a model was asked for are in the call log like every other call: the same debate again."""
    log = tmp_path / "calls" / "job.jsonl"

    async def scene() -> tuple[Debate, Debate]:
        async with serving(server := Server()):
            method = method_of("cortexdebate", 3, "{rounds: 2, similarity: asked}", server.base)
            async with open_client(log) as client:
                live = await debated(method, client)
        async with open_client(None, folder=log.parent, offline=True) as client:
            return live, await debated(method, client)

    live, again = asyncio.run(scene())
    assert again.turns == live.turns
    assert sum(turn.reads == "similarity" for turn in live.turns) == 2 * 3
