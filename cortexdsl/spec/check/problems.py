"""What pydantic found, said in the words of the field: where, what, what is allowed, the nearest spelling."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cortexdsl.debate.weights.expressions import parse
from cortexdsl.debate.weights.names import NAMES, Place
from cortexdsl.errors import Problem, SpecError
from cortexdsl.spec.grammar.values.words import PATTERNS
from cortexdsl.spec.text.messages import dotted, nearest, shown
from cortexdsl.spec.text.nodes import Found, Mark, Node, Route

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


def check(entry: type[E], node: Node, called: Callable[[Route], str] = dotted) -> E:
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
        raise SpecError(in_order(wrong.told for wrong in placed(node, called, error))) from None


def plainest(problems: Iterable[Found]) -> list[Found]:
    """Keep one problem a place, the one that is said in the fewest words: the others follow from it."""
    kept: dict[Mark, Problem] = {}
    for mark, problem in problems:
        if mark not in kept or len(problem.what) < len(kept[mark].what):
            kept[mark] = problem
    return list(kept.items())


def in_order(problems: Iterable[Found]) -> Sequence[Problem]:
    """Sort problems by file and place, and drop repeated ones."""
    ranked = sorted(problems, key=lambda found: (found[0].file, found[0].line, found[0].column))
    return tuple(dict.fromkeys(problem for _, problem in ranked))


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that pydantic found.

    Attributes
    ----------
    route : Route
        In the text.
    kind : str
        Of pydantic, or ours.
    told : Found
        The place, and the problem in our words.
    meant : str
        Of an unknown key: the one that was probably meant.
    """

    route: Route
    kind: str
    told: Found
    meant: str = ""


def placed(node: Node, called: Callable[[Route], str], error: ValidationError) -> list[Wrong]:
    """Return what pydantic found; a key that is missing since it was misspelled is told once, as misspelled."""
    errors = error.errors(include_url=False)
    lacking = _lacking(errors)
    routes = [_as_written(node, _route(one)) for one in errors]
    found = [
        Wrong(route, one["type"], _problem(node, called, one, route), _meant(one) or lacking.get(route, ""))
        for one, route in zip(errors, routes, strict=True)
    ]
    misspelled = {(*wrong.route[:-1], wrong.meant) for wrong in found if wrong.meant}
    return [wrong for wrong in found if wrong.kind != "missing" or wrong.route not in misspelled]


def _lacking(errors: Iterable[Any]) -> Mapping[Route, str]:
    """Return, for the only unknown key of a mapping in which one key is missing, that one: it is what was meant."""
    by_entry: dict[Route, dict[str, list[Any]]] = {}
    for one in errors:
        if one["type"] in ("unknown_key", "missing"):
            by_entry.setdefault(_route(one)[:-1], {}).setdefault(one["type"], []).append(one)
    found = {}
    for kinds in by_entry.values():
        if [len(kinds.get(kind, ())) for kind in ("unknown_key", "missing")] == [1, 1]:
            (unknown,), (missing,) = kinds["unknown_key"], kinds["missing"]
            if not _meant(unknown):
                unknown["ctx"]["remedy"] = (
                    unknown["ctx"]["remedy"] or f"did you mean {_route(missing)[-1]}, which is missing?"
                )
                found[_route(unknown)] = str(_route(missing)[-1])
    return found


def _as_written(node: Node, route: Route) -> Route:
    """Return a route without the items of lists that are not written: one value may stand for a list of one."""
    kept: Route = ()
    for part in route:
        above = node.find(kept)
        if not isinstance(part, int) or above is None or isinstance(above.value, list):
            kept = (*kept, part)
    return kept


def _meant(error: Any) -> str:
    if error["type"] != "unknown_key" or error["ctx"]["remedy"]:
        return ""
    return next(iter(difflib.get_close_matches(str(error["loc"][-1]), error["ctx"]["allowed"], 1, 0.6)), "")


def _route(error: Any) -> Route:
    """Return the route in the text: `loc` without the tags of unions."""
    *above, last = error["loc"] or ("<none>",)
    kept = [part for part in above if not _is_tag(part)]
    return (*kept, last) if error["type"] == "unknown_key" or not _is_tag(last) else tuple(kept)


