"""A protocol explained: its schedule, and who hears whom, turn by turn, in a rehearsed debate."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from itertools import groupby
from typing import Any

from cortexdsl.debate.engine import debate
from cortexdsl.debate.roles import choices, parts, principal_roles
from cortexdsl.errors import DebateError
from cortexdsl.plan.rehearsal.estimate import Agreeing, Rehearsal, keeps_a_number, known_choices, longest
from cortexdsl.plan.rehearsal.notes import notes
from cortexdsl.records.headings import headings
from cortexdsl.terms import (
    NEVER,
    STATED,
    Choose,
    Debate,
    Everyone,
    Item,
    Keep,
    Measure,
    Message,
    Method,
    OfRole,
    Question,
    Repeat,
    Sparse,
    Step,
    Told,
    Topology,
    Turn,
)

QUESTION = Question("example", "What is 1+1?")


def explain(method: Method) -> str:
    """Explain a method: steps, schedule, and the listening trace of a debate in which nobody agrees.

    In the trace every turn has a number; `hears 0 2` are the earlier turns of others that its prompt contains, and
    `own 1` the speaker's own.
    """
    debated = rehearsed(method)
    beside = [f"  {note}" for note in notes(method, debated, _agreed(method))]
    lines = [
        f"protocol {method.protocol}",
        *([f"  who debates: {', '.join(method.debaters)}"] if method.debaters else []),
        *(f"  {role}: {', '.join(agent.name for agent in agents)}" for role, agents in method.cast.items()),
        "steps",
        *(f"  {step.name}: {_step(step)}" for step in method.steps.values()),
        "schedule",
        *_schedule(method.schedule, "  "),
        *([f"  at most {method.rounds_cap} rounds of answers"] if method.rounds_cap else []),
        f"decide: {_decision(method)}",
        *([f"confidence: {_confidence(method.confidence)}"] if method.confidence != STATED else []),
        f"calls: {sum(1 + len(turn.asides) for turn in debated.turns)} at most" + (_fewer(method)),
        "who hears whom (numbers are turns; replies are made up, so graphs that depend on them are examples)",
        *listening_trace(debated, "  ", silent=partial(_silent, method)),
        *(["what other replies change", *map(_bare, beside)] if beside else []),
    ]
    return "\n".join(lines)


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


def _step(step: Step) -> str:
    reads = " and ".join((step.reads, *step.beside))
    parts = [f"{step.role} hears {_topology(step.hears)}", f"reads {reads}", _prompts(step)]
    if step.tells != ("latest",):
        parts.insert(1, f"told {', '.join(map(_told, step.tells))}")
    if step.own != "none":
        parts.insert(1, f"own {_told(step.own)}")
    if step.each != "speaker":
        parts.insert(1, f"one call for each {step.each}{f' from {step.of}' if step.of else ''}")
    if step.draws > 1:
        parts.insert(1, f"{step.draws} draws")
    if step.order == "sequential":
        parts.insert(1, "one after the other")
    return "; ".join(parts)


def _prompts(step: Step) -> str:
    named = {**step.by_agent, **step.by_role}
    return ", ".join([_way(step, step.prompt), *(f"{who}: {_way(step, prompt)}" for who, prompt in named.items())])


def _way(step: Step, prompt: str) -> str:
    return f"{prompt} (said as it is written)" if prompt in step.said else prompt


def _topology(hears: Topology) -> str:
    if isinstance(hears, Sparse):
        within = "" if isinstance(hears.within, Everyone) else f", within {_topology(hears.within)}"
        return f"sparse: {_picked(hears.weight, hears.keep)}{within}"
    values = [getattr(hears, field.name) for field in fields(hears)]
    shown = ", ".join(
        " and ".join(map(str, value)) if isinstance(hears, OfRole) else str(value)
        for value in values
        if value not in ((), {})
    )
    word = {"OfRole": "role", "RandomEdges": "random"}.get(type(hears).__name__, type(hears).__name__.lower())
    return f"{word}{f' {shown}' if shown else ''}"


def _picked(weight: str, keep: Keep) -> str:
    weight = _bare(weight)
    if keep == Keep("above", 0.0):  # what `where` means
        return f"where {weight}"
    return f"weight {weight}, keep {keep.rule if keep.number is None else f'{keep.rule} {keep.number:g}'}"


def _chosen(weight: str, keep: Keep) -> str:
    """Say who is chosen."""
    weight = _bare(weight)
    match keep:
        case Keep("above", 0.0):  # what `where` means
            return f"where {weight}"
        case Keep("top", number):
            return f"the {number:g} with the highest {weight}"
        case Keep("drop_bottom", number):
            return f"all but the {number:g} with the lowest {weight}"
        case _:
            return _picked(weight, keep)


def _bare(expression: str) -> str:
    """Return an expression without the parentheses that a setting's number was put in."""
    return re.sub(r"(?<!\w)\((\d+(?:\.\d+)?)\)", r"\1", expression)


def _told(told: str | Told) -> str:
    if isinstance(told, str):
        return told
    last = "all" if told.last is None else "the last" if told.last == 1 else f"the last {told.last}"
    about, where = " about the one told" if told.about_me else "", f" where {_bare(told.where)}" if told.where else ""
    steps = (" and " if told.last is None else " or ").join(told.steps)  # the last time in any of them, not in each
    return f"{last} of {steps or 'all talk'}{about}{where}"


def _decision(method: Method) -> str:
    rule = method.decide
    by = f" ({rule.role})" if rule.role else f" by {_bare(rule.weight)}" if rule.rule == "vote" else ""
    otherwise = f", else {rule.otherwise}" if rule.otherwise != "none" else ""
    # A vote alone has ties.
    votes = rule.rule in _VOTES or rule.otherwise in _VOTES
    fallback = ", fallback none: no answer where all differ" if votes and rule.fallback == "none" else ""
    return f"{rule.rule}{by}{otherwise}{fallback}"


_VOTES = ("majority", "weighted", "vote")


def _schedule(schedule: Sequence[Item], indent: str) -> Iterator[str]:
    for part in schedule:
        if isinstance(part, Choose):
            among = f" among {part.source}" if part.source != part.role else " anew"
            yield f"{indent}choose {part.role}{among}: {_chosen(part.weight, part.keep)}"
            continue
        if isinstance(part, str):
            yield f"{indent}{part}"
            continue
        conditions = [f", unless {_bare(part.unless)}"] if part.unless != NEVER else []
        # After the last pass nothing is left to end.
        conditions += [f", until {_bare(part.until)}"] if part.until != NEVER and part.times > 1 else []
        yield f"{indent}{'once' if part.times == 1 else f'repeat {part.times} times'}{''.join(conditions)}:"
        yield from _schedule(part.body, indent + "  ")


def _confidence(how: Measure) -> str:
    match how.source:
        case "logprob":
            return "the probability of the answer's tokens"
        case "consistency":
            return f"the share of {how.samples} further replies to each answer's prompt that give the same"
        case _:
            who = "the agent's own model" if how.verifier is None else f"model {how.verifier.name}"
            return f"a score that {who} gives to each answer; {how.prompt}"


def _fewer(method: Method) -> str:
    """Say why a debate may have fewer calls than the rehearsed one."""
    ends = any(isinstance(part, Repeat) and {part.until, part.unless} != {NEVER} for part in parts(method.schedule))
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
