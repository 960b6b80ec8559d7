"""`whatif:`: what counterfactuals leave out, such as `agent`, `edge=ann:bob`, `round=2`, `step=check`, `turn=ann@2`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator

from cortexdsl.errors import InputError, nearest
from cortexdsl.language.grammar.entries import Text, invalid

KINDS = ("agent", "edge", "round", "step", "turn")
FORMS = (
    "write agent, edge, round, step or turn for each of them; "
    "agent=NAME, edge=SPEAKER:LISTENER, round=2, step=NAME, turn=NAME@2"
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a counterfactual leaves out.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    names : tuple of str
        Left out together; empty: each of its kind in turn.
    """

    kind: str
    names: tuple[str, ...]


def parse_left_out(text: str) -> LeftOut:
    """Return what a text leaves out.

    Raises
    ------
    InputError
        The kind is unknown, or the names do not fit it.
    """
    kind, is_named, listed = (part.strip() for part in text.partition("="))
    if kind not in KINDS:
        raise InputError(f"{text!r} is nothing that can be left out\n    {nearest(kind, KINDS)}; {FORMS}")
    names = tuple(name.strip() for name in listed.split(",")) if is_named else ()
    for name in names:
        forms = {"edge": r"[^:\s]+:[^:\s]+", "round": r"[1-9]\d*", "turn": r"[^:\s]+@[1-9]\d*"}
        if not re.fullmatch(forms.get(kind, r"[^:\s]+"), name):
            is_opening = kind in ("round", "turn") and name.rpartition("@")[2] == "0"
            opening = " (round 0 is the opening, which all the rest is about)" if is_opening else ""
            raise InputError(
                f"{text!r}: {name!r} is not {'an' if kind[0] in 'ae' else 'a'} {kind}{opening}\n    {FORMS}"
            )
    if len(set(names)) < len(names):
        raise InputError(f"{text!r} names one {kind} twice\n    name each once")
    return LeftOut(kind, names)


def _left_out(value: Any) -> Any:
    if isinstance(value, str):
        try:
            parse_left_out(value)
        except InputError as error:
            what, _, remedy = str(error).partition("\n")
            raise invalid(what, remedy.strip()) from None
    if isinstance(value, dict) and len(value) == 1:
        ((kind, name),) = value.items()
        raise invalid("what is left out is one text", f"write {kind}={name}")
    return value


def _listed(value: Any) -> Any:
    if isinstance(value, dict) and "without" in value:
        named = value["without"] if isinstance(value["without"], list) else [value["without"]]
        raise invalid("a list of what is left out is needed", f"write [{', '.join(map(str, named))}]")
    return value if isinstance(value, list | tuple) else [value]


def _something(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        raise invalid("nothing is left out", "write [agent]")
    return value


LeftOutText: TypeAlias = Annotated[Text, BeforeValidator(_left_out, json_schema_input_type=Text)]
WithoutText: TypeAlias = Annotated[
    tuple[LeftOutText, ...],
    AfterValidator(_something),
    BeforeValidator(_listed, json_schema_input_type=LeftOutText | tuple[LeftOutText, ...]),
]