def _is_tag(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith(("<", "["))


def _problem(node: Node, called: Callable[[Route], str], error: Any, parts: Route) -> Found:
    """Place and word one error."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    on_key = kind == "unknown_key" or error["loc"][-1:] == ("[key]",)
    mark = node.key_mark(parts) if on_key or kind == "missing" else node.where(parts)
    what, remedy = _worded(kind, called(parts), parts, value, context)
    return mark, Problem(str(mark), what, remedy)


def _worded(kind: str, name: str, parts: Route, value: Any, context: Mapping[str, Any]) -> tuple[str, str]:
    subject = name or "the file"
    if kind == "said":
        return f"{subject}: {context['what']}" if name else str(context["what"]), str(context["remedy"])
    if kind == "unknown_key":
        return f"unknown key {name}", context["remedy"] or nearest((parts or ("",))[-1], context["allowed"])
    if kind == "missing":
        return f"{name} is missing", f"write `{parts[-1]}: ...` here"
    if kind == "no_mapping":
        return f"{subject} is {shown(value)}; a mapping is needed", f"write {context['example'] or '{...}'}"
    if kind == "no_such_form":
        return _no_such_form(subject, value, context)
    if kind in ("literal_error", "enum"):
        allowed = [w.strip(" '") for w in str(context["expected"]).replace(" or ", ", ").split(",")]
        return f"{subject} is {shown(value)}", nearest(value, allowed)
    if kind == "string_pattern_mismatch":
        return f"{subject} is {shown(value)}", PATTERNS.get(context["pattern"], f"pattern {context['pattern']}")
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        return f"{subject} is {shown(value)}", f"it must be {word} {context[bound]:,}"
    if kind in ("too_short", "string_too_short"):
        return f"{subject} is empty", f"at least {context.get('min_length', 1)} needed"
    if kind in ("too_long", "string_too_long"):
        return f"{subject} is too long", f"at most {context['max_length']:,} allowed"
    if kind in _WANTED:
        is_count = kind.startswith("int") and isinstance(value, str) and bool({"steps", "schedule"} & set(parts))
        worked_out = ", or one worked out of settings, such as $rounds - 1" if is_count else ""
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
    said = shown(value)
    if said == "a mapping":  # a mapping may stand here: its keys are what is wrong
        said = f"{{{', '.join(f'{key}: ...' for key in value)}}}"
    return f"{subject} is {said}", (f"did you mean {near[0]}? " if near else "") + remedy


def _meant_form(value: Any, forms: Mapping[str, str]) -> str:
    """Return the form that a value is the inside of: `top 2`, a list of roles, a condition, the weight of an answer."""
    if isinstance(value, list):
        is_roles = "role" in forms and all(isinstance(item, str) for item in value) and value
        return f"{{role: [{', '.join(value)}]}}" if is_roles else ""
    if not isinstance(value, str) or "$" in value:
        return ""
    match value.split():
        case [form, number] if form in forms and number.replace(".", "", 1).isdigit():
            return f"{{{form}: {number}}}"
    for form, place in _EXPRESSED.items():
        if form in forms and _is_expression(value, place):
            return f"{{{form}: {value}}}"
    return ""


_EXPRESSED: Mapping[str, Place] = {"where": "weight", "vote": "vote"}


def _is_expression(text: str, place: Place) -> bool:
    try:
        names = parse(text).names
    except ValueError:
        return False
    return bool(names) and names <= {*NAMES[place]}


def _type_remedy(kind: str, value: Any) -> str:
    if kind.startswith("bool") and isinstance(value, str):
        word = {"no": "false", "off": "false", "n": "false", "yes": "true", "on": "true", "y": "true"}
        found = word.get(value.lower())
        return f"{value} is read as a text: write {found}" if found else "write true or false, without quotes"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return f'if a text is meant, put it in quotes: "{shown(value)}"'
    if kind.startswith(("int", "float")) and isinstance(value, str):
        bare = value.replace("_", "").strip()
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
