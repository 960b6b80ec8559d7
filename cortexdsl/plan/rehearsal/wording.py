"""The parts of a method in words: a step, a schedule, a choice, a decision, a measured confidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from cortexdsl.core import (
    KEEP_TRUE,
    NEVER,
    Choose,
    Defer,
    Everyone,
    Groups,
    Keep,
    Measure,
    Method,
    OfRole,
    Ring,
    SchedulePart,
    Sparse,
    Step,
    Topology,
    TurnFilter,
)
from cortexdsl.engine.decisions import DECISION_RULES
from cortexdsl.expressions.spellings import as_documented

_PLACEBOS: Mapping[str, str] = {
    "other_question": "what they said about another question",
    "own": "its own last reply",
    "shuffled": "their words in another order",
    "same_length": "a further reply of its own, as long as theirs",
}


def step_in_words(step: Step, about_listener: Sequence[Step] = ()) -> str:
    """Describe a step: its role, its topology, what reaches the prompt, what is read, its templates.

    Of the turns in its prompts, those of the steps `about_listener` are about the listener, or for it.
    """
    reads = " and ".join((step.reads, *step.beside))
    hears = _topology(step.hears)
    if step.each == "group":
        hears = hears.replace("its group", "a group")
    parts = [f"{step.role} hears {hears}", f"reads {reads}", _prompts(step)]
    if step.tells != ("latest",):
        # Words first: "all turns of X, and latest" would say the latest turn of X.
        told = sorted(step.tells, key=lambda each: not isinstance(each, str))
        parts.insert(1, f"tells {', and '.join(_told(each, about_listener, _whom(step)) for each in told)}")
    if step.own != "none":
        parts.insert(1, f"own {_told(step.own)}")
    if step.each != "speaker":
        each = "debater" if step.each == "listener" else step.each
        parts.insert(1, f"one call for each {each}{f' from {step.of}' if step.of else ''}")
    if step.chooses == "turns":
        parts.append("the reply chooses turns")
    if step.model is not None or step.sampling:
        sampling = [f"{word} {value:g}" for word, value in step.sampling.items()]
        parts.append(", ".join([*([] if step.model is None else [f"model {step.model.name}"]), *sampling]))
    if step.draws > 1:
        parts.insert(1, f"{step.draws} draws")
    if step.placebo != "none":
        parts.insert(1, f"shown {_PLACEBOS[step.placebo]} instead of what others say (placebo: {step.placebo})")
    if step.order == "sequential":
        parts.insert(1, "one after the other")
    return "; ".join(parts)


def _prompts(step: Step) -> str:
    if step.variants:
        return f"{' or '.join(step.variants)} (each replicate draws one)"
    named = {**step.by_agent, **step.by_role}
    return ", ".join([_way(step, step.prompt), *(f"{who}: {_way(step, prompt)}" for who, prompt in named.items())])


def _way(step: Step, prompt: str) -> str:
    return f"{prompt} (no call: the prompt itself is the reply)" if prompt in step.said else prompt


def _topology(hears: Topology) -> str:
    if isinstance(hears, Sparse):
        within = "" if isinstance(hears.within, Everyone) else f", within {_topology(hears.within)}"
        which = "agents" if hears.keep == KEEP_TRUE else "sparse:"
        return f"{which} {_picked(hears.weight, hears.keep, _OF_EDGES)}{within}"
    if isinstance(hears, Ring):
        return f"its neighbours on a ring ({hears.reach} on each side)"
    if isinstance(hears, Groups):
        sizes = f", with {' and '.join(map(str, hears.sizes))} agents" if hears.sizes else ""
        return f"its group (of {hears.count} groups{sizes})"
    values = [getattr(hears, field.name) for field in fields(hears)]
    shown = ", ".join(
        " and ".join(map(str, value)) if isinstance(hears, OfRole) else str(value)
        for value in values
        if value not in ((), {})
    )
    return f"{hears.word}{f' {shown}' if shown else ''}"


_OF_EDGES: Mapping[str, str] = {
    "mean": "the listener's mean",
    "median": "the listener's median",
    "mean_of_all": "the mean of all edges",
}
_OF_CANDIDATES: Mapping[str, str] = {"mean": "the mean", "median": "the median", "mean_of_all": "the mean"}
"""What the rules without a number compare weights with: weights of edges, and of the candidates of a choice."""


def _picked(weight: str, keep: Keep, means: Mapping[str, str]) -> str:
    """Describe which weights are kept; `means` has the words for rules that compare weights with their mean."""
    weight = plain_expression(weight)
    if keep == KEEP_TRUE:
        return f"where {weight}"
    match keep:
        case Keep("top", number) if number is not None:
            kept = f"the {_count(number)}highest{_above(keep)}"
        case Keep("drop_bottom", number) if number is not None:
            kept = f"all but the {_count(number)}lowest{_above(keep)}"
        case Keep("above", number) if number is not None:
            kept = f"weights above {number:g}"
        case Keep(rule) if rule in means:
            kept = f"weights of at least {means[rule]}"
        case _:
            kept = keep.rule
    return f"weight {weight}, keep {kept}"


def _above(keep: Keep) -> str:
    return "" if keep.floor is None else f" above {keep.floor:g}"


def _count(number: float) -> str:
    """Return a number before `highest` or `lowest`; empty for 1."""
    return "" if number == 1 else f"{number:g} "


def choice_in_words(part: Choose) -> str:
    """Describe which agents are chosen, and their order."""
    order = ", highest weight first" if part.order == "weight" else ""
    return f"{_picked(part.weight, part.keep, _OF_CANDIDATES)}{order}"


def plain_expression(expression: str) -> str:
    """Return an expression as the language documents it, without the parentheses around the numbers of settings."""
    return re.sub(r"(?<!\w)\((\d+(?:\.\d+)?)\)", r"\1", as_documented(expression))


_TOLD: Mapping[str, str] = {
    "by_answer": "latest, grouped by answer",
    "evidence": "passages",
}


def about_or_for(*steps: Step) -> str:
    """Return how the turns of some steps relate to the agents that they name: they are about them, or for them."""
    return "for" if steps and all(step.each == "listener" for step in steps) else "about"


def _whom(step: Step) -> str:
    """Return whom turns that `about_me` shows in a step are about, or for."""
    of_call = {"edge": "agent", "listener": "debater", "group": "group"}
    return f"the {of_call[step.each]} that the call is for" if step.each in of_call else "the speaker"


def _told(told: str | TurnFilter, about_listener: Sequence[Step] = (), whom: str = "the speaker") -> str:
    if told == "about_me":
        names = " and ".join(step.name for step in about_listener)
        of = f" of step{'s' if len(about_listener) > 1 else ''} {names}" if names else ""
        return f"the latest turns{of} that are {about_or_for(*about_listener)} {whom}"
    if isinstance(told, str):
        return _TOLD.get(told, told)
    last = "all turns" if told.last is None else "the last turns" if told.last == 1 else f"the last {told.last} runs"
    about, where = (
        f" that are {about_or_for(*about_listener)} {whom}" if told.about_me else "",
        f" where {plain_expression(told.where)}" if told.where else "",
    )
    # "or": the last time in any of the steps, not in each
    steps = (" and " if told.last is None else " or ").join(told.steps)
    return f"{last} of {steps or 'all steps that are heard'}{about}{where}"


def decision_in_words(method: Method) -> str:
    """Describe how a debate is decided."""
    rule = method.decide
    by = f" of the {rule.role}" if rule.role else f" by {plain_expression(rule.weight)}" if rule.rule == "vote" else ""
    if rule.rule == "trimmed":
        cut = (
            "the median"
            if rule.share == 0.5
            else f"the mean without {rule.share:.0%} at each end"
            if rule.share
            else "the mean"
        )
        return f"{cut} of the answers that are numbers"
    rules = [DECISION_RULES[name] for name in (rule.rule, rule.otherwise) if name != "none"]
    # Only a vote has ties.
    is_empty = rule.fallback == "none" and any(one.is_vote for one in rules)
    otherwise = "".join(f", else {one.summary}" for one in rules[1:])
    return f"{rules[0].summary}{by}{otherwise}{', fallback none: no answer if all differ' if is_empty else ''}"


def schedule_lines(schedule: Sequence[SchedulePart], indent: str, drawn: Mapping[Choose, str]) -> Iterator[str]:
    """Yield a schedule: one line for each part, loops indented; `drawn` has the agents that a drawing chooses."""
    for part in schedule:
        if isinstance(part, Choose):
            source = f" (from {part.source})" if part.source != part.role else ""
            here = f" (here: {drawn[part]})" if part in drawn else ""
            yield f"{indent}choose {part.role}{source}: {choice_in_words(part)}{here}"
            continue
        if isinstance(part, str):
            yield f"{indent}{part}"
            continue
        conditions = [f", unless {plain_expression(part.unless)}"] if part.unless != NEVER else []
        # `until` has no effect after the last pass.
        conditions += [f", until {plain_expression(part.until)}"] if part.until != NEVER and part.times > 1 else []
        yield f"{indent}{'once' if part.times == 1 else f'repeat {part.times} times'}{''.join(conditions)}:"
        yield from schedule_lines(part.body, indent + "  ", drawn)


_OF_DEBATE = {
    "votes": "the share of the debaters whose last answer is the answer of the debate",
    "weighted": "the share of the debaters with the answer of the debate, weighted by recalibrated confidence",
}


def debate_confidence_in_words(method: Method) -> str:
    """Describe how the confidence of a debate as a whole is determined."""
    return _OF_DEBATE[method.debate_confidence.source]


def defer_in_words(rule: Defer) -> str:
    """Describe when a debate hands its question on."""
    return f"if debate_confidence is below {rule.below:g} or unknown, {rule.to} answers ({rule.method.protocol})"


def confidence_in_words(how: Measure) -> str:
    """Describe how an answer's confidence is measured."""
    match how.source:
        case "logprob":
            return "the probability of the answer's tokens"
        case "consistency":
            return f"the share of {how.samples} further replies to the same prompt that give the same answer"
        case _:
            who = "the agent's own model" if how.verifier is None else f"model {how.verifier.name}"
            return f"a score that {who} gives to each answer; {how.prompt}"
