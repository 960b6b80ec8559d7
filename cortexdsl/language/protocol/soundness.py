"""Checks between the parts of a protocol: names that must exist, steps that are reached, endings that can happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import get_args

from cortexdsl.core import AUDIBLE, Beside, Choose, Groups, Nobody, OfRole, Reads
from cortexdsl.errors import nearest
from cortexdsl.expressions import evaluation
from cortexdsl.expressions.names import OF_STEPS, STATED
from cortexdsl.language.grammar.hears import HearsWord
from cortexdsl.language.grammar.methods import METHOD_WORDS
from cortexdsl.language.grammar.old_words import value_remedy
from cortexdsl.language.grammar.protocol import DecideWord, ProtocolText
from cortexdsl.language.grammar.reserved import reserved
from cortexdsl.language.grammar.schedule import CaseText
from cortexdsl.language.grammar.steps import StepText
from cortexdsl.language.nodes import Node, PlacedProblem, ProblemAt, Route, dotted, refuse_all, shown
from cortexdsl.language.problems import is_expression, validate
from cortexdsl.language.protocol import walks
from cortexdsl.language.protocol.settings import Substitution, references

EACH = ("edge", "listener", "group")
"""Values of `each` whose turns are about one agent."""
SCORES = ("mean_score", "score")
"""Names whose values come from the reviews about an agent."""


def unaddressed_turns(text: ProtocolText) -> Iterator[tuple[Route, str, str, tuple[str, ...]]]:
    """Yield uses of turns about an agent (such as a review) in protocols in which no turn is about an agent.

    A step with `each: group` is told what is about groups, other steps what is about agents.

    Yields
    ------
    (route, what, each, steps)
        The use, the problem, the value of `each:` that is missing, and the steps that probably should have it; empty if
        no step hears anybody.
    """
    for name, step in text.steps.items():
        kinds = {other.kind for other in text.steps.values()}
        is_group = step.kind == "group"
        if "about_me" not in step.shows or any(kind in EACH and (kind == "group") == is_group for kind in kinds):
            continue
        whom = "an agent" if "group" in kinds else "a group" if kinds & {*EACH} else "anybody"
        what = f"{name} is told what is about it, and no turn is about {whom}"
        yield ("steps", name, "shows"), what, "group" if is_group else "edge", _likely_steps(text, name)
    for kind, factors in (("review", SCORES), ("verdict", ("accepts",))):
        remarks = tuple(name for name, step in text.steps.items() if kind in step.reads)
        if not remarks or any(text.steps[name].kind in EACH for name in remarks):
            continue
        for expression, route in walks.expressions(text):
            for factor in sorted(evaluation.parse(expression).names & {*factors}):
                what = f"{factor} needs {kind}s on somebody, and {' and '.join(remarks)} is about nobody"
                yield route, what, "edge", remarks


def _likely_steps(text: ProtocolText, using: str) -> tuple[str, ...]:
    """Return the steps that are probably meant: those that are read as reviews, else those that the step hears."""
    step = text.steps[using]
    heard = _heard_roles(step.hears)
    likely: tuple[Callable[[StepText], bool], ...] = (
        lambda other: "review" in other.reads,
        lambda other: other.role in heard,
        lambda other: True,
    )
    for is_meant in likely:
        steps = [
            name
            for name, other in text.steps.items()
            if name != using and other.hears != Nobody() and other.kind == "speaker" and is_meant(other)
        ]
        if steps:
            return tuple(steps)
    return ()


def check_soundness(node: Node, text: ProtocolText, above: Route) -> None:
    """Refuse a protocol whose parts do not fit each other: first its settings, then their defaults, then the rest.

    Parameters
    ----------
    node : Node
    text : ProtocolText
    above : tuple
        The route that leads to the protocol in its file.

    Raises
    ------
    SpecError
        All problems of the first stage that has some.
    """

    problem_at = ProblemAt(node, lambda route: dotted((*above, *route)))
    refuse_all(_settings(node, text, problem_at))
    written = node.find(("settings",))
    substitution = Substitution({} if written is None else written.mapping())
    filled = substitution.apply(node)
    refuse_all(substitution.problems)
    whole = validate(ProtocolText, filled, lambda route: dotted((*above, substitution.called(route))))
    refuse_all(reference_problems(whole, problem_at))


def reference_problems(text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield the problems between the parts of a protocol whose settings have their defaults."""
    yield from _roles(text, problem_at)
    yield from _schedule(text, problem_at)
    yield from _cases_without_branch(text, problem_at)
    yield from _step_references(text, problem_at)
    yield from _endings(text, problem_at)
    yield from _steps(text, problem_at)


