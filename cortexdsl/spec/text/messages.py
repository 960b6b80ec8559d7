"""How messages say things: a value, the way to it, the spelling that is nearest to a word."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

from cortexdsl.spec.text.nodes import Route


def nearest(word: object, allowed: Iterable[str], *, say: str = "allowed") -> str:
    """Return the remedy for a word that is none of those allowed: the nearest spelling, and what there is."""
    known = list(dict.fromkeys(allowed))
    same = [one for one in known if one.casefold() == str(word).casefold()]
    near = same or difflib.get_close_matches(str(word), known, 1, 0.6)
    listed = ", ".join(known[:40]) + (" ..." if len(known) > 40 else "")
    return (f"did you mean {near[0]}? " if near else "") + (f"{say}: {listed}" if known else "")


def shown(value: Any) -> str:
    """Return a value as a message shows it: short, on one line."""
    if value is None:
        return "empty"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else ("a mapping" if isinstance(value, dict) else "a list")


def dotted(route: Route) -> str:
    """Return a route as people say it: `agents[2].model`, items counted from 1."""
    text = ""
    for part in route:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
