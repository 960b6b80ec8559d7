"""Problems of a text: errors of pydantic in plain words, each at its place, in the order of files and lines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cortexdsl.errors import Problem, SpecError, nearest
from cortexdsl.expressions.evaluation import parse
from cortexdsl.expressions.names import NAMES, ExpressionPlace
from cortexdsl.language.grammar.entries import PATTERNS
from cortexdsl.language.grammar.old_words import value_remedy
from cortexdsl.language.nodes import Node, PlacedProblem, Route, dotted, in_order, shown

E = TypeVar("E", bound=BaseModel)

_WANTED: Mapping[str, str] = {
    "string_type": "a text", "int_type": "a whole number", "int_from_float": "a whole number",
    "int_parsing": "a whole number", "int_parsing_size": "a smaller number", "float_type": "a number",
    "float_parsing": "a number", "finite_number": "a finite number", "bool_type": "true or false",
    "bool_parsing": "true or false", "list_type": "a list", "tuple_type": "a list", "dict_type": "a mapping",
}  # fmt: skip
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than": ("more than", "gt"), "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"), "less_than_equal": ("at most", "le"),
}  # fmt: skip


def validate(entry: type[E], node: Node, called: Callable[[Route], str] = dotted) -> E:
    """Validate a node against a type of the language.

    Parameters
    ----------
    entry : type
        A pydantic model.
    node : Node
    called : function
        What a message calls the value at a route below the node.

    Raises
    ------
    SpecError
        Every problem of the node, in the order of the text.
    """
    try:
        return entry.model_validate(node.plain())
    except ValidationError as error:
        raise SpecError(in_order(_problems(node, called, error))) from None


def shortest_by_place(problems: Iterable[Problem]) -> list[Problem]:
    """Return the shortest problem of each place: the others are consequences of it."""
    shortest: dict[str, Problem] = {}
    for problem in problems:
        first = shortest.setdefault(problem.where, problem)
        if len(problem.what) < len(first.what):
            shortest[problem.where] = problem
    return list(shortest.values())


def _problems(node: Node, called: Callable[[Route], str], error: ValidationError) -> list[PlacedProblem]:
    """Return the errors of pydantic. A key that is missing because it is misspelled is reported once."""
    errors = error.errors(include_url=False)
    replaced = _misspelled_required_keys(errors)
    routes = [_as_written(node, _route(each)) for each in errors]
    meant = [_similar_key(each) or replaced.get(route, "") for each, route in zip(errors, routes, strict=True)]
    misspelled = {(*route[:-1], key) for route, key in zip(routes, meant, strict=True) if key}
    return [
        _problem(node, called, each, route)
        for each, route in zip(errors, routes, strict=True)
        if each["type"] != "missing" or route not in misspelled
    ]


def _misspelled_required_keys(errors: Iterable[Any]) -> Mapping[Route, str]:
    """Return, for the only unknown key of a mapping that lacks one required key, that required key."""
    by_entry: dict[Route, dict[str, list[Any]]] = {}
    for each in errors:
        if each["type"] in ("unknown_key", "missing"):
            by_entry.setdefault(_route(each)[:-1], {}).setdefault(each["type"], []).append(each)
    replaced = {}
    for kinds in by_entry.values():
        if [len(kinds.get(kind, ())) for kind in ("unknown_key", "missing")] == [1, 1]:
            (unknown,), (missing,) = kinds["unknown_key"], kinds["missing"]
            if not _similar_key(unknown):
                key, context = str(_route(missing)[-1]), unknown["ctx"]
                context["remedy"] = context["remedy"] or f"did you mean {key}, which is missing?"
                replaced[_route(unknown)] = key
    return replaced


def _as_written(node: Node, route: Route) -> Route:
    """Return a route without the items of lists that the text does not have: a value may be a list of one."""
    written: Route = ()
    for part in route:
        above = node.find(written)
        if not isinstance(part, int) or above is None or isinstance(above.value, list):
            written = (*written, part)
    return written


def _similar_key(error: Any) -> str:
    if error["type"] != "unknown_key" or error["ctx"]["remedy"]:
        return ""
    return next(iter(difflib.get_close_matches(str(error["loc"][-1]), error["ctx"]["allowed"], 1, 0.6)), "")


def _route(error: Any) -> Route:
    """Return the route in the text: `loc` without the tags of unions."""
    *above, last = error["loc"] or ("<none>",)
    keys = [part for part in above if not _is_tag(part)]
    return (*keys, last) if error["type"] == "unknown_key" or not _is_tag(last) else tuple(keys)


def _is_tag(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith(("<", "["))


def _problem(node: Node, called: Callable[[Route], str], error: Any, parts: Route) -> PlacedProblem:
    """Return the place of an error, and the problem in plain words."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    on_key = kind == "unknown_key" or error["loc"][-1:] == ("[key]",)
    mark = node.key_mark(parts) if on_key or kind == "missing" else node.where(parts)
    what, remedy = _worded(kind, called(parts), parts, value, context)
    return mark, Problem(str(mark), what, remedy)


