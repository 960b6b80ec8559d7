"""Every prompt of every shipped method, as a model gets it: golden files, one a method, in the order of the calls.

The debates are made up: `ann` is right, the others are not, no judge is content. A heading says what the record says of
a turn: its number, round, step, speaker, whom it is about, which earlier turns its prompt holds. To change the files on
purpose: `pytest tests/language --update-golden`, then read the difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Agent, Call, Debate, Message, Method, Model, Ports, Question, Reply, Turn
from cortexdsl.engine.methods import with_pool
from cortexdsl.engine.run import run_debate
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import builtin_names, load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader, answer_format
from cortexdsl.templates.templates import Templates

GOLDEN = Path(__file__).parents[1] / "language" / "golden"
QUESTION = Question("q1", "What is the result of 2+3*4?", context="Products come before sums.")
ANSWERS = {"ann": "14", "bob": "20", "cai": "18", "dee": "20"}
PASSAGES = (
    {"title": "Precedence", "text": "Multiplication binds more tightly than addition."},
    {"title": "Abacus", "text": "An abacus has beads."},
    {"title": "", "text": "Brackets are worked out first."},
)

TEMPLATES = Templates()
TOOLS = {"library": Model("library", "tool/search")}

# file: protocol, team, settings
CASES = {
    "acc": ("acc", 2, "{rounds: 2}"),
    "chateval": ("chateval", 2, "{rounds: 1, memory: last}"),
    "chateval-with-answers": ("chateval", 3, "{rounds: 1, hears: [summarizer, debater]}"),
    "chateval-one-by-one": ("chateval-one-by-one", 2, "{rounds: 1}"),
    "chateval-simultaneous": ("chateval-simultaneous", 2, "{rounds: 2}"),
    "cortexdebate": ("cortexdebate", 3, "{rounds: 1}"),
    "cortexdebate-full-mdm": ("cortexdebate", 3, "{rounds: 1, keep: all, memory: last}"),
    "cortexdebate-answers-alone": ("cortexdebate", 3, "{rounds: 1, keep: all, trust: hidden, quote: answer}"),
    "cortexdebate-asked": ("cortexdebate", 3, "{rounds: 1, similarity: asked}"),
    "cortexdebate-peers": ("cortexdebate-peers", 3, "{rounds: 1}"),
    "cot": ("cot", 1, "{}"),
    "group": ("group", 4, "{rounds: 3}"),
    "group-history": ("group", 4, "{rounds: 3, memory: all}"),
    "mad-summary": ("mad-summary", 2, "{rounds: 3}"),
    "mad-forget": ("mad-summary", 2, "{rounds: 3, memory: last}"),
    "madke": ("madke", 2, "{rounds: 2, pool: [wiki]}"),
    "madke-everything": ("madke", 2, "{rounds: 2, pool: [wiki], selection: everything}"),
    "madke-no-knowledge": ("madke", 2, "{rounds: 2, selection: everything}"),
    "multi-llm": ("multi-llm", 3, "{rounds: 1}"),
    "multi-llm-history": ("multi-llm", 2, "{rounds: 2, shows: all, memory: all}"),
    "neighbor": ("neighbor", 4, "{rounds: 1}"),
    "peer-review": ("peer-review", 3, "{rounds: 1}"),
    "persona": ("persona", 2, "{rounds: 1}"),
    "rag": ("rag", 1, "{pool: [wiki]}"),
    "reconcile": (
        "reconcile",
        4,
        "{rounds: 1, convincing: {ann: [{question: 1+1?, explanation: One and one are two., answer: '2'}]}}",
    ),
    "reflection": ("reflection", 1, "{trials: 1}"),
    "self-consistency": ("self-consistency", 1, "{samples: 2}"),
    "standard": ("standard", 1, "{example: {question: 1+1?, answer: '2'}}"),
    "voting": ("voting", 2, "{}"),
    "mad-judge": ("mad-judge", 2, "{rounds: 2}"),
    "moa": ("moa", 3, "{}"),
    "dylan": ("dylan", 4, "{}"),
    "tournament": ("tournament", 4, "{}"),
    "debate": ("debate", 3, "{rounds: 1}"),
    "debate-trust": ("debate", 3, "{rounds: 1, topology: trust}"),
    "eot": ("eot", 3, "{rounds: 2}"),
    "eot-relay": ("eot", 3, "{rounds: 1, topology: relay}"),
    "sparse-mad": ("sparse-mad", 4, "{rounds: 1}"),
    "s2-mad": ("s2-mad", 4, "{stages: 1}"),
    "free-mad": ("free-mad", 3, "{}"),
    "dmad": ("dmad", 3, "{rounds: 1}"),
    "heter-mad": ("heter-mad", 4, "{debaters: 2, rounds: 1}"),
    "conformist": ("conformist", 4, "{rounds: 1}"),
    "follower": ("follower", 4, "{rounds: 1, share: 0.5}"),
    "mav": ("mav", 3, "{}"),
    "adversary": ("adversary", 3, "{rounds: 1}"),
    "comm": ("comm", 2, "{}"),
    "drag": ("drag", 2, "{searches: 2}"),
}


@dataclass
class Talk:
    """Ports that keep every prompt. A reply depends on who speaks and what is asked for; it travels in its call."""

    method: Method
    prompts: list[tuple[Message, ...]] = field(default_factory=list)

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        messages = TEMPLATES.render(prompt, {**view, "answer_format": answer_format("a number")})
        step = next(step for step in self.method.steps.values() if prompt in step.prompts)
        said = _reply(step.reads, view["agent"]["name"], view["round"], view["about"])
        if step.reads == "choice":
            said = f"Choice: {', '.join(str(turn['number']) for turn in view['heard'][: view.get('top', 1)])}"
        said += "".join("\nVerdict: no" for what in step.beside if what == "verdict")
        self.prompts += [messages] * step.samples
        if prompt in step.said:
            return messages
        return (*messages, {"role": "reply", "content": said})

    async def ask(self, call: Call) -> Reply:
        return Reply("key", call.messages[-1]["content"], "stop", None, None)


def _reply(reads: str, speaker: str, round_: int, about: str | None) -> str:
    mine = ANSWERS.get(speaker, "14")
    return {
        "answer": f"({speaker}'s reasons in round {round_})\nAnswer: {mine}\nConfidence: 0.{5 + round_}",
        "review": f"({speaker}'s review of {about})\nAnswer: {mine}\nScore: 7",
        "verdict": "Verdict: disagree",
        "summary": f"Summary:\n({speaker}'s summary{f' for {about}' if about else ''} in round {round_})",
        "selection": "Selected: 1, 3",
        "similarity": "Similarity: 0.4",
        "choice": "",
        "comment": f"({speaker}'s comment in round {round_})",
    }[reads]


@cache
def made_up(case: str) -> tuple[Method, Debate, Sequence[tuple[Message, ...]]]:
    """Return a case's method, its debate, and the prompt of each turn."""
    protocol, agents, settings = CASES[case]
    models = [Model(f"m{k}", "fake/model", parameters=k * 1e9, tokens=1e12) for k in range(1, 5)]
    personas = ["checks every step twice", None, None, None]
    names = list(ANSWERS)[:agents]
    team = tuple(Agent(name, model, persona) for name, model, persona in zip(names, models, personas, strict=False))
    method = resolve(
        load_protocol(protocol), MethodChoice("methods.tried", parse(settings, "tried.yaml"), team, tools=TOOLS)
    )
    if any(step.material.get("pool") for step in method.steps.values()):
        method = with_pool(method, PASSAGES)
    talk = Talk(method)
    ports = Ports(talk.ask, talk.render, AnswerReader(kind_named("number")), Embedder())
    return method, asyncio.run(run_debate(method, QUESTION, ports, seed=7, replicate=1)), talk.prompts


