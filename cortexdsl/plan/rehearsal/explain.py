"""A method explained: as it was resolved, in YAML, and its graphs, turn by turn, in a rehearsed debate."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any

import yaml

from cortexdsl.core import NEVER, Cell, Choose, Debate, Message, Method, Question, Repeat, SchedulePart, Turn
from cortexdsl.engine.methods import principal_roles, schedule_parts, scheduled_choices
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import SpecError
from cortexdsl.metrics.budgets import longest_chain
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.plan.rehearsal.estimate import Rehearsal
from cortexdsl.plan.rehearsal.full_length import full_length, keeps_a_number, keeps_everybody, known_choices
from cortexdsl.plan.rehearsal.values import method_values
from cortexdsl.records.text import headings
from cortexdsl.templates.templates import Templates

QUESTION = Question("example", "What is 1+1?")
_FORMATS = {"answer_format": "Answer: <a number>", "belief_format": "Belief: <a number for each answer>"}
_WIDTH = 110


def explain(method: Method, *, draws: str = "", templates: Templates | None = None) -> str:
    """Explain a method: its parts as YAML, and who hears whom in a debate without agreement.

    Every turn has a number; `hears 0 2` are the earlier turns of others in its prompt, and `own 1` is the speaker's
    own turn.

    Parameters
    ----------
    method : Method
    draws : str
        How the number of draws follows from another cell's records, if it does.
    templates : Templates or None
        Those of the method: then only turns whose words a template writes count as heard.
    """
    debated = rehearse_example(method, templates)
    values = {**method_values(method), **({"draws": draws} if draws else {})}
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, allow_unicode=True, width=_WIDTH)
    lines = [
        f"calls: {calls_of(debated)} at most" + why_fewer_calls(method),
        "who hears whom (numbers are turns; replies are invented, so other replies may lead to other graphs)",
        *listening_trace(method, debated, "  "),
    ]
    return text + "\n".join(lines)


def calls_of(debated: Debate) -> int:
    """Count the calls of a debate, including those that measured confidences."""
    return len(list(debate_calls(debated)))


def rehearse_example(method: Method, templates: Templates | None = None) -> Debate:
    """Run a method on an example question with made-up replies: no agents agree, every loop runs its full length.

    Without `templates`, or if one cannot be rendered without a dataset, everything that reaches a speaker counts as
    shown.
    """

    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        try:
            _ = str(view) if templates is None else templates.render(prompt, {**view, **_FORMATS})
        except SpecError:
            str(view)
        # Made-up replies follow from the prompt: it must not change if views get more content in later versions.
        whose = f"{prompt} {view['agent']['name']} {view['round']} {view['about']}"
        return ({"role": "user", "content": whose},)

    work = run_debate(full_length(method), QUESTION, Rehearsal(render).ports(), seed=0, replicate=1)
    with ThreadPoolExecutor(1) as thread:  # a plan may be compiled inside a running event loop
        return thread.submit(asyncio.run, work).result()


def listening_trace(method: Method, debated: Debate, indent: str = "") -> Iterator[str]:
    """Yield who heard which turns: one line a turn under its step, which names agents that are silent."""
    heads = headings(debated.turns)
    for execution, group in groupby(debated.turns, key=lambda turn: turn.execution):
        turns = list(group)
        yield f"{indent}{heads[execution]}{_silent(method, turns[0].step, turns)}"
        for turn in turns:
            yield f"{indent}  {turn.turn:>3} {_turn(turn, method.steps[turn.step].each)}"


def _silent(method: Method, step: str, turns: Sequence[Turn]) -> str:
    """Return a clause on the agents of a chosen role that were not chosen; empty if there are none."""
    role = method.steps[step].role
    if role not in {part.role for part in scheduled_choices(method.schedule)}:
        return ""
    spoke = {turn.speaker for turn in turns}
    names = [agent.name for agent in method.role_agents.get(role, ()) if agent.name not in spoke]
    why = "not in the debate" if role in principal_roles(method) else "silent"
    return f" ({why}: {', '.join(names)})" if names else ""


def _turn(turn: Turn, each: str) -> str:
    parts = [turn.speaker]
    if turn.about is not None:
        parts.append(f"{'for' if each == 'listener' else 'about'} {turn.about}")
    parts.append(f"hears {' '.join(map(str, turn.heard))}" if turn.heard else "hears nobody")
    if turn.placebos:
        parts.append(f"shown instead: {_instead(turn)}")
    if turn.recalled:
        parts.append(f"own {' '.join(map(str, turn.recalled))}")
    return ", ".join(parts)


def _instead(turn: Turn) -> str:
    """Return what a prompt showed instead of turns: each kind of placebo with the turns that it replaced."""
    kinds: dict[str, list[str]] = {}
    for placebo in turn.placebos:
        kinds.setdefault(placebo.kind, []).append(str(placebo.turn))
    return ", ".join(f"{kind} for {' '.join(turns)}" for kind, turns in kinds.items())


def why_fewer_calls(method: Method) -> str:
    """Return why a debate may have fewer calls than the rehearsed one; empty if it cannot."""
    loops = [part for part in schedule_parts(method.schedule) if isinstance(part, Repeat)]
    ends = any(text != NEVER for loop in loops for text in (loop.until, loop.unless))
    speak = {step.role for step in method.steps.values()}.union(principal_roles(method))
    harmless = {
        part
        for part in scheduled_choices(method.schedule)
        if keeps_a_number(part) or keeps_everybody(part) or part.role not in speak
    }
    silent = _silences(method.schedule, known_choices(method) | harmless)
    why = [*(["a loop ends early"] if ends else []), *(["fewer agents are chosen"] if silent else [])]
    why += ["the debate is sure enough"] if method.defer else []
    return f" (fewer if {' or '.join(why)})" if why else ""


def _silences(schedule: Sequence[SchedulePart], known: Collection[Choose], *, goes_on: bool = False) -> bool:
    """Return whether a step follows a choice that is not the same in every debate; loops repeat their own steps."""
    for place, part in enumerate(schedule):
        later = goes_on or any(isinstance(item, str) for item in schedule_parts(schedule[place + 1 :]))
        if isinstance(part, Choose) and part not in known and later:
            return True
        if isinstance(part, Repeat) and _silences(part.body, known, goes_on=later or part.times > 1):
            return True
    return False


def fixed_counts(cell: Cell) -> dict[str, float]:
    """Return the rounds, calls and depth of every debate of a cell, if the plan fixes them.

    It does if no loop ends early and no choice removes an agent. The result is empty for a cell whose number of draws
    follows from another cell's records, and for one that uses tools or measures confidences, as the number of calls
    then depends on the replies.
    """
    method = cell.debate
    if (
        cell.match
        or method.defer
        or why_fewer_calls(method)
        or any(agent.model.is_tool for role_agents in method.role_agents.values() for agent in role_agents)
    ):
        return {}
    example = rehearse_example(method)
    if any(turn.asides for turn in example.turns):
        return {}
    depth = longest_chain(example.turns, lambda call: 1.0)
    return {"rounds": float(example.rounds), "calls": float(calls_of(example)), "depth": depth}
