"""Finding a field in a row: by name, by dotted path, or the first of several names that is there."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from cortexdsl.errors import DataError

_INSIDE = re.compile(r"\n?\s*(?:Answer Choices|Options|Choices):?\s*((?:\s*\([A-Z]\)[^\n]*)+)\s*$")
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
        Returned where none is there.
    """
    for name in [names] if isinstance(names, str) else names or []:
        value = _at(row, name)
        if value is not _MISSING and value is not None:
            return value
    return default


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


def passage_of(value: Any) -> str:
    """Return a context as text: a text as it is, HotpotQA's titled lists of sentences one page a line.

    On disk pages are `[title, [sentence, ...]]`, on the hub `{title: [...], sentences: [[...], ...]}`.
    """
    if isinstance(value, Mapping):
        value = list(zip(value["title"], value.get("sentences", value.get("content")), strict=True))
    if not isinstance(value, list | tuple):
        return "" if value is None else str(value)
    if value and all(isinstance(page, list | tuple) and len(page) == 2 for page in value):
        return "\n".join(f"{title}: {' '.join(part.strip() for part in parts)}" for title, parts in value)
    return "\n".join(map(str, value))


def options_of(row: Mapping[str, Any], where: Any) -> tuple[tuple[str, str], ...]:
    """Return the (label, text) options of a row.

    Parameters
    ----------
    row : mapping
    where : None, str, list or mapping
        None: no options. A field that holds a list of texts, a list of {label, text}, or {label: [...], text:
        [...]}. `{columns: [...]}`: one option a column. `{inside: field}`: `(A) ...` lines that end a text. A
        list: the first of these that gives options.
    """
    if where is None:
        return ()
    if isinstance(where, list):
        return next((found for found in (options_of(row, each) for each in where) if found), ())
    if isinstance(where, Mapping):
        if "inside" in where:
            return split_options(str(field(row, where["inside"], "")))[1]
        texts = [row.get(column) for column in where["columns"]]
        return _lettered([text for text in texts if text is not None])
    value = field(row, where)
    if isinstance(value, str):
        value = _parsed_list(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return tuple((str(label), str(text)) for label, text in zip(value["label"], value["text"], strict=True))
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return tuple((str(option["label"]), str(option["text"])) for option in value)
    return _lettered(value or [])


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


def _parsed_list(text: str) -> Any:
    """A list that a CSV cell holds as JSON or as Python writes it."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError):
            continue
        if isinstance(value, list):
            return value
    return []