def _written(case: str) -> str:
    protocol, _, settings = CASES[case]
    _, found, prompts = made_up(case)
    assert len(prompts) == len(found.turns)
    pages = [f"{protocol} {settings}\n"]
    for turn, messages in zip(found.turns, prompts, strict=True):
        parts = [f"turn {turn.turn}", f"round {turn.round}", turn.step, turn.speaker]
        parts += [f"about {turn.about}"] if turn.about else []
        parts += [f"hears {' '.join(map(str, turn.heard)) or 'nobody'}"]
        parts += [f"own {' '.join(map(str, turn.recalled))}"] if turn.recalled else []
        said = "\n".join(f"<{message['role']}>\n{message['content']}" for message in messages)
        pages.append(f"{'=' * 20} {', '.join(parts)}\n{said}\n")
    return "\n".join(pages)


@pytest.mark.parametrize("case", CASES)
def test_every_prompt_is_as_it_was_read(case: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN / "prompts" / f"{case}.txt", _written(case))


def test_every_built_in_protocol_and_template_is_among_them() -> None:
    assert {protocol for protocol, _, _ in CASES.values()} == set(builtin_names())
    assert {path.stem for path in (GOLDEN / "prompts").glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if "quote: answer" not in CASES[case][2]])
def test_a_prompt_holds_the_turns_that_the_record_says_and_no_others(case: str) -> None:
    """Told from the texts: the words of each turn stand in the prompts of those that heard it, and in no others."""
    _, found, prompts = made_up(case)
    for turn, messages in zip(found.turns, prompts, strict=True):
        text = messages[-1]["content"]
        # Who follows says another's words: what was shown is told from them, and not from who said them first.
        shown = {_mark(found.turns[number]) for number in (*turn.heard, *turn.recalled)}
        for mark in filter(None, map(_mark, found.turns[: turn.turn])):
            assert (mark in text) == (mark in shown), (turn, mark)


def _mark(turn: Turn) -> str:
    """Return the line that nobody but the author of a turn writes; none where it has no words of its own."""
    line = turn.text.splitlines()[-1 if turn.reads == "summary" else 0]
    return line if line.startswith("(") else ""


@pytest.mark.parametrize("protocol", builtin_names())
def test_explain_draws_every_protocol(
    protocol: str, golden: Callable[[Path, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", protocol]) == 0
    golden(GOLDEN / "explain" / f"{protocol}.txt", capsys.readouterr().out)