def _worded(kind: str, name: str, parts: Route, value: Any, context: Mapping[str, Any]) -> tuple[str, str]:
    subject = name or "the file"
    if kind == "invalid":
        return f"{subject}: {context['what']}" if name else str(context["what"]), str(context["remedy"])
    if kind == "unknown_key":
        return f"unknown key {name}", context["remedy"] or nearest((parts or ("",))[-1], context["allowed"])
    if kind == "missing":
        return f"{name} is missing", f"write `{parts[-1]}: ...` here"
    if remedy := value_remedy(parts, value):
        return f"{subject} is {shown(value)}", remedy
    if kind == "no_mapping":
        return f"{subject} is {shown(value)}; a mapping is needed", f"write {context['example'] or '{...}'}"
    if kind == "no_such_form":
        return _no_such_form(subject, value, context)
    if kind in ("literal_error", "enum"):
        allowed = re.findall(r"'([^']*)'", context["expected"])
        return f"{subject} is {shown(value)}", nearest(value, [w if w.isidentifier() else f'"{w}"' for w in allowed])
    if kind == "string_pattern_mismatch":
        return f"{subject} is {shown(value)}", PATTERNS.get(context["pattern"], f"pattern {context['pattern']}")
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        return f"{subject} is {shown(value)}", f"it must be {word} {context[bound]:,}"
    if kind in ("too_short", "string_too_short"):
        return f"{subject} is {'too short' if value else 'empty'}", f"at least {context.get('min_length', 1)} needed"
    if kind in ("too_long", "string_too_long"):
        return f"{subject} is too long", f"at most {context['max_length']:,} allowed"
    if kind in _WANTED:
        is_count = kind.startswith("int") and isinstance(value, str) and bool({"steps", "schedule"} & set(parts))
        worked_out = ", or one worked out of settings, such as $rounds - 1" if is_count else ""
        if (
            kind == "string_type"
            and isinstance(value, dict)
            and not (key := str(next(iter(value), "a"))).isidentifier()
        ):
            inner = next(iter(value.values()))
            return f"{subject} holds `: `, which makes it a mapping", f"put it in quotes: '{key}: {inner}'"
        return f"{subject} is {shown(value)}; {_WANTED[kind]} is needed", _type_remedy(kind, value) + worked_out
    return f"{subject} is {shown(value)}", str(context.get("error", kind.replace("_", " ")))


def _no_such_form(subject: str, value: Any, context: Mapping[str, Any]) -> tuple[str, str]:
    words, forms = context["words"], context["forms"]
    if isinstance(value, str) and value in forms:
        return f"{subject}: {value} needs a value", f"write {forms[value]}"
    if meant := _meant_form(value, forms):
        return f"{subject} is {shown(value)}", f"write {meant}"
    written = next(iter(value), "") if isinstance(value, dict) else value
    near = difflib.get_close_matches(str(written), [*words, *forms], 1)
    remedy = f"allowed: {', '.join([*words, *forms.values()])}"
    summary = shown(value)
    if summary == "a mapping":  # mappings are allowed: show the keys, which are the problem
        summary = f"{{{', '.join(f'{key}: ...' for key in value)}}}"
    return f"{subject} is {summary}", (f"did you mean {near[0]}? " if near else "") + remedy


def _meant_form(value: Any, forms: Mapping[str, str]) -> str:
    """Return the form that a bare value belongs in: `top 2`, a condition, the weight of an answer."""
    if not isinstance(value, str) or "$" in value:
        return ""
    match value.split():
        case [form, number] if form in forms and number.replace(".", "", 1).isdigit():
            return f"{{{form}: {number}}}"
    for form, place in _EXPRESSED.items():
        if form in forms and is_expression(value, place):
            return f"{{{form}: {value}}}"
    return ""


_EXPRESSED: Mapping[str, ExpressionPlace] = {"where": "weight", "vote": "vote"}


def is_expression(text: str, place: ExpressionPlace) -> bool:
    """Return whether a text is an expression that has a value at a place."""
    try:
        names = parse(text).names
    except ValueError:
        return False
    return bool(names) and names <= {*NAMES[place]}


def _type_remedy(kind: str, value: Any) -> str:
    if kind.startswith("bool") and isinstance(value, str):
        word = {"no": "false", "off": "false", "n": "false", "yes": "true", "on": "true", "y": "true"}
        meant = word.get(value.lower())
        return f"{value} is read as a text: write {meant}" if meant else "write true or false, without quotes"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return f'if a text is meant, put it in quotes: "{shown(value)}"'
    if kind.startswith(("int", "float")) and isinstance(value, str):
        bare = value.replace("_", "").strip()
        if re.fullmatch(r"\d{1,3}(,\d{3})+", bare):
            return f"write it without commas: {bare.replace(',', '')}"
        if bare.lstrip("+-0").replace(".", "", 1).isdigit():
            return "write it without quotes and leading zeros"
        if bare.endswith("%") and kind.startswith("int"):
            return "write a whole number: how many, not a share"
        if bare.endswith("%"):
            return f"write {bare[:-1]}e-2, a share of 1"
    if kind in ("list_type", "tuple_type"):
        return f"write [{value}]" if isinstance(value, str | int | float) else "begin each item with a dash"
    if kind == "dict_type":
        return "remove the line, or write entries below it" if value is None else "write {NAME: ...}"
    if value is None:
        return f"write {_WANTED[kind]}, or remove the line"
    return f"write {_WANTED[kind]}{', such as 7.6e9' if kind.startswith('float') else ''}"


_POSITION = re.compile(r"(.*):(\d+):(\d+)")


def add_new(problems: list[Problem], more: Iterable[Problem]) -> None:
    """Add the problems of a later stage, except at places with earlier problems, which probably cause them."""
    known = {problem.where for problem in problems}
    problems += [problem for problem in dict.fromkeys(more) if problem.where not in known]


def sorted_by_place(problems: Iterable[Problem], own: Iterable[Path]) -> tuple[Problem, ...]:
    """Return problems sorted by file (a spec's own files first) and place, each once."""
    files = [str(path) for path in own]

    def place(problem: Problem) -> tuple[int, str, int, int]:
        file, line, column = problem.where, 0, 0
        if position := _POSITION.fullmatch(problem.where):
            file, line, column = position[1], int(position[2]), int(position[3])
        return files.index(file) if file in files else len(files), file, line, column

    return tuple(sorted(dict.fromkeys(problems), key=place))
