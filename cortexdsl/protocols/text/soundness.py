"""What makes a protocol sound beyond its words: names that exist, steps that are reached, endings that can come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from cortexdsl.debate.talk.transcript import TALK
from cortexdsl.debate.weights import expressions
from cortexdsl.debate.weights.names import OF_STEPS
from cortexdsl.errors import Problem
from cortexdsl.protocols.text import certain, walks
from cortexdsl.protocols.text.about import about_nobody
from cortexdsl.protocols.text.substitute import Substitution, references
from cortexdsl.spec.check.mending import Doubtful, mend, without
from cortexdsl.spec.check.stand_ins import of_protocol
from cortexdsl.spec.grammar.protocols.hears import GroupsForm, RoleForm, SparseForm
from cortexdsl.spec.grammar.protocols.protocol import LastForm, ProtocolText, RoleAnswerForm
from cortexdsl.spec.grammar.protocols.schedule import CaseText, LoopText
from cortexdsl.spec.grammar.sheet import METHOD_WORDS
from cortexdsl.spec.text.messages import dotted, nearest, shown
from cortexdsl.spec.text.nodes import Found, Node, Route


class Finder(Protocol):
    """Places a problem of a protocol at a route in it."""

    def __call__(self, route: Route, what: str, remedy: str = "", *, key: bool = False) -> Found:
        """Return the place and the problem; at the key where `key` is set."""
        ...


def unsound(node: Node, text: ProtocolText, above: Route, doubtful: Doubtful) -> Iterator[Found]:
    """Yield what is wrong with a protocol whose words are all right.

    Parameters
    ----------
    node : Node
        With the words that inherit a setting naming it.
    text : ProtocolText
    above : tuple
        The route that leads to the protocol in its file.
    doubtful : Doubtful
        What was wrong in its words and is judged with a stand-in.
    """

    def found(route: Route, what: str, remedy: str = "", *, key: bool = False) -> Found:
        mark = node.key_mark(route) if key else node.where(route)
        return mark, Problem(str(mark), f"{dotted((*above, *route))}: {what}", remedy)

    yield from _settings(node, text, found)
    stand_ins = of_protocol(node)
    filled = node
    for name, route, _ in reversed(list(references(node))):
        if name not in text.settings:
            filled, doubtful = without(filled, route, stand_ins), doubtful.with_(route[:3])
    substitution = Substitution(_defaults(node))
    filled = substitution.apply(filled)
    for route, problem in substitution.wrong:
        yield problem
        filled, doubtful = without(filled, route, stand_ins), doubtful.with_(route[:3])
    mended = mend(ProtocolText, filled, stand_ins, lambda route: dotted((*above, substitution.called(route))), doubtful)
    yield from mended.problems
    if mended.text is not None:
        yield from _whole(mended.text, mended.doubtful, found)


def _whole(text: ProtocolText, doubtful: Doubtful, found: Finder) -> Iterator[Found]:
    """Yield what is wrong between the parts, as far as none of them is a stand-in."""
    wrong = doubtful.routes
    if ("roles",) not in wrong:
        yield from _roles(text, found)
    reads = not any(route[0] == "steps" and (len(route) < 3 or route[2] in ("reads", "each")) for route in wrong)
    if reads and not any(route[0] == "schedule" and route[2:] not in _TIMES for route in wrong):
        yield from _schedule(text, found, is_decided=not doubtful.has("decide"))
    yield from unchosen(text.schedule, found)
    if not any(route[0] == "steps" and (len(route) < 3 or route[2] in ("tells", "own")) for route in wrong):
        yield from _told(text, found)
    if reads:
        yield from _endings(text, found)
        yield from _steps(text, found)


_TIMES = (("repeat",), ("until",), ("unless",))
"""Words of a loop, without which its steps are what they are."""


def _defaults(node: Node) -> dict[str, Node]:
    written = node.find(("settings",))
    return written.mapping() if written is not None else {}


def _settings(node: Node, text: ProtocolText, found: Finder) -> Iterator[Found]:
    named = list(references(node))
    unknown = [(name, route) for name, route, _ in named if name not in text.settings]
    for name, route in unknown:
        yield found(route, f"there is no setting {name}", nearest(name, text.settings, say="settings"))
    unused = set(text.settings) - {name for name, _, _ in named}
    for name in text.settings:
        if name in METHOD_WORDS:
            yield found(("settings", name), "a method says this itself", "call the setting otherwise", key=True)
        elif name in unused and not unknown:
            remedy = (
                f"write ${name} where it belongs (a template is given it by with: {{{name}: ${name}}}), or remove it"
            )
            yield found(("settings", name), "no word uses this setting", remedy, key=True)


def _roles(text: ProtocolText, found: Finder) -> Iterator[Found]:
    for name, step in text.steps.items():
        if step.role not in text.roles:
            remedy = nearest(step.role, text.roles, say="roles")
            yield found(("steps", name, "role"), f"there is no role {step.role}", remedy)
        for role in step.hears.role if isinstance(step.hears, RoleForm) else ():
            if role not in text.roles:
                remedy = nearest(role, text.roles, say="roles")
                yield found(("steps", name, "hears", "role"), f"there is no role {role}", remedy)
        if step.of and step.of not in text.roles:
            remedy = nearest(step.of, text.roles, say="roles")
            yield found(("steps", name, "each", "edge"), f"there is no role {step.of}", remedy)
    for role in text.debaters:
        if role not in text.roles:
            yield found(("debaters",), f"there is no role {role}", nearest(role, text.roles, say="roles"))
    for choice, route in walks.choices(text.schedule):
        for word, who in (("choose", choice.choose), ("from", choice.from_ or choice.choose)):
            if who not in text.roles and (word == "choose" or choice.from_):
                yield found((*route, word), f"there is no role {who}", nearest(who, text.roles, say="roles"))
    spoken = {step.role for step in text.steps.values()}
    used = spoken.union(text.debaters, *((c.choose, c.from_ or "") for c, _ in walks.choices(text.schedule)))
    used |= {name for step in text.steps.values() if isinstance(step.prompt, dict) for name in step.prompt}
    used |= {step.of for step in text.steps.values()}
    for role in text.roles:
        if role not in used and spoken <= set(text.roles):
            yield found(("roles", role), "nobody speaks in this role", "give it a step, or remove it", key=True)


def unchosen(items: Iterable[object], found: Finder, route: Route = ("schedule",)) -> Iterator[Found]:
    """Yield the cases of a schedule whose value chooses no branch."""
    for i, item in enumerate(items):
        if isinstance(item, LoopText):
            yield from unchosen(item.do, found, (*route, i, "do"))
        elif isinstance(item, CaseText):
            if item.branch is None:
                yield found((*route, i, "case"), f"{shown(item.case)} is no case", nearest(item.case, item.do))
            for branch, body in item.do.items():
                yield from unchosen(body, found, (*route, i, "do", branch))


def _schedule(text: ProtocolText, found: Finder, *, is_decided: bool) -> Iterator[Found]:
    reached = set()
    for name, route in walks.passed(text.schedule):
        reached.add(name)
        if name not in text.steps:
            yield found(route, f"there is no step {name}", nearest(name, text.steps, say="steps"))
    for name in text.steps:
        if name not in reached:
            yield found(("steps", name), "the schedule never comes to this step", "add it, or remove it", key=True)
    answering = [step.role for name, step in text.steps.items() if step.reads[0] == "answer" and name in reached]
    if not answering and reached <= set(text.steps):
        yield found(("schedule",), "no step reads an answer", "let a step have reads: answer")
        return
    yield from _debaters(text, answering, found)
    decide = text.decide
    if is_decided and isinstance(decide, LastForm | RoleAnswerForm):
        key, role = ("last", decide.last) if isinstance(decide, LastForm) else ("role", decide.role)
        if role not in text.roles:
            yield found(("decide", key), f"there is no role {role}", nearest(role, text.roles, say="roles"))
        elif role not in answering:
            remedy = f"let one have reads: answer, or write {{{key}: {' or '.join(dict.fromkeys(answering))}}}"
            yield found(("decide", key), f"no step of {role} reads an answer", remedy)
        elif decide.otherwise is None and role not in certain.answering(text):
            said = f"{role} answers only where a loop's unless lets it, and else nobody decides"
            if role in certain.answering(text, as_cast=True):
                said = f"{role} may end with nobody who has answered in it, as it is chosen, and then nobody decides"
            yield found(("decide", key), said, f"write {{{key}: {role}, else: majority}}, or else: none")


def _debaters(text: ProtocolText, answering: Iterable[str], found: Finder) -> Iterator[Found]:
    """Yield what is wrong with who debates: nobody of them answers, or others are chosen than those who debate."""
    debating = set(text.debaters or [*answering][:1])
    chosen = list(walks.choices(text.schedule))
    while more := {c.choose for c, _ in chosen if (c.from_ or c.choose) in debating} - debating:
        debating |= more
    for role in text.debaters:
        if role in text.roles and not debating & {*answering}:
            others = " or ".join(f"[{other}]" for other in dict.fromkeys(answering))
            remedy = f"write debaters: {others}, whose steps do, or leave debaters out; or let one have reads: answer"
            yield found(("debaters",), f"no step of {role} reads an answer", remedy)
    for choice, route in chosen:
        source = choice.from_ or choice.choose
        if source in text.roles and source not in debating:
            first = text.debaters or tuple(answering)[:1]
            said = f"{source} does not debate, so that there is nothing to weigh"
            remedy = f"write from: {' or '.join(first)}; or let it debate: debaters: [{', '.join((*first, source))}]"
            yield found((*route, "from" if choice.from_ else "choose"), said, remedy)


def _endings(text: ProtocolText, found: Finder) -> Iterator[Found]:
    for loop, route in walks.loops(text.schedule):
        for word in ("unless", "until"):
            if getattr(loop, word) == "agreed" and not _reads(text, "verdict"):
                yield found((*route, word), "agreed is a judge's verdict, and no step reads one", "add reads: verdict")


_NEEDS = {
    "peer_score": ("needs reviews, and no step reads one", "add a step with each: edge, reads: review"),
    "score": ("needs reviews, and no step reads one", "add a step with each: edge, reads: review"),
    "agreed": ("is a judge's verdict, and no step reads one", "add reads: verdict"),
    "chosen": ("needs choices, and no step reads one", "add a step with reads: choice"),
    "same_group": ("needs groups, and no step hears any", "let a step hear {groups: ...}"),
}


def _told(text: ProtocolText, found: Finder) -> Iterator[Found]:
    """Yield the steps that are told by name and are not there."""
    for name, step in text.steps.items():
        for word, each in (*(("tells", told) for told in step.tells), ("own", step.own)):
            for other in () if isinstance(each, str) else each.step:
                if other not in text.steps:
                    remedy = nearest(other, text.steps, say="steps")
                    yield found(("steps", name, word), f"there is no step {other}", remedy)


def _steps(text: ProtocolText, found: Finder) -> Iterator[Found]:
    for route, what, could in about_nobody(text):
        places = ", or of ".join(f"step {name} ({found(('steps', name), '', key=True)[0]})" for name in could)
        yield found(
            route, what, f"write each: edge in the words of {places}" if could else "let a step have each: edge"
        )
    for name, step in text.steps.items():
        if set(step.tells) <= {"latest", "history", "by_answer"}:
            yield from _unheard(text, name, found)
    for expression, route in walks.expressions(text):
        parsed = expressions.parse(expression)
        lacking = [name for name in sorted(parsed.names & _NEEDS.keys()) if not _is_met(text, name)]
        for factor in lacking:
            why, remedy = _NEEDS[factor]
            yield found(route, f"{factor} {why}", remedy)
        for key in sorted(parsed.keys):
            factor, named = expressions.named(key)
            if factor not in lacking:
                yield from _of_steps(text, factor, named, route, found)


def _of_steps(text: ProtocolText, factor: str, named: Iterable[str], route: Route, found: Finder) -> Iterator[Found]:
    """Yield the steps that a name is said to be of, and that read nothing that it could be made of."""
    reading = [name for name, step in text.steps.items() if OF_STEPS.get(factor, "") in step.reads]
    for name in named:
        if name not in text.steps:
            yield found(route, f"{factor}({name}): there is no step {name}", nearest(name, reading, say="steps"))
        elif name not in reading:
            said = f"{factor}({name}): step {name} reads no {OF_STEPS[factor]}"
            yield found(route, said, nearest(name, reading, say="steps that do"))


def _is_met(text: ProtocolText, factor: str) -> bool:
    return _reads(text, OF_STEPS[factor]) if factor in OF_STEPS else _has_groups(text)


def _unheard(text: ProtocolText, name: str, found: Finder) -> Iterator[Found]:
    """Yield roles that a step hears and that say nothing which is told as talk: their reviews would reach nobody."""
    hears = text.steps[name].hears
    roles = hears.role if isinstance(hears, RoleForm) else ()
    for i, role in enumerate(roles):
        said = {other: step.reads[0] for other, step in text.steps.items() if step.role == role}
        if said and not set(said.values()) & TALK:
            only, first = " and ".join(sorted(set(said.values()))), next(iter(said))
            remedy = f"write tells: {{step: {first}}}, in a list beside latest where others are heard as well"
            route: Route = ("steps", name, "hears", "role", *((i,) if len(roles) > 1 else ()))
            yield found(route, f"{role} says a {only} alone, which only those are told whom it is about", remedy)


def _reads(text: ProtocolText, what: str) -> bool:
    return any(what in step.reads for step in text.steps.values())


def _has_groups(text: ProtocolText) -> bool:
    hears = [step.hears for step in text.steps.values()]
    within = [getattr(form.sparse if isinstance(form, SparseForm) else form, "within", None) for form in hears]
    return any(isinstance(form, GroupsForm) for form in (*hears, *within))
