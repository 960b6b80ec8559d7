"""What makes a protocol sound beyond its words: names that exist, steps that are reached, endings that can come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from cortexdsl.debate import expressions
from cortexdsl.errors import Problem, SpecError
from cortexdsl.protocols.substitute import Substitution, references
from cortexdsl.spec.hears import RoleForm, SparseForm
from cortexdsl.spec.mending import Doubtful, mend, without
from cortexdsl.spec.nodes import Found, Node, Route
from cortexdsl.spec.problems import dotted, nearest, shown
from cortexdsl.spec.protocol import CaseText, LastForm, LoopText, ProtocolText, RoleAnswerForm, StepText
from cortexdsl.spec.sheet import METHOD_WORDS
from cortexdsl.spec.stand_ins import of_protocol


class Finder(Protocol):
    """Places a problem of a protocol at a route in it."""

    def __call__(self, route: Route, what: str, remedy: str = "", *, key: bool = False) -> Found:
        """Return the place and the problem; at the key where `key` is set."""
        ...


ABOUT = ("edge", "listener", "group")
"""Values of `each` whose turns are about one agent."""


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
    try:
        filled = substitution.apply(filled)
    except SpecError as error:
        yield from ((node.mark, problem) for problem in error.problems)
        return
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
            remedy = f"write ${name} where it belongs, or remove it"
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
    spoken = {step.role for step in text.steps.values()}
    for role in text.roles:
        if role not in spoken and spoken <= set(text.roles):
            yield found(("roles", role), "nobody speaks in this role", "give it a step, or remove it", key=True)


def passed(items: Iterable[object], route: Route = ("schedule",)) -> Iterator[tuple[str, Route]]:
    """Yield the steps of a schedule, loops and all, with the routes where they stand."""
    for i, item in enumerate(items):
        if isinstance(item, LoopText):
            yield from passed(item.do, (*route, i, "do"))
        elif isinstance(item, CaseText):
            for branch, body in item.do.items():
                yield from passed(body, (*route, i, "do", branch))
        else:
            yield str(item), (*route, i)


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
    for name, route in passed(text.schedule):
        reached.add(name)
        if name not in text.steps:
            yield found(route, f"there is no step {name}", nearest(name, text.steps, say="steps"))
    for name in text.steps:
        if name not in reached:
            yield found(("steps", name), "the schedule never comes to this step", "add it, or remove it", key=True)
    answering = [step.role for name, step in text.steps.items() if step.reads == "answer" and name in reached]
    if not answering and reached <= set(text.steps):
        yield found(("schedule",), "no step reads an answer", "let a step have reads: answer")
        return
    decide = text.decide
    if is_decided and isinstance(decide, LastForm | RoleAnswerForm):
        key, role = ("last", decide.last) if isinstance(decide, LastForm) else ("role", decide.role)
        if role not in text.roles:
            yield found(("decide", key), f"there is no role {role}", nearest(role, text.roles, say="roles"))
        elif role not in answering:
            yield found(("decide", key), f"no step of {role} reads an answer", "let one have reads: answer")


def _loops(items: Iterable[object], route: Route = ("schedule",)) -> Iterator[tuple[LoopText, Route]]:
    for i, item in enumerate(items):
        if isinstance(item, LoopText):
            yield item, (*route, i)
            yield from _loops(item.do, (*route, i, "do"))
        elif isinstance(item, CaseText):
            for branch, body in item.do.items():
                yield from _loops(body, (*route, i, "do", branch))


def _endings(text: ProtocolText, found: Finder) -> Iterator[Found]:
    reads = {step.reads for step in text.steps.values()}
    for loop, route in _loops(text.schedule):
        for word in ("unless", "until"):
            if getattr(loop, word) == "agreed" and "verdict" not in reads:
                yield found((*route, word), "agreed is a judge's verdict, and no step reads one", "add reads: verdict")


def _steps(text: ProtocolText, found: Finder) -> Iterator[Found]:
    steps = text.steps.values()
    about = any(step.each in ABOUT for step in steps)
    for name, step in text.steps.items():
        if "about_me" in step.tells and not about:
            yield found(("steps", name, "tells"), "no turn is about anybody", "let a step have each: edge or listener")
        if "peer_score" in _factors(step) and not any(other.reads == "review" for other in steps):
            remedy = "add a step with each: edge, reads: review"
            yield found(("steps", name, "hears"), "peer_score needs reviews, and no step reads one", remedy)


def _factors(step: StepText) -> frozenset[str]:
    return expressions.parse(step.hears.sparse.weight).names if isinstance(step.hears, SparseForm) else frozenset()
