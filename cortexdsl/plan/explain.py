"""A protocol explained: its schedule, and who hears whom, turn by turn, in a rehearsed debate."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import groupby

from cortexdsl.debate.engine import debate
from cortexdsl.plan.estimate import Rehearsal
from cortexdsl.terms import Debate, Message, Method, OfRole, Question, Repeat, Sparse, Step, Topology, Turn

QUESTION = Question("example", "What is 1+1?")


def explain(method: Method) -> str:
    """Explain a method: steps, schedule, and the listening trace of a debate in which nobody agrees.

    In the trace every turn has a number; `hears 0 2` are the earlier turns of others that its prompt contains, and
    `own 1` the speaker's own.
    """
    debated = rehearsed(method)
    lines = [
        f"protocol {method.protocol}",
        *(f"  {role}: {', '.join(agent.name for agent in agents)}" for role, agents in method.cast.items()),
        "steps",
        *(f"  {step.name}: {_step(step)}" for step in method.steps.values()),
        "schedule",
        *_schedule(method.schedule, "  "),
        *([f"  at most {method.rounds_cap} rounds of answers"] if method.rounds_cap else []),
        f"decide: {method.decide.rule}{f' ({method.decide.role})' if method.decide.role else ''}",
        f"calls: {len(debated.turns)} at most" + (" (fewer where a loop ends early)" if _ends_early(method) else ""),
        "who hears whom (numbers are turns; replies are made up, so graphs that depend on them are examples)",
        *listening_trace(debated, "  "),
    ]
    return "\n".join(lines)


def rehearsed(method: Method) -> Debate:
    """Run a method on an example question with made-up replies: nobody agrees, every loop runs its full length."""

    def render(prompt: str, view: object) -> tuple[Message, ...]:
        return ({"role": "user", "content": f"{prompt} {view}"},)

    work = debate(method, QUESTION, Rehearsal(render).hands(), seed=0, replicate=1)
    with ThreadPoolExecutor(1) as thread:  # a plan may be compiled where a loop runs already
        return thread.submit(asyncio.run, work).result()


def listening_trace(debated: Debate, indent: str = "") -> Iterator[str]:
    """Write who heard which turns: one line a turn, grouped by round and step."""
    for (round_, step), turns in groupby(debated.turns, key=lambda turn: (turn.round, turn.step)):
        yield f"{indent}round {round_}, {step}"
        for turn in turns:
            yield f"{indent}  {turn.turn:>3} {_turn(turn)}"


def _turn(turn: Turn) -> str:
    parts = [turn.speaker]
    if turn.about is not None:
        parts.append(f"about {turn.about}")
    parts.append(f"hears {' '.join(map(str, turn.heard))}" if turn.heard else "hears nobody")
    if turn.recalled:
        parts.append(f"own {' '.join(map(str, turn.recalled))}")
    return ", ".join(parts)


def _step(step: Step) -> str:
    parts = [f"{step.role} hears {_topology(step.hears)}", f"reads {step.reads}", _prompts(step)]
    if step.tells != ("latest",):
        parts.insert(1, f"told {', '.join(step.tells)}")
    if step.own != "none":
        parts.insert(1, f"own {step.own}")
    if step.each != "speaker":
        parts.insert(1, f"one call for each {step.each}")
    if step.draws > 1:
        parts.insert(1, f"{step.draws} draws")
    if step.order == "sequential":
        parts.insert(1, "one after the other")
    return "; ".join(parts)


def _prompts(step: Step) -> str:
    named = [f"{agent}: {prompt}" for agent, prompt in step.by_agent.items()]
    return ", ".join([step.prompt, *named]) if named else step.prompt


def _topology(hears: Topology) -> str:
    if isinstance(hears, Sparse):
        number = "" if hears.keep.number is None else f" {hears.keep.number:g}"
        return f"sparse: weight {hears.weight}, keep {hears.keep.rule}{number}"
    values = [getattr(hears, field.name) for field in fields(hears)]
    shown = ", ".join(
        " and ".join(map(str, value)) if isinstance(hears, OfRole) else str(value)
        for value in values
        if value not in ((), {})
    )
    word = {"OfRole": "role", "RandomEdges": "random"}.get(type(hears).__name__, type(hears).__name__.lower())
    return f"{word}{f' {shown}' if shown else ''}"


def _schedule(schedule: Sequence[str | Repeat], indent: str) -> Iterator[str]:
    for part in schedule:
        if isinstance(part, str):
            yield f"{indent}{part}"
            continue
        conditions = [f"unless {part.unless}"] if part.unless != "never" else []
        conditions += [f"until {part.until}"] if part.until != "never" else []
        yield f"{indent}repeat {part.times} times{''.join(f', {c}' for c in conditions)}:"
        yield from _schedule(part.body, indent + "  ")


def _ends_early(method: Method) -> bool:
    def early(schedule: Sequence[str | Repeat]) -> bool:
        return any(
            isinstance(part, Repeat) and (part.until != "never" or part.unless != "never" or early(part.body))
            for part in schedule
        )

    return early(method.schedule)
