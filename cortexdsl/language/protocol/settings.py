"""Settings of a protocol: `$name` is replaced by the value of that setting.

A value that is `$name` alone becomes the value of the setting, with its position. If a graph is needed, this may be a
name of `topologies:`, and becomes what the name stands for. Within a longer text, numbers and words are inserted: as
text into expressions, a `prompt`, and a `similarity`; elsewhere the text is arithmetic, which is evaluated. The texts
in `with:` belong to the user, so only a whole value is a setting there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import get_args

from cortexdsl.errors import Problem, SpecError
from cortexdsl.expressions import evaluation
from cortexdsl.language.grammar.hears import HearsWord
from cortexdsl.language.nodes import Mark, Node, PlacedProblem, Route, dotted, refuse, shown

_WHOLE = re.compile(r"\$([A-Za-z_]\w*)")
_SPLICED = ("prompt", "similarity", "networkx")
_EXPRESSIONS = ("weight", "where", "until", "if", "vote")
_UNTOUCHED = ("settings", "title", "source")
_GRAPHS = ("hears", "topology")
_WORDS = get_args(HearsWord)


def references(node: Node, route: Route = ()) -> Iterator[tuple[str, Route, Mark]]:
    """Yield every reference to a setting: its name, the route of the value, and its position."""
    if isinstance(node.value, str):
        for name in _named(node.value, route):
            yield name, route, node.mark
        return
    for key, child in _children(node):
        if route or key not in _UNTOUCHED:
            yield from references(child, (*route, key))


def _named(text: str, route: Route) -> list[str]:
    if "with" in route:
        whole = _WHOLE.fullmatch(text)
        return [whole[1]] if whole else []
    return _WHOLE.findall(text)


def _children(node: Node) -> Iterator[tuple[str | int, Node]]:
    if isinstance(node.value, dict):
        yield from node.value.items()
    elif isinstance(node.value, list):
        yield from enumerate(node.value)


@dataclass(slots=True)
class Substitution:
    """Replaces references by the values of one set of settings.

    Attributes
    ----------
    settings : mapping of str to Node
    label : str
        What messages call the owner of the settings, such as `methods.sparse`; may be empty.
    origins : dict of Route to str
        Filled by `apply`: route in the protocol -> what a message calls the value there.
    problems : list of PlacedProblem
        Filled by `apply`: texts that are not arithmetic, have no finite value, or contain a setting that is neither a
        number nor a word. They stay as written.
    """

    settings: Mapping[str, Node]
    label: str = ""
    origins: dict[Route, str] = field(default_factory=dict)
    problems: list[PlacedProblem] = field(default_factory=list)
    topologies: Mapping[str, Node] = field(default_factory=dict, init=False)

    def apply(self, node: Node, route: Route = ()) -> Node:
        """Return a node with the values of the settings."""
        if not route and "topologies" in node.mapping():
            self.topologies = node.mapping()["topologies"].mapping()
        if isinstance(node.value, str):
            try:
                return self._text(node, route)
            except SpecError as error:
                self.problems += [(node.mark, problem) for problem in error.problems]
                return node
        if isinstance(node.value, dict):
            items = {
                key: child if not route and key in _UNTOUCHED else self.apply(child, (*route, key))
                for key, child in node.value.items()
            }
            return Node(items, node.mark, node.keys, 1 + sum(item.size for item in items.values()))
        if isinstance(node.value, list):
            listed = [self.apply(child, (*route, i)) for i, child in enumerate(node.value)]
            flat = self._spread(node.value, listed) if route[-1:] == ("shows",) else listed
            return Node(flat, node.mark, node.keys, 1 + sum(item.size for item in flat))
        return node

    def called(self, route: Route) -> str:
        """Return what a message calls the value at a route of the protocol."""
        for end in range(len(route), 0, -1):
            if route[:end] in self.origins:
                rest = dotted(route[end:])
                name = self.origins[route[:end]]
                return f"{name}{'.' if rest and not rest.startswith('[') else ''}{rest}"
        return ": ".join(filter(None, [self.label, dotted(route)]))

    def _spread(self, written: list[Node], applied: list[Node]) -> list[Node]:
        """Return a list in which a setting that is a list, as in `shows: [$shows, evidence]`, is expanded."""
        flat: list[Node] = []
        for before, after in zip(written, applied, strict=True):
            flat += after.value if isinstance(after.value, list) and before is not after else [after]
        return flat

    def _text(self, node: Node, route: Route) -> Node:
        text = str(node.value)
        names = _named(text, route)
        if not names:
            return node
        if _WHOLE.fullmatch(text):
            self.origins[route] = ".".join(filter(None, [self.label, names[0]]))
            return self._graph(self.settings[names[0]], route) if route[-1] in _GRAPHS else self.settings[names[0]]
        marks = [self.settings[name].mark for name in names]
        mark = next((mark for mark in marks if mark.file != node.mark.file), marks[0])  # a method's, not a default's
        given = ", ".join(f"{name}: {shown(self.settings[name].plain())}" for name in dict.fromkeys(names))
        self.origins[route] = ": ".join(filter(None, [self.label, f"{text!r} with {given}"]))
        if route[-1] in _SPLICED:
            return Node(_WHOLE.sub(lambda match: self._word(match[1]), text), mark)
        is_condition = route[-1] == "if"
        filled = _WHOLE.sub(lambda match: f"({self._word(match[1], is_condition=is_condition)})", text)
        if route[-1] in _EXPRESSIONS:
            return Node(filled, mark)
        if not _is_arithmetic(_WHOLE.sub("(1)", text)):  # whatever the settings are
            remedy = f"write a number, a setting, or arithmetic such as ${names[0]} + 1"
            refuse(node.mark, f"{dotted(route)}: {text!r} is not a number", remedy)
        return Node(self._computed(filled, mark, route), mark)

    def _graph(self, value: Node, route: Route) -> Node:
        """Return what a value stands for if it is a name of `topologies:`; other values as they are."""
        if not isinstance(value.value, str) or not self.topologies:
            return value
        if value.value in self.topologies:
            return self.apply(self.topologies[value.value], route)
        if value.value not in _WORDS and (near := get_close_matches(value.value, self.topologies, 1)):
            remedy = f"did you mean {near[0]}? allowed: {', '.join([*_WORDS, *self.topologies])}, or a mapping"
            refuse(value.mark, f"{self.called(route)} is {shown(value.value)}", remedy)
        return value

    def _word(self, name: str, *, is_condition: bool = False) -> str:
        node = self.settings[name]
        if isinstance(node.value, bool) and is_condition:
            return "consensus" if node.value else "never"
        if isinstance(node.value, bool) or not isinstance(node.value, str | int | float):
            refuse(node.mark, f"{name} is {shown(node.plain())}; a number or a word is needed", "it is part of a text")
        return str(node.value)

    def _computed(self, text: str, mark: Mark, route: Route) -> int | float:
        try:
            number = float(evaluation.evaluate(evaluation.parse(text), {}))
        except (ValueError, KeyError, TypeError) as error:
            raise SpecError([Problem(str(mark), f"{self.called(route)} is not a number", str(error))]) from None
        if number != number or abs(number) == float("inf"):
            refuse(mark, f"{self.called(route)} divides by 0, or is too large", "give a setting another value")
        return int(number) if number == int(number) else number


def _is_arithmetic(text: str) -> bool:
    try:
        evaluation.parse(text)
    except ValueError:
        return False
    return True
