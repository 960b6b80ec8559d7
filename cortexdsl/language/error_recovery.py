"""Error recovery: check what can be checked of an invalid text, so that all its problems are reported at once.

A pass validates the text, reports its new problems, marks the invalid entries, and replaces invalid values by
placeholders. Passes repeat until the text is valid. Later checks skip what refers to a marked entry. A text that
needed a placeholder is never run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from cortexdsl.language.grammar.speakers import BUILTIN
from cortexdsl.language.nodes import Mark, Node, PlacedProblem, Route, dotted
from cortexdsl.language.problems import ValidationProblem, validation_problems

E = TypeVar("E", bound=BaseModel)

PASSES = 12
"""Maximum of passes: a placeholder may be invalid itself (a model's name with an address), once or twice a level."""

_CONSEQUENCES = ("missing", "too_short")
"""Kinds of problems that removing an invalid value causes."""

_REMOVED = object()
"""Marks a value that was removed."""


@dataclass(frozen=True, slots=True)
class Doubtful:
    """The invalid entries of a text, by route: checks of what refers to them are skipped.

    Attributes
    ----------
    routes : frozenset of Route
    """

    routes: frozenset[Route] = frozenset()

    def has(self, *route: str | int) -> bool:
        """Return whether a section or entry, or a part of it, is invalid."""
        return any(invalid[: len(route)] == route or route[: len(invalid)] == invalid for invalid in self.routes)

    @property
    def unnamed(self) -> bool:
        """Whether an agent's name is invalid, so that any unknown name may mean this agent."""
        return any(invalid[:1] == ("agents",) and invalid[2:] in ((), ("name",)) for invalid in self.routes)

    def with_(self, *routes: Route) -> Doubtful:
        """Return these entries and more."""
        return Doubtful(self.routes | set(routes))


# ---------------------------------------------------------------- placeholders
@dataclass(frozen=True, slots=True)
class Placeholders:
    """Placeholders that are checked instead of invalid values.

    Attributes
    ----------
    values : mapping of Route to value
        `*` in a route is any key. A function gets the route and returns the value. An invalid value without a
        placeholder is removed.
    """

    values: Mapping[Route, Any]

    def at(self, route: Route) -> Any:
        """Return the placeholder at a route, `_REMOVED` if there is none."""
        for pattern, value in self.values.items():
            if len(pattern) == len(route) and all(p in ("*", part) for p, part in zip(pattern, route, strict=True)):
                return value(route) if callable(value) else value
        return _REMOVED


NO_PLACEHOLDERS = Placeholders({})
NAME = "placeholder"

_MODEL = {"model": BUILTIN, "parameters": 1.0, "tokens": 1.0}
_QUESTIONS = {"name": "arithmetic"}
_OPENING = "common/answer.j2"


def spec_placeholders(root: Node) -> Placeholders:
    """Return the placeholders of a spec; its agents get its first model."""
    models = root.mapping().get("models")
    first = next(iter(models.mapping()), NAME) if models is not None else NAME

    def agent(route: Route) -> dict[str, Any]:
        return {"name": agent_name(route), "model": first}

    def agent_name(route: Route) -> str:
        return f"{NAME}-{int(route[1]) + 1}" if len(route) > 1 else NAME

    values: dict[Route, Any] = {
        ("models",): {NAME: _MODEL},
        ("models", "*"): _MODEL,
        ("models", "*", "model"): BUILTIN,
        ("models", "*", "parameters"): 1.0,
        ("models", "*", "tokens"): 1.0,
        ("agents",): [{"name": NAME, "model": first}],
        ("agents", "*"): agent,
        ("agents", "*", "name"): agent_name,
        ("agents", "*", "model"): first,
        ("methods",): {NAME: {"protocol": NAME}},
        ("dataset",): _QUESTIONS,
        ("datasets",): {NAME: _QUESTIONS},
        ("datasets", "*"): _QUESTIONS,
        (): None,
    }
    return Placeholders(values)


def protocol_placeholders(node: Node) -> Placeholders:
    """Return the placeholders of a protocol; its first role speaks each of its steps once."""
    roles, steps = node.find(("roles",)), node.find(("steps",))
    role = next(iter(roles.mapping()), "debater") if roles is not None else "debater"
    step = {"role": role, "prompt": _OPENING}
    return Placeholders({
        ("roles", "*"): "everyone",
        ("steps",): {NAME: step},
        ("steps", "*"): step,
        ("steps", "*", "role"): role,
        ("steps", "*", "prompt"): _OPENING,
        ("schedule",): list(steps.mapping()) if steps is not None else [NAME],
        ("schedule", "*", "repeat"): 1,
        ("schedule", "*", "do", "*", "repeat"): 1,
        ("decide",): "first",
    })  # fmt: skip


# ---------------------------------------------------------------- recovery
@dataclass(frozen=True, slots=True)
class Recovered(Generic[E]):
    """A validated text, the nodes that it was made of, its problems, and its invalid entries.

    `text` is None if nothing was left to validate.
    """

    text: E | None
    node: Node
    problems: tuple[PlacedProblem, ...]
    doubtful: Doubtful


def recover(
    entry: type[E],
    node: Node,
    placeholders: Placeholders,
    called: Callable[[Route], str] = dotted,
    doubtful: Doubtful = Doubtful(),
) -> Recovered[E]:
    """Validate a node against a type of the language, with placeholders for what is invalid.

    Parameters
    ----------
    entry : type
        A pydantic model.
    node : Node
    placeholders : Placeholders
    called : function
        What a message calls the value at a route below the node.
    doubtful : Doubtful
        Entries that are known to be invalid: no more problems of them are reported.
    """
    reported: list[PlacedProblem] = []
    guessed: set[Route] = set()
    for attempt in range(PASSES):
        try:
            return Recovered(entry.model_validate(node.plain()), node, tuple(reported), doubtful)
        except ValidationError as error:
            problems = validation_problems(node, called, error)
        new = [each for each in problems if _is_new(each, doubtful, is_first=attempt == 0)]
        # A value that does not fit the key that was probably meant shows that the guess was wrong.
        reported += [each.problem for each in new if each.route not in guessed]
        guessed |= {(*each.route[:-1], each.meant) for each in problems if each.meant}
        if any(each.route == () and each.kind == "no_mapping" for each in problems):
            break
        doubtful = doubtful.with_(*_invalid_entries(problems))
        node = _with_placeholders(node, problems, placeholders)
    return Recovered(None, node, tuple(reported), doubtful)


def _is_new(problem: ValidationProblem, doubtful: Doubtful, *, is_first: bool) -> bool:
    """Return whether a problem is not a consequence of earlier ones."""
    is_below = any(known == problem.route[: len(known)] for known in doubtful.routes)
    is_caused = not is_first and (problem.kind in _CONSEQUENCES or doubtful.has(*problem.route))
    return not is_below and not is_caused


def _invalid_entries(problems: Iterable[ValidationProblem]) -> list[Route]:
    """Return the routes of the entries that problems make doubtful.

    An unknown key leaves the others valid, but in a schedule it may be a misspelled form.
    """
    invalid = [each for each in problems if each.kind != "unknown_key" or each.route[:1] == ("schedule",)]
    return [_entry_route(each.route) for each in invalid if not each.meant]


def _entry_route(route: Route) -> Route:
    """Return the part of a route that names an entry and a key of it."""
    return route[:4] if route[:2] == ("analysis", "families") else route[:3]


def _with_placeholders(node: Node, problems: Iterable[ValidationProblem], placeholders: Placeholders) -> Node:
    """Return a node with its misspelled keys corrected and its invalid values replaced, the deepest and last first."""
    for problem in sorted(problems, key=_depth_and_place, reverse=True):
        correct = _with_key_renamed if problem.meant else _without_invalid
        node = correct(node, problem, placeholders)
    return node


def _depth_and_place(problem: ValidationProblem) -> tuple[int, tuple[tuple[int, str], ...]]:
    parts = tuple((part, "") if isinstance(part, int) else (0, part) for part in problem.route)
    return len(problem.route), parts


def _without_invalid(node: Node, problem: ValidationProblem, placeholders: Placeholders) -> Node:
    return without_value(node, problem.route, placeholders)


def _with_key_renamed(node: Node, problem: ValidationProblem, _: Placeholders) -> Node:
    above, key = node.find(problem.route[:-1]), str(problem.route[-1])
    value = node.find(problem.route)
    node = with_value(node, problem.route, _REMOVED)
    if above is None or value is None or problem.meant in above.mapping():
        return node
    return with_value(node, (*problem.route[:-1], problem.meant), value, above.key_mark((key,)))


def without_value(node: Node, route: Route, placeholders: Placeholders) -> Node:
    """Return a node with the value at a route replaced by its placeholder, or removed.

    If the value is missing and has no placeholder, the entry that lacks it is replaced or removed.
    """
    while route and placeholders.at(route) is _REMOVED and node.find(route) is None:
        route = route[:-1]
    return with_value(node, route, placeholders.at(route))


def with_value(node: Node, route: Route, value: Any, at: Mark | None = None) -> Node:
    """Return a node with another value at a route; positions stay."""
    if not route:
        return _as_node(None if value is _REMOVED else value, node)
    (key, *rest), below = route, tuple(route[1:])
    if isinstance(node.value, dict):
        entries = dict(node.value)
        if rest and str(key) in entries:
            entries[str(key)] = with_value(entries[str(key)], below, value, at)
        elif value is not _REMOVED:
            entries[str(key)] = _as_node(value, entries.get(str(key), node))
        else:
            entries.pop(str(key), None)
        keys = node.keys if at is None or rest else {**node.keys, str(key): at}
        return Node(entries, node.mark, keys, node.size)
    if isinstance(node.value, list) and isinstance(key, int) and key < len(node.value):
        items = list(node.value)
        if rest:
            items[key] = with_value(items[key], below, value, at)
        elif value is _REMOVED:
            del items[key]
        else:
            items[key] = _as_node(value, items[key])
        return Node(items, node.mark, node.keys, node.size)
    return node


def _as_node(value: Any, place: Node) -> Node:
    """Return plain values as nodes that all have the position of another."""
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        entries = {key: _as_node(item, place) for key, item in value.items()}
        return Node(entries, place.mark, dict.fromkeys(entries, place.mark), 1 + len(entries))
    if isinstance(value, list):
        return Node([_as_node(item, place) for item in value], place.mark)
    return Node(value, place.mark)
