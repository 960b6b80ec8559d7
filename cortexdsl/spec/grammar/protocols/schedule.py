"""A schedule as it is written: steps, loops with their conditions, cases and choices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from cortexdsl.debate.weights.names import NAMES
from cortexdsl.spec.grammar.protocols.keep import MET, KeepText, keep
from cortexdsl.spec.grammar.values.counts import Count, MaybeNone
from cortexdsl.spec.grammar.values.expressions import ChoiceWeight, expression
from cortexdsl.spec.grammar.values.words import Entry, Name, Plain, Text, no_such_form, said
from cortexdsl.spec.text.messages import nearest
from cortexdsl.terms import NEVER, Choose

_SUCH_AS = "agreement >= 0.8"
_NUMBER = re.compile(r"\s*[\d.]+%?\s*")


def _truth(value: Any) -> Any:
    """Let a setting such as `check_opening: true` say when: true is consensus, false is never."""
    if isinstance(value, bool):
        return "consensus" if value else NEVER
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise said(f"{value} is no condition", f"write what it is compared with, such as {_SUCH_AS}")
    if isinstance(value, str) and value.isidentifier() and value not in (NEVER, *NAMES["condition"]):
        ends = nearest(value, ["true", "false", *TIMES])
        raise said(f"{value!r} is no time to end", f"{ends}; or an expression such as {_SUCH_AS}")
    return value if value == NEVER or not isinstance(value, str) else expression("condition")(value)


TIMES = ("consensus", "agreed", NEVER)
"""Conditions that are one word; others are expressions, such as `agreement >= 0.8 and round >= 2`."""

Ending: TypeAlias = Annotated[Text, BeforeValidator(_truth, json_schema_input_type=Text | bool)]


class LoopText(Entry):
    """`{repeat, unless, until, do}`: a loop of the schedule."""

    example: ClassVar[str] = "{repeat: $rounds, do: [...]}"
    hints: ClassVar[Mapping[str, str]] = {
        "while": "write until: and the opposite condition",
        "if": "write unless: and the opposite condition",
        "times": "write repeat: and how often",
    }

    repeat: MaybeNone = Field(description="At most so many passes.")
    unless: Ending = Field("never", description="Looked at before the first pass; true is consensus.")
    until: Ending = Field("never", description="Looked at after each pass; true is consensus.")
    do: Annotated[tuple[ItemText, ...], Field(min_length=1)]


OTHERWISE = "else"
"""The branch of a case that is taken where no other is called like the value."""


class CaseText(Entry):
    """`{case: $setting, do: {value: [...], else: [...]}}`: the part of the schedule that a setting chooses."""

    case: Plain = Field(description="A setting; its value is the name of a branch.")
    do: Annotated[dict[Text, tuple[ItemText, ...]], Field(min_length=1)] = Field(
        description="Branches by value, `else` for every other value; an empty list passes on."
    )

    @property
    def branch(self) -> str | None:
        """The name of the branch that the value chooses; None where there is none."""
        word = str(self.case).lower() if isinstance(self.case, bool) else str(self.case)
        return next((name for name in (word, OTHERWISE) if name in self.do), None)


def _one_source(value: Any) -> Any:
    if isinstance(value, list):
        raise said(
            "candidates come from one role",
            "write one role for all of them, roles: {both: everyone} or a list of agents, and let it debate:"
            " debaters: both",
        )
    return value


class ChooseText(Entry):
    """`{choose: role, from: role, weight, keep}` or `{choose: role, where: condition}`: a role is filled anew."""

    example: ClassVar[str] = "{choose: role, where: condition}"
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("of", "among", "role"), "write from: and the role of those who stand"),
        **dict.fromkeys(("if", "when"), "write where: and a condition"),
        **dict.fromkeys(("by", "with"), "write weight: and what is weighed"),
    }

    choose: Name = Field(description="The role that is filled.")
    from_: Annotated[Name, BeforeValidator(_one_source, json_schema_input_type=Name)] | None = Field(
        None, alias="from", description="Whose players stand; the role's own where not said."
    )
    weight: ChoiceWeight | None = Field(None, description="An expression with a value an agent.")
    keep: KeepText = Field("mean", description="Which weights are kept.")
    where: ChoiceWeight | None = Field(None, description="A condition on agents, in place of weight and keep.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.weight is None) == (self.where is None) or (
            self.where is not None and "keep" in self.model_fields_set
        ):
            raise said("a choice weighs agents or asks a condition of them", "write weight: and keep:, or where: alone")
        return self

    def term(self) -> Choose:
        """Return the choice."""
        source = self.from_ or self.choose
        if self.where is not None:
            return Choose(self.choose, source, self.where, MET)
        return Choose(self.choose, source, self.weight or "", keep(self.keep))


def _item(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None if isinstance(value, list) else "<step>"
    said = {*value}
    for form, key, words in (("case", "case", ()), ("choose", "choose", ("from", "weight", "keep", "where")),
                             ("loop", "repeat", ("unless", "until", "do"))):  # fmt: skip
        if key in said or said & {*words}:
            return f"<{form}>"
    return None


ItemText: TypeAlias = Annotated[
    Annotated[Name, Tag("<step>")]
    | Annotated[LoopText, Tag("<loop>")]
    | Annotated[CaseText, Tag("<case>")]
    | Annotated[ChooseText, Tag("<choose>")],
    Discriminator(
        _item,
        **no_such_form(
            ("the name of a step",),
            {
                "repeat": "{repeat: n, do: [...]}",
                "choose": "{choose: role, ...}",
                "case": "{case: $setting, do: {...}}",
            },
        ),
    ),
]
LoopText.model_rebuild()
CaseText.model_rebuild()


class EndsText(Entry):
    """`{rounds: T}`: at most T rounds in which debaters answered, the opening included."""

    rounds: Count
