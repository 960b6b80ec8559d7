"""Values of a row: fields by name or path, options, passages, golds and decimal marks."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.kinds import BETWEEN
from cortexdsl.tasks.reading.number import Mark, canonical_number
from cortexdsl.tasks.reading.statements import boxes

_INSIDE = re.compile(r"\n?\s*(?:Answer Choices|Options|Choices):?\s*((?:\s*\([A-Z]\)[^\n]*)+)\s*$")
_IN_LINE = re.compile(r"(?:^|, )([a-e]) \) (.*?)(?=\s*, [a-e] \) |$)")  # MathQA: `a ) 38 , b ) 27.5`
_MISSING = object()
_FILLER = ("", "N/A")


def field(row: Mapping[str, Any], names: Any, default: Any = None) -> Any:
    """Return a field of a row.

    Parameters
    ----------
    row : mapping
    names : str or list of str
        A column, a dotted path (`Answer.Value`; lists on the way are mapped over), or several: the first that
        is there.
    default
        Returned if none is there.
    """
    for name in [names] if isinstance(names, str) else names or []:
        value = _at(row, name)
        if value is not _MISSING and value is not None:
            return value
    return default


def has_column(row: Mapping[str, Any], name: str) -> bool:
    """Tell whether a row has a column or dotted path, also with an empty value."""
    return _at(row, name) is not _MISSING


def _at(row: Any, path: str) -> Any:
    if isinstance(row, Mapping) and path in row:
        return row[path]
    head, _, rest = path.partition(".")
    if isinstance(row, list):
        values = [_at(part, path) for part in row]
        return [value for value in values if value is not _MISSING] or _MISSING
    if not rest or not isinstance(row, Mapping) or head not in row:
        return _MISSING
    return _at(row[head], rest)


def pages_of(value: Any) -> Sequence[tuple[str, Sequence[str]]] | None:
    """Return the (title, sentences) of HotpotQA's pages; None if a value is not a list of pages.

    On disk pages are `[title, [sentence, ...]]`, on the hub `{title: [...], sentences: [[...], ...]}`.
    """
    match value:
        case {"title": [*titles], "sentences": [*pages]} | {"title": [*titles], "content": [*pages]} if len(
            titles
        ) == len(pages):
            value = list(zip(titles, pages, strict=True))
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return value if is_list and all(isinstance(page, list | tuple) and len(page) == 2 for page in value) else None


def passage_of(value: Any) -> str:
    """Return a context as text: a text as it is, pages one a line."""
    if pages := pages_of(value):
        return "\n".join(f"{title}: {' '.join(part.strip() for part in parts)}" for title, parts in pages)
    if isinstance(value, Mapping):
        raise DataError(f"a passage with the parts {', '.join(map(str, value))}\n    name one: context: COLUMN.PART")
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)


def options_of(row: Mapping[str, Any], where: Any) -> tuple[tuple[str, str], ...]:
    """Return the (label, text) options of a row.

    Parameters
    ----------
    row : mapping
    where : None, str, list or mapping
        None: no options. A field that holds a list of texts, a list of {label, text}, or {label: [...], text:
        [...]}. `{columns: [...]}`: one option a column. `{inside: field}`: `(A) ...` lines that end a text. A
        list: the first of these that gives options.

    Raises
    ------
    DataError
        The field holds something else, or more than 26 options.
    """
    if where is None:
        return ()
    if isinstance(where, list):
        return next((found for found in (options_of(row, each) for each in where) if found), ())
    if isinstance(where, Mapping):
        if "inside" in where:
            return split_options(str(field(row, where["inside"], "")))[1]
        texts = [field(row, column) for column in where["columns"]]
        return _lettered([text for text in texts if text is not None])
    value = field(row, where)
    if isinstance(value, str):
        value = [text for _, text in _IN_LINE.findall(value)] or _parsed(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case {"label": [*labels], "text": [*texts]} if len(labels) == len(texts):
            return tuple((str(label), str(text)) for label, text in zip(labels, texts, strict=True))
        case Mapping() if all(isinstance(text, str | int | float | None) for text in value.values()):
            return tuple((str(label), str(text)) for label, text in value.items() if text is not None)
        case [{"label": _, "text": _}, *_] if all({"label", "text"} <= {*option} for option in value):
            return tuple((str(option["label"]), str(option["text"])) for option in value)
        case list() | None if not any(isinstance(text, list | Mapping) for text in value or ()):
            return _lettered(value or [])
    raise DataError(
        f"options {str(field(row, where))[:60]!r} cannot be read\n"
        '    write a list such as ["one", "two"], or name one column for each option: choices: [A, B, C]'
    )


def split_options(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split a text that ends in `Options:` and `(A) ...` lines into the text and the options."""
    found = _INSIDE.search(text)
    if found is None:
        return text, ()
    options = re.findall(r"\(([A-Z])\)\s*([^\n]*)", found[1])
    return text[: found.start()].rstrip(), tuple((label, option.strip()) for label, option in options)


