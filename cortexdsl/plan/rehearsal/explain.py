"""A protocol explained: its schedule, and its graphs, turn by turn, in a rehearsed debate."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from cortexdsl.core import (
    BY_VOTES,
    KEEP_TRUE,
    NEVER,
    STATED,
    Cell,
    Choose,
    Debate,
    Graph,
    Keep,
    Message,
    Method,
    Question,
    Repeat,
    SchedulePart,
    SitePlace,
    Sparse,
    Step,
    Turn,
)
from cortexdsl.engine.methods import principal_roles, schedule_parts, scheduled_choices, scheduled_steps
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import DebateError
from cortexdsl.metrics.budgets import longest_chain
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.numbers import counted
from cortexdsl.plan.rehearsal.conditions import without_effect
from cortexdsl.plan.rehearsal.estimate import AgreeingRehearsal, Rehearsal
from cortexdsl.plan.rehearsal.full_length import (
    full_length,
    keeps_a_number,
    keeps_everybody,
    known_choices,
    template_roles,
)
from cortexdsl.plan.rehearsal.wording import (
    about_or_for,
    choice_in_words,
    confidence_in_words,
    debate_confidence_in_words,
    decision_in_words,
    defer_in_words,
    plain_expression,
    schedule_lines,
    step_in_words,
)
from cortexdsl.records.text import headings


def trace_notes(
    method: Method, debated: Debate, agreed: Debate | None, never: Collection[SitePlace] = ()
) -> Iterator[str]:
    """Yield notes on a rehearsed debate: ties that its replies cause, and steps that other replies lead to.

    Parameters
    ----------
    method : Method
        As written.
    debated : Debate
        No agents agree, and every loop runs its full length.
    agreed : Debate or None
        All agents agree with high confidence, every judge is content, and conditions hold as written; None if a weight
        is not a number for such replies.
    never : collection of SitePlace
        Places of conditions that are never true.
    """
    yield from _branches(method, debated, agreed, never)
    yield from _choices(method)
    for step in dict.fromkeys(graph.step for graph in debated.graphs if graph.weight is not None):
        hears = method.steps[step].hears
        if not isinstance(hears, Sparse) or hears.keep == Keep("all"):
            continue
        if all(_is_tied(graph) for graph in debated.graphs if graph.step == step):
            why = (
                f"the condition ({plain_expression(hears.weight)}) has the same result for all of them"
                if hears.keep == KEEP_TRUE
                else "all of them have the same weight"
            )
            yield (
                f"step {step}: here a listener hears everybody that it could hear, or nobody, because {why}; "
                "in a real debate it may hear only some"
            )
    if debated.was_tied:
        by_debaters = method.decide.rule == "weighted"
        most = "the most debaters" if by_debaters else "the highest sum of confidences"
        outcome = f"the answer with {most} wins; if several have it, chance decides"
        outcome = "there is no answer" if debated.answer is None else outcome
        yield f"the vote is tied here, because all answers differ: {outcome}"


def _branches(method: Method, debated: Debate, agreed: Debate | None, never: Collection[SitePlace]) -> Iterator[str]:
    """Yield which steps are not in every debate, and the steps if all agree.

    Conditions at the places in `never` skip nothing.
    """
    drawn = {turn.step for turn in debated.turns}
    conditions = _conditions(method.schedule, never)
    for step in dict.fromkeys(scheduled_steps(_passed(method.schedule))):
        why = " or if ".join(map(plain_expression, conditions.get(step, ())))
        if step not in drawn:
            yield f"step {step} has no turns here{f': it is skipped if {why}' if why else ''}"
        elif why:
            yield f"step {step} is not in every debate: it is skipped if {why}"
    if agreed is not None and _order(agreed) != _order(debated):
        yield f"if all agree with high confidence from the start, the steps are: {_order(agreed)}"


def _passed(schedule: Sequence[SchedulePart]) -> tuple[SchedulePart, ...]:
    """Return a schedule without its loops of 0 times, which no reply can start."""
    kept = (part for part in schedule if not isinstance(part, Repeat) or part.times)
    return tuple(replace(part, body=_passed(part.body)) if isinstance(part, Repeat) else part for part in kept)


def _order(debated: Debate) -> str:
    """List the steps in the order of the debate."""
    steps = [next(turns).step for _, turns in groupby(debated.turns, key=lambda turn: turn.execution)]
    counted = [(step, len(list(same))) for step, same in groupby(steps)]
    return ", ".join(f"{step} x{times}" if times > 1 else step for step, times in counted)


def _conditions(
    schedule: Sequence[SchedulePart], never: Collection[SitePlace], above: tuple[str, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the conditions that skip a step, of steps that are always under a condition: the fewest of each."""
    fewest: dict[str, tuple[str, ...]] = {}
    for part in schedule:
        if isinstance(part, Repeat):
            is_passed = part.unless != NEVER and ("unless", part) not in never
            inner = _conditions(part.body, never, (*above, part.unless) if is_passed else above)
        else:
            inner = {part: above} if isinstance(part, str) else {}
        for step, conditions in inner.items():
            fewest[step] = min(fewest.get(step, conditions), conditions, key=len)
    return fewest


