"""How golds stand in rows: the few shapes that benchmarks use, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cortexdsl.tasks.reading.statements import boxes

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


def _boolean(value: Any, options: Options) -> list[str]:
    return ["yes" if str(value).strip().lower() in ("true", "yes", "1") else "no"]


def _answers_or_none(value: Any, options: Options) -> list[str]:
    """SQuAD 2.0: no answer at all means that the passage holds none, which is the empty answer."""
    return list(dict.fromkeys(_plain(value, options))) or [""]


def _no_thousands(value: Any, options: Options) -> list[str]:
    """GSM-IC: a number, sometimes with a unit behind it."""
    return [match[0] for match in [re.search(r"-?[\d,]*\.?\d+", str(value))] if match]


CONVERTERS: Mapping[str, Converter] = {
    "plain": _plain,
    "hashes": _hashes,
    "boxed": _boxed,
    "label": _label,
    "first_option": _first_option,
    "boolean": _boolean,
    "answers_or_none": _answers_or_none,
    "number": _no_thousands,
}
