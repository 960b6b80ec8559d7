"""A method explained: as it was resolved, in YAML, and its graphs, turn by turn, in a rehearsed debate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from itertools import groupby
from typing import Any

import yaml

from cortexdsl.core import (
    ELSE,
    KEEP_TRUE,
    NAMED_BINS,
    NEVER,
    Agent,
    Cell,
    Choose,
    Debate,
    Decide,
    Keep,
    Message,
    Method,
    Model,
    OfRole,
    Question,
    Repeat,
    SchedulePart,
    Sparse,
    Step,
    Turn,
    TurnFilter,
)
from cortexdsl.engine.methods import principal_roles, schedule_parts, scheduled_choices
from cortexdsl.errors import SpecError
from cortexdsl.expressions.negation import negated
from cortexdsl.metrics.budgets import longest_chain
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.plan.rehearsal.estimate import Rehearsal, run_apart
from cortexdsl.plan.rehearsal.full_length import keeps_a_number, keeps_everybody, known_choices
from cortexdsl.records.text import headings
from cortexdsl.templates.templates import Templates

QUESTION = Question("example", "What is 1+1?")
_FORMATS = {"answer_format": "Answer: <a number>", "belief_format": "Belief: <a number for each answer>"}
_WIDTH = 110
LEGEND = "rows hear columns: # one turn, a digit so many, o only its own, ~ something else in its place, . nothing"


def explain(method: Method, *, samples: str = "", templates: Templates | None = None) -> str:
    """Explain a method: its parts as YAML, and who hears whom in a debate without agreement.

    Parameters
    ----------
    method : Method
    draws : str
        How the number of draws follows from another cell's records, if it does.
    templates : Templates or None
        Those of the method: then only turns whose words a template writes count as heard.
    """
    debated = rehearse_example(method, templates)
    values = {**method_values(method), **({"samples": samples} if samples else {})}
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, allow_unicode=True, width=_WIDTH)
    lines = [
        f"calls: {calls_of(debated)} at most" + why_fewer_calls(method),
        "who hears whom, in a debate with invented replies (others may lead to other graphs)",
        LEGEND,
        *listening_picture(method, debated),
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

    return run_apart(Rehearsal(render).debate(method, QUESTION, seed=0))


def listening_picture(method: Method, debated: Debate) -> Iterator[str]:
    """Yield who hears whom: for each step a matrix with a row for each turn and a column for each agent."""
    heads = headings(debated.turns)
    speakers = list(dict.fromkeys(turn.speaker for turn in debated.turns))
    drawn: dict[tuple[str, ...], str] = {}
    for execution, group in groupby(debated.turns, key=lambda turn: turn.execution):
        turns = list(group)
        head = f"{heads[execution]}{_silent(method, turns[0].step, turns)}"
        if not any(turn.heard or turn.recalled or turn.placebos for turn in turns):
            named = ", ".join(_row(turn, method) for turn in turns)
            yield f"{head}: {named}, {'each ' * (len(turns) > 1)}alone"
            continue
        names = [f"{speakers.index(turn.speaker) + 1} {_row(turn, method)}" for turn in turns]
        width = max(map(len, (heads[execution], *names)))
        marks = (" ".join(_marks(turn, debated, speakers)) for turn in turns)
        rows = tuple(f"  {name:<{width}}  {row}" for name, row in zip(names, marks, strict=True))
        if rows in drawn:
            yield f"{head}: as in {drawn[rows]}"
            continue
        drawn[rows] = heads[execution]
        numbers = " ".join(f"{number % 10}" for number in range(1, len(speakers) + 1))
        yield f"{head:<{width}}    {numbers}" if head == heads[execution] else f"{head}\n  {'':<{width}}  {numbers}"
        yield from rows


def _marks(turn: Turn, debated: Debate, speakers: Sequence[str]) -> Iterator[str]:
    """Yield what a speaker hears of each agent, as a character."""
    heard = Counter(debated.turns[number].speaker for number in turn.heard)
    instead = {debated.turns[placebo.turn].speaker for placebo in turn.placebos}
    for name in speakers:
        if heard[name]:
            yield "#" if heard[name] == 1 else f"{min(heard[name], 9)}"
        elif name in instead:
            yield "~"
        else:
            yield "o" if name == turn.speaker and turn.recalled else "."


def _silent(method: Method, step: str, turns: Sequence[Turn]) -> str:
    """Return a clause on the agents of a chosen role that were not chosen; empty if there are none."""
    role = method.steps[step].role
    if role not in {part.role for part in scheduled_choices(method.schedule)}:
        return ""
    spoke = {turn.speaker for turn in turns}
    names = [agent.name for agent in method.role_agents.get(role, ()) if agent.name not in spoke]
    why = "not in the debate" if role in principal_roles(method) else "silent"
    return f" ({why}: {', '.join(names)})" if names else ""


def _row(turn: Turn, method: Method) -> str:
    if turn.about is None:
        return turn.speaker
    return f"{turn.speaker} {'for' if method.steps[turn.step].each == 'listener' else 'about'} {turn.about}"


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
    why += ["agents use fewer tools"] if any(step.tools for step in method.steps.values()) else []
    why += ["there are fewer items"] if any(step.split for step in method.steps.values()) else []
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


def method_values(method: Method) -> dict[str, Any]:
    """Return the parts of a method that differ from their defaults."""
    values = {("roles" if name == "role_agents" else name): value for name, value in _fields(method).items()}
    values["roles"] = {role: _players(role, agents) for role, agents in method.role_agents.items()}
    if own := method.recalibration:
        bins = {bin.low: "keep" if bin.value is None else bin.value for bin in own}
        values["recalibration"] = next((name for name, known in NAMED_BINS.items() if known == own), bins)
    return values


def _players(role: str, agents: Sequence[Agent]) -> Any:
    """Return the agents of a role as a protocol writes them; one that only the protocol has, by its model or tool."""
    if agents and tuple(agents) == (Agent(role, agents[0].model),):
        return {"tool" if agents[0].model.is_tool else "model": agents[0].model.name}
    return [agent.name for agent in agents]


def _prompt(step: Step) -> Any:
    """Return the templates of a step as a protocol writes them."""

    def way(template: str) -> Any:
        return {"say": template} if template in step.said else template

    own = {name: way(template) for name, template in {**step.by_agent, **step.by_role}.items()}
    return (
        {"variants": [*step.variants]}
        if step.variants
        else {**own, ELSE: way(step.prompt)}
        if own
        else way(step.prompt)
    )


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a frozen value that differ from their defaults."""
    named = {}
    for field in fields(value):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        own = getattr(value, field.name)
        if own != default:
            named[field.name] = _expression(own) if field.name in _EXPRESSIONS else _plain(own)
    return named