def _choices(method: Method) -> Iterator[str]:
    """Yield the choices whose result depends on replies."""
    known: Collection[object] = known_choices(method)
    drawn = _drawn_choices(method)
    for part in dict.fromkeys(scheduled_choices(method.schedule)):
        choice = f"choose {part.role} ({choice_in_words(part)})"
        if part in drawn:
            real = "fewer" if drawn[part] == _ALL else "others"
            yield f"{choice}: this drawing has {drawn[part]}; a real debate may have {real}"
        elif part not in known and keeps_everybody(part) and part.order:
            yield f"{choice}: in a real debate the order depends on the weights"


_ALL = "all candidates"


def _drawn_choices(method: Method) -> dict[Choose, str]:
    """Return the agents in the drawing of each choice that other replies may decide otherwise."""
    known: Collection[object] = known_choices(method)
    only_templates = template_roles(method)
    return {
        part: "only the first agent" if part.role in only_templates else _ALL
        for part in scheduled_choices(method.schedule)
        if part not in known and (part.role in only_templates or not (keeps_a_number(part) or keeps_everybody(part)))
    }


def _is_tied(graph: Graph) -> bool:
    """Return whether some listener has two candidates, and all candidates of a listener have equal weights."""
    columns = [column[~np.isnan(column)] for column in np.asarray(graph.weight).T]
    several = [column for column in columns if len(column) > 1]
    return bool(several) and all(np.ptp(column) <= 1e-9 * max(1.0, np.abs(column).max()) for column in several)


QUESTION = Question("example", "What is 1+1?")


def explain(method: Method, *, draws: str = "") -> str:
    """Explain a method: steps, schedule, and the listening trace of a debate without agreement.

    If its number of draws follows from another cell's records, `draws` says how. Words that have no effect in simulated
    debates are listed as warnings.

    In the trace every turn has a number; `hears 0 2` are the earlier turns of others in its prompt, and `own 1` is the
    speaker's own turn.
    """
    debated = rehearse_example(method)
    ineffective = without_effect(method)
    never = {each.place for each in ineffective if each.is_never}
    remarks = [f"  {note}" for note in trace_notes(method, debated, _agreed(method), never)]
    lines = [
        f"protocol {method.protocol}",
        *([f"  who debates: {', '.join(method.debaters)}"] if method.debaters else []),
        *(f"  {role}: {', '.join(agent.name for agent in agents)}" for role, agents in method.role_agents.items()),
        *([f"  draws: {draws}"] if draws else []),
        "steps",
        *(
            f"  {step.name}: {step_in_words(step, _about_listener(method, debated, step.name))}"
            for step in method.steps.values()
        ),
        "schedule" + (f" ({_cap_in_words(method.rounds_cap)})" if method.rounds_cap else ""),
        *schedule_lines(method.schedule, "  ", _drawn_choices(method)),
        f"decide: {decision_in_words(method)}",
        *([f"confidence: {confidence_in_words(method.confidence)}"] if method.confidence != STATED else []),
        *([f"debate_confidence: {debate_confidence_in_words(method)}"] if _is_measured(method) else []),
        *([f"defer: {defer_in_words(method.defer)}"] if method.defer else []),
        f"calls: {calls_of(debated)} at most" + why_fewer_calls(method, never),
        *(["warnings", *(f"  {each.what}\n    {each.remedy}" for each in ineffective)] if ineffective else []),
        "who hears whom (numbers are turns; replies are invented, so other replies may lead to other graphs)",
        *listening_trace(method, debated, "  "),
        *(["what other replies change", *remarks] if remarks else []),
    ]
    return "\n".join(lines)


