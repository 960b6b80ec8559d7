"""A protocol explained: its schedule, and who hears whom, turn by turn, in a rehearsed debate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from typing import Any

from cortexdsl.debate.engine import debate
from cortexdsl.debate.roles import choices, parts, principal_roles
from cortexdsl.errors import DebateError
from cortexdsl.plan.rehearsal.conditions import without_effect
from cortexdsl.plan.rehearsal.estimate import Agreeing, Rehearsal, keeps_a_number, known_choices, longest
from cortexdsl.plan.rehearsal.notes import notes
from cortexdsl.plan.rehearsal.wording import (
    confidence_in_words,
    decision_in_words,
    schedule_lines,
    step_in_words,
)
from cortexdsl.records.headings import headings
from cortexdsl.terms import (
    NEVER,
    STATED,
    Choose,
    Debate,
    Item,
    Message,
    Method,
    Question,
    Repeat,
    SitePlace,
    Turn,
)

QUESTION = Question("example", "What is 1+1?")


def explain(method: Method, *, draws: str = "") -> str:
    """Explain a method: steps, schedule, and the listening trace of a debate in which nobody agrees.

    If its number of draws follows from another cell's records, `draws` says how. Words that have no effect in made-up
    debates are listed as warnings.

    In the trace every turn has a number; `hears 0 2` are the earlier turns of others that its prompt contains, and
    `own 1` the speaker's own.
    """
    debated = rehearsed(method)
    ineffective = without_effect(method)
    never = {each.place for each in ineffective if each.is_never}
    beside = [f"  {note}" for note in notes(method, debated, _agreed(method), never)]
    lines = [
        f"protocol {method.protocol}",
        *([f"  who debates: {', '.join(method.debaters)}"] if method.debaters else []),
        *(f"  {role}: {', '.join(agent.name for agent in agents)}" for role, agents in method.cast.items()),
        *([f"  draws: {draws}"] if draws else []),
        "steps",
        *(f"  {step.name}: {step_in_words(step)}" for step in method.steps.values()),
        "schedule",
        *schedule_lines(method.schedule, "  "),
        *([f"  at most {method.rounds_cap} rounds of answers"] if method.rounds_cap else []),
        f"decide: {decision_in_words(method)}",
        *([f"confidence: {confidence_in_words(method.confidence)}"] if method.confidence != STATED else []),
        f"calls: {calls_of(debated)} at most" + fewer(method, never),
        *(["warnings", *(f"  {each.what}\n    {each.remedy}" for each in ineffective)] if ineffective else []),
        "who hears whom (numbers are turns; replies are made up, so graphs that depend on them are examples)",
        *listening_trace(debated, "  ", silent=partial(_silent, method)),
        *(["what other replies change", *beside] if beside else []),
    ]
    return "\n".join(lines)


def calls_of(debated: Debate) -> int:
    """Count the calls of a debate, with those that measured confidences."""
    return sum(1 + len(turn.asides) for turn in debated.turns)


def _agreed(method: Method) -> Debate | None:
    try:
        return rehearsed(method, agrees=True)
    except DebateError:
        return None


def rehearsed(method: Method, *, agrees: bool = False) -> Debate:
    """Run a method on an example question with made-up replies: nobody agrees, every loop runs its full length.

    Where `agrees`, all agree and are sure, every judge is content, and loops end as they are written to.
    """
    method, hands = longest(method, ends=agrees), Agreeing if agrees else Rehearsal

    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        str(view)  # whatever reaches the speaker is taken for shown
        # Made-up replies follow from the prompt: nothing in it may change with what else a view comes to hold.
        whose = f"{prompt} {view['agent']['name']} {view['round']} {view['about']}"
        return ({"role": "user", "content": whose},)

    work = debate(method, QUESTION, hands(render).hands(), seed=0, replicate=1)
    with ThreadPoolExecutor(1) as thread:  # a plan may be compiled where a loop runs already
        return thread.submit(asyncio.run, work).result()


def listening_trace(
    debated: Debate, indent: str = "", silent: Callable[[str, Sequence[Turn]], str] = lambda step, turns: ""
) -> Iterator[str]:
    """Write who heard which turns: one line a turn under the step that it is of; `silent` says who said nothing."""
    heads = headings(debated.turns)
    for execution, group in groupby(debated.turns, key=lambda turn: turn.execution):
        turns = list(group)
        yield f"{indent}{heads[execution]}{silent(turns[0].step, turns)}"
        for turn in turns:
            yield f"{indent}  {turn.turn:>3} {_turn(turn)}"


def _silent(method: Method, step: str, turns: Sequence[Turn]) -> str:
    """Say who plays a chosen role by the protocol, and was not chosen."""
    role = method.steps[step].role
    if role not in {part.role for part in choices(method.schedule)}:
        return ""
    spoke = {turn.speaker for turn in turns}
    names = [agent.name for agent in method.cast.get(role, ()) if agent.name not in spoke]
    why = "not in the debate" if role in principal_roles(method) else "silent"
    return f" ({why}: {', '.join(names)})" if names else ""


def _turn(turn: Turn) -> str:
    parts = [turn.speaker]
    if turn.about is not None:
        parts.append(f"about {turn.about}")
    parts.append(f"hears {' '.join(map(str, turn.heard))}" if turn.heard else "hears nobody")
    if turn.recalled:
        parts.append(f"own {' '.join(map(str, turn.recalled))}")
    return ", ".join(parts)


def fewer(method: Method, never: Collection[SitePlace] = ()) -> str:
    """Say why a debate may have fewer calls than the rehearsed one; empty if it cannot.

    Conditions at the places in `never` end nothing.
    """
    loops = [part for part in parts(method.schedule) if isinstance(part, Repeat)]
    ends = any(
        text != NEVER and (word, loop) not in never
        for loop in loops
        for word, text in (("until", loop.until), ("unless", loop.unless))
    )
    speak = {step.role for step in method.steps.values()}.union(principal_roles(method))
    harmless = {part for part in choices(method.schedule) if keeps_a_number(part) or part.role not in speak}
    silent = _silences(method.schedule, known_choices(method) | harmless)
    why = [*(["a loop ends early"] if ends else []), *(["a choice silences somebody"] if silent else [])]
    return f" (fewer where {' or '.join(why)})" if why else ""


def _silences(schedule: Sequence[Item], known: Collection[Choose], *, goes_on: bool = False) -> bool:
    """Tell whether a step comes after a choice that is not the same in every debate; a loop comes to its own again."""
    for place, part in enumerate(schedule):
        later = goes_on or any(isinstance(item, str) for item in parts(schedule[place + 1 :]))
        if isinstance(part, Choose) and part not in known and later:
            return True
        if isinstance(part, Repeat) and _silences(part.body, known, goes_on=later or part.times > 1):
            return True
    return False