def _settings(node: Node, text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    named = list(references(node))
    unknown = [(name, route) for name, route, _ in named if name not in text.settings]
    for name, route in unknown:
        yield from problem_at.unknown(route, "setting", name, text.settings)
    unused = set(text.settings) - {name for name, _, _ in named}
    for name in text.settings:
        if name in METHOD_WORDS:
            yield problem_at(("settings", name), "a method says this itself", "call the setting otherwise", key=True)
        elif name in unused and not unknown:
            place = f"with: {{{name}: ${name}}} gives it to a template"
            place = f"{name}: ${name} in the protocol" if name in ProtocolText.model_fields else place
            remedy = f"write ${name} where it belongs ({place}), or remove it"
            yield problem_at(("settings", name), "no word uses this setting", remedy, key=True)


def _roles(text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    for section, names in (("roles", text.roles), ("steps", text.steps)):
        for name in names:
            if problem := reserved(section, name):
                yield problem_at((section, name), *problem, key=True)
    for name, step in text.steps.items():
        yield from problem_at.unknown(("steps", name, "role"), "role", step.role, text.roles)
        for role in _heard_roles(step.hears):
            condition = f"write {{where: {role}}}" if is_expression(role, "weight") else ""
            remedy = condition or value_remedy(("hears",), role) or nearest(role, [*get_args(HearsWord), *text.roles])
            yield from problem_at.unknown(("steps", name, "hears"), "role", role, text.roles, remedy)
        if step.of:
            remedy = value_remedy(("each",), step.of)
            yield from problem_at.unknown(("steps", name, "each"), "role", step.of, text.roles, remedy)
    for role in text.voters:
        yield from problem_at.unknown(("voters",), "role", role, text.roles)
    choices = list(walks.items_of(Choose, text))
    for choice, route in choices:
        for who, word in {choice.source: "from", choice.role: "choose"}.items():
            remedy = nearest(who, text.roles, say="roles") + f"; or write roles: {{{who}: everyone}}"
            yield from problem_at.unknown((*route, word), "role", who, text.roles, remedy)
    spoken = {step.role for step in text.steps.values()}
    used = spoken.union(text.voters, *((choice.role, choice.source) for choice, _ in choices))
    used |= {name for step in text.steps.values() if isinstance(step.prompt, dict) for name in step.prompt}
    used |= {role for step in text.steps.values() for role in (step.of, *_heard_roles(step.hears))}
    for role in text.roles:
        if role not in used and spoken <= set(text.roles):
            yield problem_at(("roles", role), "nobody speaks in this role", "give it a step, or remove it", key=True)


def _cases_without_branch(text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield the cases of a schedule whose value chooses no branch."""
    for case, route in walks.items_of(CaseText, text):
        if case.branch is None:
            yield problem_at((*route, "case"), f"{shown(case.case)} is not a case", nearest(case.case, case.do))


def _schedule(text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    reached = set()
    for name, route in walks.items_of(str, text):
        reached.add(name)
        yield from problem_at.unknown(route, "step", name, text.steps)
    for name in text.steps:
        if name not in reached:
            yield problem_at(("steps", name), "the schedule never comes to this step", "add it, or remove it", key=True)
    answering = [step.role for name, step in text.steps.items() if step.reads[0] == "answer" and name in reached]
    if not answering and reached <= set(text.steps):
        yield problem_at(("schedule",), "no step reads an answer", "let a step have reads: answer")
        return
    yield from _debaters(text, answering, problem_at)
    if (role := text.decide.role) is not None:
        if role not in text.roles:
            is_step = f"write decide: {text.steps[role].role}, the role of this step" if role in text.steps else ""
            remedy = is_step or value_remedy(("decide",), role) or nearest(role, [*get_args(DecideWord), *text.roles])
            yield problem_at(("decide",), f"there is no role {role}", remedy)
        elif role not in answering:
            remedy = f"let one have reads: answer, or write decide: {' or '.join(dict.fromkeys(answering))}"
            yield problem_at(("decide",), f"no step of {role} reads an answer", remedy)
        elif not text.decide.otherwise and role not in walks.roles_with_answer(text):
            what = f"{role} answers only if a condition holds, and else nobody decides"
            if role in walks.roles_with_answer(text, as_cast=True):
                what = f"{role} may end with nobody who has answered in it, as it is chosen, and then nobody decides"
            yield problem_at(("decide",), what, f"write decide: [{role}, majority], or [{role}, none]")


def _debaters(text: ProtocolText, answering: Iterable[str], problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield debaters that never answer, and candidates that do not debate."""
    debating = set(text.voters or [*answering][:1])
    chosen = list(walks.items_of(Choose, text))
    while more := {choice.role for choice, _ in chosen if choice.source in debating} - debating:
        debating |= more
    for role in text.voters:
        if role in text.roles and not debating & {*answering}:
            others = " or ".join(f"[{other}]" for other in dict.fromkeys(answering))
            remedy = f"write voters: {others}, whose steps do, or leave voters out; or let one have reads: answer"
            yield problem_at(("voters",), f"no step of {role} reads an answer", remedy)
    for choice, route in chosen:
        source = choice.source
        if source in text.roles and source not in debating:
            first = text.voters or tuple(answering)[:1]
            what = f"{source} does not debate, so that there is nothing to weigh"
            remedy = f"write from: {' or '.join(first)}; or let it debate: voters: [{', '.join((*first, source))}]"
            yield problem_at((*route, "choose" if source == choice.role else "from"), what, remedy)


def _endings(text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    rule = text.decide.otherwise if text.decide.rule == "last" else text.decide.rule
    if rule in ("borda", "runoff") and not _reads(text, "ranking"):
        yield problem_at(("decide",), f"{rule} {_NEEDS[rule][0]}", _NEEDS[rule][1])
    for condition, route in walks.conditions(text):
        if condition == "approved" and not _reads(text, "verdict"):
            yield problem_at(route, "approved is a judge's verdict, and no step reads one", "add reads: verdict")


_NEEDS = {
    "mean_score": ("needs reviews, and no step reads one", "add a step with each: edge, reads: review"),
    "score": ("needs reviews, and no step reads one", "add a step with each: edge, reads: review"),
    "approved": ("is a judge's verdict, and no step reads one", "add reads: verdict"),
    "accepts": ("is a verdict on an agent, and no step reads one", "add a step with each: edge, reads: verdict"),
    "chosen": ("needs choices, and no step reads one", "add a step with reads: choice"),
    **dict.fromkeys(("borda", "runoff"), ("counts rankings, and no step reads one", "add a step with reads: ranking")),
    "same_group": ("needs groups, and no step hears any", "let a step hear {groups: ...}"),
}


def _step_references(text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield unknown steps in `shows` and `memory`."""
    for name, step in text.steps.items():
        for word, each in (*(("shows", turns) for turns in step.shows), ("memory", step.memory)):
            for other in () if isinstance(each, str) else each.steps:
                yield from problem_at.unknown(("steps", name, word), "step", other, text.steps)
        if step.split is not None and (cut := step.split.step):
            yield from problem_at.unknown(("steps", name, "each", "step"), "step", cut, text.steps)
            if cut in text.steps and text.steps[cut].role not in _heard_roles(step.hears):
                what = f"{name} gets the items of {cut}, and does not hear {text.steps[cut].role}, who speaks there"
                yield problem_at(("steps", name, "each"), what, f"write hears: {text.steps[cut].role}")


def _steps(text: ProtocolText, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    for route, what, missing, could in unaddressed_turns(text):
        places = ", or of ".join(f"step {name} ({problem_at(('steps', name), '', key=True)[0]})" for name in could)
        remedy = f"write each: {missing} in the words of {places}" if could else f"let a step have each: {missing}"
        yield problem_at(route, what, remedy)
    for name, step in text.steps.items():
        ballots = {"choice", "ranking"}.intersection(step.reads)
        if "chooses" in step.model_fields_set and not ballots:
            what = "chooses says what a choice or a ranking names, and neither is read"
            yield problem_at(("steps", name, "chooses"), what, "write reads: choice, or reads: ranking", key=True)
        if vars(step)["chooses"] == "answers" and "choice" in ballots:
            what = "a choice names agents or turns, and a ranking may name answers"
            yield problem_at(("steps", name, "chooses"), what, "write reads: ranking", key=True)
        if set(step.shows) <= {"last", "all", "by_answer"}:
            yield from _unheard(text, name, problem_at)
    used = {key for expression, _ in walks.expressions(text) for key in evaluation.parse(expression).keys}
    for name, step in text.steps.items():
        for number in {*step.reads[1:]} - {*get_args(Reads)}:
            meant = get_close_matches(number, get_args(Beside), 1, 0.7)
            if meant and not any(f"{STATED}({number})" in key for key in used):
                what = f"{number} would be a number that the reply states, and no expression uses it"
                yield problem_at(("steps", name, "reads"), what, f"did you mean {meant[0]}?")
    for expression, route in walks.expressions(text):
        parsed = evaluation.parse(expression)
        lacking = [name for name in sorted(parsed.names & _NEEDS.keys()) if not _is_met(text, name)]
        for factor in lacking:
            why, remedy = _NEEDS[factor]
            yield problem_at(route, f"{factor} {why}", remedy)
        for key in sorted(parsed.keys):
            factor, named = evaluation.split_key(key)
            if factor not in lacking:
                yield from _of_steps(text, factor, named, route, problem_at)


def _of_steps(
    text: ProtocolText, factor: str, named: Sequence[str], route: Route, problem_at: ProblemAt
) -> Iterator[PlacedProblem]:
    """Yield the steps in `factor(step)` that do not exist or do not read what the factor is made of."""
    if factor == STATED and not _reads(text, named[0]):
        numbers = [name for step in text.steps.values() for name in step.reads[1:] if name not in get_args(Reads)]
        remedy = nearest(named[0], numbers, say="numbers") if numbers else f"write reads: [comment, {named[0]}]"
        yield problem_at(route, f"stated({named[0]}): no step reads the number {named[0]}", remedy)
    if factor in evaluation.NAMED:
        return
    reading = [name for name, step in text.steps.items() if OF_STEPS.get(factor, "") in step.reads]
    for name in named:
        if name not in text.steps:
            yield problem_at(route, f"{factor}({name}): there is no step {name}", nearest(name, reading, say="steps"))
        elif name not in reading:
            what = f"{factor}({name}): step {name} reads no {OF_STEPS[factor]}"
            yield problem_at(route, what, nearest(name, reading, say="steps that do"))


def _is_met(text: ProtocolText, factor: str) -> bool:
    return _reads(text, OF_STEPS[factor]) if factor in OF_STEPS else _has_groups(text)


def _unheard(text: ProtocolText, name: str, problem_at: ProblemAt) -> Iterator[PlacedProblem]:
    """Yield heard roles all of whose turns are not talk (such as reviews), so that they would reach nobody."""
    roles = _heard_roles(text.steps[name].hears)
    for i, role in enumerate(roles):
        kinds = {other: step.reads[0] for other, step in text.steps.items() if step.role == role}
        if kinds and not set(kinds.values()) & AUDIBLE:
            only, first = " and ".join(sorted(set(kinds.values()))), next(iter(kinds))
            remedy = f"write shows: {{step: {first}}}, in a list beside last where others are heard as well"
            route: Route = ("steps", name, "hears", *((i,) if len(roles) > 1 else ()))
            yield problem_at(route, f"{role} says a {only} alone, which only those are told whom it is about", remedy)


def _reads(text: ProtocolText, what: str) -> bool:
    return any(what in step.reads for step in text.steps.values())


def _has_groups(text: ProtocolText) -> bool:
    hears = [step.hears for step in text.steps.values()]
    return any(isinstance(getattr(each, "within", each), Groups) for each in hears)


def _heard_roles(hears: object) -> tuple[str, ...]:
    """Return the roles that a validated `hears:` names."""
    return hears.roles if isinstance(hears, OfRole) else ()
