"""Words of the language that cannot be names, because a value may be such a word or a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from cortexdsl.claims.parser import DATASET_WORDS
from cortexdsl.core import ELSE, Each, Memory, Shows
from cortexdsl.language.grammar.experiment import CellsWord
from cortexdsl.language.grammar.hears import HearsWord
from cortexdsl.language.grammar.protocol import DecideWord, RoleWord

RESERVED: Mapping[str, tuple[str, ...]] = {
    "agents": (*get_args(RoleWord), ELSE),
    "teams": ("everyone",),
    "methods": get_args(CellsWord),
    "datasets": tuple(DATASET_WORDS),
    "roles": tuple(
        dict.fromkeys((*get_args(RoleWord), *get_args(HearsWord), *get_args(DecideWord), *get_args(Each), "none", ELSE))
    ),
    "steps": tuple(dict.fromkeys((*get_args(Shows), *get_args(Memory)))),
}
"""The words by section."""


def reserved(section: str, name: str) -> tuple[str, str] | None:
    """Return what is wrong with a name that is a word of the language, and the remedy."""
    if name not in RESERVED[section]:
        return None
    words = ", ".join(RESERVED[section])
    return f"{name} is a word of the language", f"rename it; {section} cannot be called {words}"