def _cap_in_words(rounds: int) -> str:
    return (
        f"loops end after at most {counted(rounds, 'round')} of answers, the opening included, even if steps are left"
    )


def _is_measured(method: Method) -> bool:
    return method.debate_confidence != BY_VOTES or method.defer is not None


def calls_of(debated: Debate) -> int:
    """Count the calls of a debate, including those that measured confidences."""
    return len(list(debate_calls(debated)))


def _agreed(method: Method) -> Debate | None:
    try:
        return rehearse_example(method, agrees=True)
    except DebateError:
        return None


def rehearse_example(method: Method, *, agrees: bool = False) -> Debate:
    """Run a method on an example question with made-up replies: no agents agree, every loop runs its full length.

    With `agrees`, all agents agree with high confidence, every judge is content, and loops end by their conditions.
    """
    method, ports = full_length(method, ends=agrees), AgreeingRehearsal if agrees else Rehearsal

    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        str(view)  # everything that reaches the speaker counts as shown
        # Made-up replies follow from the prompt: it must not change if views get more content in later versions.
        whose = f"{prompt} {view['agent']['name']} {view['round']} {view['about']}"
        return ({"role": "user", "content": whose},)

    work = run_debate(method, QUESTION, ports(render).ports(), seed=0, replicate=1)
    with ThreadPoolExecutor(1) as thread:  # a plan may be compiled inside a running event loop
        return thread.submit(asyncio.run, work).result()


def _about_listener(method: Method, debated: Debate, step: str) -> Sequence[Step]:
    """Return the steps from which a step was shown turns about, or for, the agent that heard them."""
    heard = (
        debated.turns[number].step
        for turn in debated.turns
        if turn.step == step
        for number in turn.heard
        if debated.turns[number].about == (turn.about or turn.speaker)
    )
    return [method.steps[name] for name in dict.fromkeys(heard)]


def listening_trace(method: Method, debated: Debate, indent: str = "") -> Iterator[str]:
    """Yield who heard which turns: one line a turn under its step, which names agents that are silent."""
    heads = headings(debated.turns)
    for execution, group in groupby(debated.turns, key=lambda turn: turn.execution):
        turns = list(group)
        yield f"{indent}{heads[execution]}{_silent(method, turns[0].step, turns)}"
        for turn in turns:
            yield f"{indent}  {turn.turn:>3} {_turn(turn, method.steps[turn.step])}"


def _silent(method: Method, step: str, turns: Sequence[Turn]) -> str:
    """Return a clause on the agents of a chosen role that were not chosen; empty if there are none."""
    role = method.steps[step].role
    if role not in {part.role for part in scheduled_choices(method.schedule)}:
        return ""
    spoke = {turn.speaker for turn in turns}
    names = [agent.name for agent in method.role_agents.get(role, ()) if agent.name not in spoke]
    why = "not in the debate" if role in principal_roles(method) else "silent"
    return f" ({why}: {', '.join(names)})" if names else ""


def _turn(turn: Turn, step: Step) -> str:
    parts = [turn.speaker]
    if turn.about is not None:
        parts.append(f"{about_or_for(step)} {turn.about}")
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


def why_fewer_calls(method: Method, never: Collection[SitePlace] = ()) -> str:
    """Return why a debate may have fewer calls than the rehearsed one; empty if it cannot.

    Conditions at the places in `never` end nothing.
    """
    loops = [part for part in schedule_parts(method.schedule) if isinstance(part, Repeat)]
    ends = any(
        text != NEVER and (word, loop) not in never
        for loop in loops
        for word, text in (("until", loop.until), ("unless", loop.unless))
    )
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
