"""What a grid point is called, in tables and in paths."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

MOST_LETTERS = 120
"""The longest slug; file systems allow 255 bytes, and a slug shares its name with others."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")
_LIST = re.compile(r"\[([A-Za-z0-9_.+-]+(?:, [A-Za-z0-9_.+-]+)+)\]")


def value_name(value: Any) -> str:
    """Return a grid value as a word: `{top: 3}` is `top-3`, a list `[0.8, 0.6]`."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, Mapping):
        if len(value) == 1:
            ((key, inner),) = value.items()
            return f"{key}-{value_name(inner)}"
        return "{" + ", ".join(f"{key}: {value_name(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_name, value))}]"
    return str(value)


def point_name(method: str, axes: Mapping[str, Any]) -> str:
    """Return `sparse[keep=median, recalibration=none]`, or the method's name alone without axes."""
    inside = ", ".join(f"{axis}={value_name(value)}" for axis, value in axes.items())
    return f"{method}[{inside}]" if axes else method


def point_slug(method: str, axes: Mapping[str, Any]) -> str:
    """Return `sparse~keep=median~recalibration=none`: safe in a path on every system.

    Values that hold other letters than A-Z a-z 0-9 _ . + - get a digest, as does whatever is too long, so that
    different points have different slugs. Lists of such words are joined (`[4, 2, 2]` is `4-2-2`); only a text that is
    spelled like that would be taken for the list.
    """
    slug = "~".join([method, *(f"{axis}={_safe(value_name(value))}" for axis, value in axes.items())])
    if len(slug) > MOST_LETTERS:
        slug = f"{slug[: MOST_LETTERS - 11].rstrip('.-=~')}~{_digest(point_name(method, axes))}"
    return slug


def _safe(text: str) -> str:
    """Keep what is safe, and lists of it, readable; give a digest to what loses letters."""
    items = _LIST.fullmatch(text)
    plain = items[1].replace(", ", "-") if items else text
    safe = _UNSAFE.sub("-", plain).strip("-.")
    return safe if safe == plain else f"{safe[:40].strip('-.')}-{_digest(text)}".strip("-")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
