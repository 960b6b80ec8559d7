"""YAML text to nodes with their positions.

A node is a scalar, a list of nodes, or a mapping of nodes. `7.6e9`, `18e12`, and `50_000` are numbers, only `true` and
`false` are booleans, and `no`, `on`, or a date are texts. Files are limited in bytes, depth, and expanded nodes, so
that aliases cannot exhaust the memory.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from cortexdsl.core import Scalar
from cortexdsl.errors import Problem, SpecError
from cortexdsl.language.nodes import Mark, Node, refuse

MAX_BYTES = 1_000_000
MAX_NODES = 100_000
MAX_DEPTH = 40

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(
    r"[-+]?(?:(?:0|[1-9]\d*(?:_\d+)*)(?P<point>\.(?:\d+(?:_\d+)*)?)?|(?P<bare>\.\d+))(?P<exponent>[eE][-+]?\d+)?"
)
_THOUSANDS = re.compile(r"\d{3}")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS: Mapping[str, bool | None] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "null": None, "Null": None, "NULL": None, "~": None, "": None,
}  # fmt: skip


def read(path: Path) -> Node:
    """Read a YAML file.

    Raises
    ------
    SpecError
        The file is missing, a folder, too large, not UTF-8, or not YAML that `parse` accepts.
    """
    name = str(path)
    if path.is_dir():
        refuse(name, "this is a folder", "name a .yaml file in it")
    if not path.exists():
        names = [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, names, 1)
        refuse(name, "there is no such file", f"did you mean {path.parent / near[0]}?" if near else "")
    if not path.is_file():
        refuse(name, "this is not an ordinary file", "name a .yaml file")
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        refuse(name, f"cannot be read: {error.strerror}", "check the permissions")
    if len(content) > MAX_BYTES:
        refuse(name, f"the file has more than {MAX_BYTES:,} bytes", "move data out of it, into a file that it names")
    try:
        return parse(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        refuse(Mark(name, line, column), f"byte 0x{content[error.start]:02x} is not UTF-8", "save the file as UTF-8")


def parse(text: str, file: str) -> Node:
    """Read YAML text whose top level is a mapping.

    Parameters
    ----------
    text : str
    file : str
        The name that positions carry.

    Raises
    ------
    SpecError
        Syntax errors, duplicate keys, tags, infinite numbers, several documents, an empty text, a top level
        that is not a mapping, more than 100,000 expanded nodes, or more than 40 levels.
    """
    if odd := _FORBIDDEN.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        column = odd.start() - (text.rfind("\n", 0, odd.start()) + 1) + 1
        refuse(Mark(file, line, column), f"control character U+{ord(odd[0]):04X}", "remove it")
    builder = _Builder(yaml.parse(text, Loader=_LOADER), file)
    try:
        root = builder.document()
    except yaml.MarkedYAMLError as error:
        _refuse_syntax(error, text, file)
    if not isinstance(root.value, dict):
        refuse(root.mark, "the file holds no mapping at its top level", "begin with a line such as `title: ...`")
    if builder.problems:
        raise SpecError(builder.problems)
    return root


_SYNTAX = (
    ("mapping values are not allowed", "a colon in a place without keys", "quote the text, or check the indentation"),
    ("expected ',' or", "a bracket is not closed, or the text before this needs quotes", "close it, or quote the text"),
    ("expected <block end>", "the indentation does not fit", "align the keys of a mapping in one column"),
    ("did not find expected key", "the indentation does not fit", "align the keys of a mapping in one column"),
    ("expected '-' indicator", "the indentation does not fit", "align the dashes of a list in one column"),
    ("could not find expected ':'", "a line without a colon", "write `key: value`"),
    ("unexpected end of stream", "a quote or bracket is never closed", "close it"),
    ("undefined alias", "this alias names no anchor before it", "write &name at the value that *name repeats"),
)


def _refuse_syntax(error: yaml.MarkedYAMLError, text: str, file: str) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.splitlines()
    here = lines[line][column : column + 1] if line < len(lines) else ""
    place, message = Mark(file, line + 1, column + 1), error.problem or "not YAML"
    if line < len(lines) and (odd := _ODD_SPACE.search(lines[line])):
        refuse(Mark(file, line + 1, odd.start() + 1), *_of_odd_space(odd[0]))
    if here == "\t" or (line < len(lines) and "\t" in lines[line][: len(lines[line]) - len(lines[line].lstrip())]):
        refuse(place, "a tab in the indentation", "indent with spaces")
    if "cannot start any token" in message:
        refuse(place, f"a text cannot begin with {here!r}", "put the text in quotes")
    for sign, what, remedy in _SYNTAX:
        if sign in message:
            opened = error.context_mark if "bracket" in what else None
            since = f" (it opened at {opened.line + 1}:{opened.column + 1})" if opened else ""
            refuse(place, what + since, remedy)
    refuse(place, f"not YAML: {message}", "quote texts that hold : # [ ] { } , & * ! | > ' \" % @")


_ODD_SPACE = re.compile("[\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]")


def _refuse_odd_space(event: Any, mark: Mark) -> None:
    """Refuse a space that only looks like one in a text without quotes."""
    if not event.style and (odd := _ODD_SPACE.search(event.value)):
        refuse(mark, *_of_odd_space(odd[0]))


def _of_odd_space(space: str) -> tuple[str, str]:
    return (
        f"U+{ord(space):04X}, {unicodedata.name(space).lower()}",
        "write an ordinary space; or put the text in quotes",
    )


class _Builder:
    """Builds nodes from the events of a YAML parser."""

    def __init__(self, events: Iterator[Any], file: str) -> None:
        self.events = events
        self.file = file
        self.anchors: dict[str, Node | None] = {}
        self.problems: list[Problem] = []

    def document(self) -> Node:
        """Read the one document of the text."""
        root: Node | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    refuse(self.mark(event), "a second document begins here", "one file holds one document")
                root = self.node(next(self.events), 0)
        if root is None or root.value is None:
            refuse(Mark(self.file, 1, 1), "the file is empty", "begin with a line such as `title: ...`")
        return root

    def mark(self, event: Any) -> Mark:
        return Mark(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def node(self, event: Any, depth: int) -> Node:
        mark = self.mark(event)
        if depth > MAX_DEPTH:
            refuse(mark, f"more than {MAX_DEPTH} levels of nesting", "write it flatter")
        if isinstance(event, yaml.AliasEvent):
            node = self.anchors.get(str(event.anchor))
            if node is None:
                reason = "contains itself" if event.anchor in self.anchors else "names no anchor before it"
                refuse(mark, f"alias *{event.anchor} {reason}", "write &name at the value that *name repeats")
            return node
        if event.tag is not None:
            refuse(mark, f"the tag {event.tag} is not part of the language", "remove it; quote what must be text")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event.value, mark) if event.implicit[0] and not event.style else event.value
            _refuse_odd_space(event, mark)
            node = Node(value, mark)
        elif isinstance(event, yaml.SequenceStartEvent):
            items = [self.node(item, depth + 1) for item in self.until(yaml.SequenceEndEvent)]
            node = Node(items, mark, size=1 + sum(item.size for item in items))
        else:
            node = self.mapping(mark, depth)
        if node.size > MAX_NODES:
            refuse(mark, f"aliases expand to more than {MAX_NODES:,} values", "repeat less")
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def until(self, end: type[Any]) -> Iterator[Any]:
        while not isinstance(event := next(self.events), end):
            yield event

    def mapping(self, mark: Mark, depth: int) -> Node:
        own: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        inherited: list[Node] = []
        for event in self.until(yaml.MappingEndEvent):
            at = self.mark(event)
            if not isinstance(event, yaml.ScalarEvent):
                refuse(at, "a key must be a word", 'a text that begins with a brace needs quotes: "{{ name }}"')
            name = event.value
            _refuse_odd_space(event, at)
            node = self.node(next(self.events), depth + 1)
            if _THOUSANDS.fullmatch(name) and node.value is None and not event.style:
                refuse(at, "a comma in a number separates entries here", "write 1000000, without commas")
            if name == "<<" and not event.style:
                inherited += self.merged(node)
            elif name in own:
                first = keys[name]
                self.problems.append(Problem(str(at), f"{name!r} is written twice", f"first at {first}; keep one"))
            else:
                own[name], keys[name] = node, at
        for node in inherited:
            for name, child in node.mapping().items():
                if name not in own:
                    own[name], keys[name] = child, node.keys[name]
        return Node(own, mark, keys, 1 + sum(child.size for child in own.values()))

    def merged(self, node: Node) -> list[Node]:
        parts = node.value if isinstance(node.value, list) else [node]
        for part in parts:
            if not isinstance(part.value, dict):
                refuse(part.mark, "<< takes a mapping, or a list of mappings", "write `<<: *name`")
        return parts

    def scalar(self, text: str, mark: Mark) -> Scalar:
        if text in _WORDS:
            return _WORDS[text]
        if _NOT_FINITE.fullmatch(text):
            self.problems.append(Problem(str(mark), f"{text} is not a finite number", "write a number"))
            return 0
        number_parts = _NUMBER.fullmatch(text)
        if number_parts is None:
            return text
        if len(text) > 400:
            self.problems.append(Problem(str(mark), f"a number of {len(text)} digits", "quote it if it is a text"))
            return 0
        if not any(number_parts.group("point", "bare", "exponent")):
            return int(text)
        number = float(text)
        if number in (float("inf"), float("-inf")):
            self.problems.append(Problem(str(mark), f"{text} is too large for a number", "write a smaller one"))
            return 0
        # 18e12 and 5e4 are whole numbers if a float holds them exactly; 1.0 is not one.
        return int(number) if number_parts["exponent"] and number.is_integer() and abs(number) <= 2**53 else number