def _lettered(texts: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Give letters to texts; fillers that pad a row to a fixed number of options are dropped."""
    kept = [str(text).strip() for text in texts if str(text).strip() not in _FILLER]
    if len(kept) > len(string.ascii_uppercase):
        raise DataError(f"a question with {len(kept)} options\n    at most 26 are possible")
    return tuple(zip(string.ascii_uppercase, kept, strict=False))


def _parsed(text: str) -> Any:
    """A list or mapping that a CSV cell holds as JSON or as Python writes it; the text if it holds neither."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError):
            continue
        if isinstance(value, list | dict):
            return value
    return text if text.strip() else None


Options: TypeAlias = tuple[tuple[str, str], ...]
Converter: TypeAlias = Callable[[Any, Options], list[str]]


def _plain(value: Any, options: Options) -> list[str]:
    """A text, a number or a list of either (numpy arrays of Parquet files included)."""
    if value is None:
        return []
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [text for part in value for text in _plain(part, options)]
    if isinstance(value, dict):  # SQuAD on the hub: {"text": [...], "answer_start": [...]}
        return _plain(value.get("text", value.get("value")), options)
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [str(value)]


def _hashes(value: Any, options: Options) -> list[str]:
    """GSM8K: what follows the last `####`."""
    return [str(value).rsplit("####", 1)[-1].strip()] if "####" in str(value) else []


def _boxed(value: Any, options: Options) -> list[str]:
    """MATH: the last box of the solution."""
    found = boxes(str(value))
    return [found[-1][1]] if found else []


def _label(value: Any, options: Options) -> list[str]:
    """A label, or the index from 0 of an option."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [options[value][0]] if 0 <= value < len(options) else []
    return [str(value).strip().strip("()")]


def _first_option(value: Any, options: Options) -> list[str]:
    """GPQA and SciQ keep the right option in a column of its own: the first, before options are shuffled."""
    return [options[0][0]] if options else []


def _option_text(value: Any, options: Options) -> list[str]:
    """MathVista: the text of an option, which may look like the label of another one."""
    return [label for label, text in options if text == str(value).strip()][:1]


def _option_number(value: Any, options: Options) -> list[str]:
    """WinoGrande: the place of the right option, counted from 1."""
    number = str(value).strip()
    return [options[int(number) - 1][0]] if number.isdecimal() and 0 < int(number) <= len(options) else [number]


_BITS = {"1": "yes", "1.0": "yes", "0": "no", "0.0": "no", "t": "yes", "f": "no", "y": "yes", "n": "no"}


def _boolean(value: Any, options: Options) -> list[str]:
    """Return bits and single letters as yes or no; another value as it is, which the kind spells or refuses."""
    written = str(value).strip()
    return [_BITS.get(written.lower(), written)]


def _answers_or_none(value: Any, options: Options) -> list[str]:
    """SQuAD 2.0: no answer at all means that the passage holds none, which is the empty answer."""
    return list(dict.fromkeys(_plain(value, options))) or [""]


def _spans(value: Any, options: Options) -> list[str]:
    """DROP: a number, spans or a date; several spans are one answer. Answers of several people are further golds.

    Your own files may have texts instead, or lists of texts: an inner list has the spans of one answer.
    """
    if isinstance(value, dict) and isinstance(value.get("number"), list):  # the hub has a list for each part
        value = [dict(zip(value, parts, strict=True)) for parts in zip(*value.values(), strict=True)]
    if isinstance(value, list):
        of_each = ([BETWEEN.join(_plain(part, options))] if isinstance(part, list) else part for part in value)
        return [text for part in of_each for text in _spans(part, options)]
    if not isinstance(value, dict) or not value.keys() >= {"number", "spans", "date"}:
        return [text for text in _plain(value, options) if text.strip(f"{BETWEEN}\n")]
    date = " ".join(filter(None, (value["date"].get(part) for part in ("day", "month", "year"))))
    texts = _plain(value["number"] or value["spans"] or date, options)
    return [BETWEEN.join(texts)] if any(map(str.strip, texts)) else []


def _no_thousands(value: Any, options: Options) -> list[str]:
    """GSM-IC: a number, sometimes with a unit behind it."""
    return [match[0] for match in [re.search(r"-?[\d,]*\.?\d+", str(value))] if match]


def lines_of(value: Any) -> list[str]:
    """Return a list of texts as it is, also one that is written in a cell, and a text as its lines."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str):
        parsed = _parsed(value) if value.lstrip().startswith("[") else None
        value = parsed if isinstance(parsed, list) else value.splitlines()
    return [str(line) for line in (value if isinstance(value, list | tuple) else filter(None, [value]))]


_PREFERENCES = {
    **dict.fromkeys(("1", "model_a", "first", "chosen"), "A"),
    **dict.fromkeys(("2", "model_b", "second"), "B"),
    **dict.fromkeys(("tie (bothbad)", "tie (inconsistent)", "equal", "draw"), "tie"),
}


def _preferences(value: Any, options: Options) -> list[str]:
    """Return labels of the better reply: A, B or tie, also as arenas (`model_a`) and LLMBar (1) write them."""
    return [_PREFERENCES.get(each.strip().lower(), each.strip()) for each in _plain(value, options)]


def _tests(value: Any, options: Options) -> list[str]:
    """Join a list of assertions to one program."""
    return ["\n".join(lines_of(value))]


CONVERTERS: Mapping[str, Converter] = {
    "plain": _plain,
    "hashes": _hashes,
    "boxed": _boxed,
    "label": _label,
    "first_option": _first_option,
    "option_number": _option_number,
    "option_text": _option_text,
    "boolean": _boolean,
    "answers_or_none": _answers_or_none,
    "number": _no_thousands,
    "spans": _spans,
    "preference": _preferences,
    "tests": _tests,
}


_DIGITS = re.compile(r"\d[\d.,]*")
_COMMA = re.compile(r"(\d{1,3}(\.\d{3})+|\d+),\d+|\d{1,3}(\.\d{3})+")  # 3,5 and 1.234,5 and 1.234
_POINT = re.compile(r"(\d{1,3}(,\d{3})+|\d+)\.\d+|\d{1,3}(,\d{3})+")  # 3.5 and 1,234.5 and 1,234


def is_number(text: str) -> bool:
    """Tell whether a text is a number, with a decimal point or a decimal comma."""
    return canonical_number(text) is not None or canonical_number(text, ",") is not None


def is_latex(text: str) -> bool:
    """Tell whether a text has a command or a power of LaTeX, such as `\\frac{1}{2}`."""
    return re.search(r"\\[a-zA-Z]|\^", text) is not None


def decimal_mark(answers: Sequence[tuple[str, str]], *, has_semicolons: bool) -> Mark:
    """Return the decimal mark that a column of numbers is written with.

    Parameters
    ----------
    answers : sequence of (place, text)
        Numbers as the file has them.
    has_semicolons : bool
        The file is a CSV table with semicolons as delimiters, which programs use if the comma is the decimal mark.

    Raises
    ------
    DataError
        Both marks are there, or the numbers of a file with semicolons can be read either way.
    """
    commas, points, either = [], [], []
    for place, text in answers:
        match = _DIGITS.search(text)
        digits = match[0].rstrip(".,") if match else ""
        as_comma, as_point = _COMMA.fullmatch(digits), _POINT.fullmatch(digits)
        if as_comma and as_point:
            either.append((place, text))
        elif as_comma:
            commas.append((place, text))
        elif as_point:
            points.append((place, text))
    if commas and points:
        (one, comma), (other, point) = commas[0], points[0]
        raise DataError(
            f"{one}: {comma!r} has a decimal comma, and {other}: {point!r} a decimal point\n"
            "    write all numbers alike, with a decimal point",
            word="table",
        )
    if either and has_semicolons and not commas and not points:
        place, text = either[0]
        raise DataError(
            f"{place}: {text!r} could be {canonical_number(text)} or {canonical_number(text, ',')}\n"
            f"    write table: decimal comma, or table: decimal point",
            word="table",
        )
    return "," if commas else "."