_EXPRESSIONS = ("weight", "where")


def _expression(text: str) -> str:
    """Return an expression as the language documents it, without parentheses around the numbers of settings."""
    return re.sub(r"(?<!\w)\((\d+(?:\.\d+)?)\)", r"\1", text)


def _plain(value: Any) -> Any:
    if isinstance(value, Model | Agent):
        return value.name
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list | frozenset):  # a loop of no rounds, as settings can make one, is not there
        return [_plain(inner) for inner in value if not (isinstance(inner, Repeat) and inner.times == 0)]
    if isinstance(value, Keep):
        number = {value.rule: value.number} if value.number is not None else {}
        return number or value.rule
    if isinstance(value, Choose):
        source = {} if value.source == value.role else {"from": value.source}
        return {"choose": value.role, **source, **_picked(value)}
    if isinstance(value, Repeat):
        start = {} if value.unless == NEVER else {"if": _expression(negated(value.unless))}
        if value.times == 1 and start:
            return {**start, "do": _plain(value.body)}
        until = {} if value.until == NEVER else {"until": _expression(value.until)}
        return {"repeat": value.times, **start, **until, "do": _plain(value.body)}
    if isinstance(value, Sparse):
        within = _plain(value.within)
        return {**_picked(value), **({"topology": within} if within != "everyone" else {})}
    if isinstance(value, OfRole):
        return [*value.roles]
    if isinstance(value, TurnFilter):
        named = {("step" if name == "steps" else name): inner for name, inner in _fields(value).items()}
        return {name: "all" if inner is None else inner for name, inner in named.items()}
    if isinstance(value, Decide):
        return _decided(value)
    if isinstance(value, Step):
        reads = {"reads": [value.reads, *value.beside]} if value.beside else {}
        parts = ("name", "beside", "by_agent", "by_role", "said", "variants")
        named = {name: inner for name, inner in _fields(value).items() if name not in parts} | reads
        named["prompt"] = _prompt(value)
        if "order" in named:
            named = {"sequential" if name == "order" else name: inner for name, inner in named.items()}
            named["sequential"] = True
        if role := named.pop("of", ""):
            named["each"] = role
        if {*value.tools} == {ELSE}:
            named["tools"] = named["tools"][ELSE]
        material = named.pop("material", {})
        knowledge = {"knowledge": material.pop("pool")} if "pool" in material else {}
        return {**named, **({"with": material} if material else {}), **knowledge}
    if isinstance(value, Method):
        return method_values(value)
    if hasattr(value, "key"):  # a topology
        named = _fields(value)
        return {value.key: next(iter(named.values())) if len(named) == 1 else named} if named else value.key
    return _fields(value) if is_dataclass(value) else value


def _decided(decide: Decide) -> Any:
    """Return a decision as a protocol writes it."""
    if decide.rule == "trimmed":
        return "median" if decide.share == 0.5 else "mean"
    rule: Any = {"vote": _expression(decide.weight)} if decide.rule == "vote" else decide.rule
    tried = [decide.role, *filter(None, [decide.otherwise])] if decide.role else [rule]
    tried += ["none"] if decide.tie == "none" and tried[-1] != "none" else []
    return tried[0] if len(tried) == 1 else tried


def _picked(value: Choose | Sparse) -> dict[str, Any]:
    """Return how agents, or edges, are picked: by a condition, or by a weight and a rule."""
    weight = _expression(value.weight)
    return {"where": weight} if value.keep == KEEP_TRUE else {"weight": weight, "keep": _plain(value.keep)}
