"""A schedule: steps, loops with their conditions, cases, and choices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from cortexdsl.core import KEEP_TRUE, NEVER, Choose
from cortexdsl.errors import nearest
from cortexdsl.expressions.names import NAMES
from cortexdsl.expressions.negation import negated
from cortexdsl.language.grammar.core_words import WrittenAs
from cortexdsl.language.grammar.entries import CountOrZero, Name, OneOf, Plain, StrictEntry, Text, invalid, not_listed
from cortexdsl.language.grammar.expressions import ChoiceWeight, expression
from cortexdsl.language.grammar.hears import KeepText
from cortexdsl.language.grammar.old_words import expression_remedy
from cortexdsl.language.nodes import shown

_SUCH_AS = "agreement >= 0.8"
_NUMBER = re.compile(r"\s*[\d.]+%?\s*")


def _condition(value: Any) -> Any:
    """Return a validated condition. `true` means consensus and `false` means never, for settings that are flags."""
    if isinstance(value, bool):
        return "consensus" if value else NEVER
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise invalid(f"{value} is not a condition", f"write what it is compared with, such as {_SUCH_AS}")
    if isinstance(value, str) and value.isidentifier() and value not in (NEVER, *NAMES["condition"]):
        remedy = f"{nearest(value, ['true', 'false', *TIMES])}; or an expression such as {_SUCH_AS}"
        raise invalid(f"{value!r} is not a time to end", expression_remedy(value) or remedy)
    return value if value == NEVER or not isinstance(value, str) else expression("condition")(value)


TIMES = ("consensus", "approved", NEVER)
"""Conditions that are one word; others are expressions, such as `agreement >= 0.8 and round >= 2`."""

Ending: TypeAlias = Annotated[Text, BeforeValidator(_condition, json_schema_input_type=Text | bool)]


def _start(value: Any) -> Any:
    """Return a validated condition for items to run; `never` is one of settings."""
    if isinstance(value, bool) or value in (None, NEVER):
        raise invalid(f"{shown(value)} is not a condition", "write a condition such as not approved, or remove if")
    if isinstance(value, str) and re.fullmatch(r"not\s*\(?\s*never\s*\)?", value.strip()):
        return NOT_NEVER
    if isinstance(value, str) and value.isidentifier() and value not in NAMES["condition"]:
        raise invalid(f"{value!r} is not a condition", expression_remedy(value) or f"write one such as {_SUCH_AS}")
    return expression("condition")(value) if isinstance(value, str) else value


NOT_NEVER = "not never"
"""A condition that always holds: `not $until`, if `until` is never."""
Start: TypeAlias = Annotated[Text, BeforeValidator(_start, json_schema_input_type=Text)]


class LoopText(StrictEntry):
    """`{repeat: n, until: CONDITION, do: [...]}` or `{if: CONDITION, do: [...]}`: run these items at most n times.

    Consensus means that the last answers of all debaters are equal.
    """

    example: ClassVar[str] = "{repeat: n, do: [...]}, {if: CONDITION, do: [...]}"
    signs: ClassVar[tuple[str, ...]] = ("if", "until", "do")
    hints: ClassVar[Mapping[str, str]] = {
        "while": "write until: and the opposite condition",
        "times": "write repeat: and how often",
        **dict.fromkeys(("loop", "for", "count", "rounds"), "did you mean repeat, which is missing?"),
    }

    repeat: CountOrZero | None = None
    """How many times the items run at most. Default with `if`: once."""
    if_: Start | None = Field(None, alias="if")
    """The condition for the items to run. It is checked once, before. Default: they always run."""
    until: Ending = "never"
    """The condition that ends the loop. It is checked each time after the items have run. true means consensus."""
    do: Annotated[tuple[ItemText, ...], Field(min_length=1)]
    """The items that run."""

    @classmethod
    def key(cls) -> str:
        """Return the key of a loop; other items have `do`, too."""
        return "repeat"

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if self.repeat is None and "until" in self.model_fields_set:
            raise invalid("until ends a loop, and nothing is repeated", "write repeat: and how often")
        if self.repeat is None and self.if_ is None:
            raise invalid("nothing says how often the items run", "write repeat: and how often, or if: and a condition")
        return self

    @property
    def times(self) -> Any:
        """How many times the items run at most."""
        return 1 if self.repeat is None else self.repeat

    @property
    def unless(self) -> str:
        """The condition that skips the items."""
        return NEVER if self.if_ in (None, NOT_NEVER) else negated(self.if_ or "")


OTHERWISE = "else"
"""The branch of a case for all values without a branch of their own."""


class CaseText(StrictEntry):
    """`{case: $setting, do: {VALUE: [...], else: [...]}}`: run one of these lists, chosen by the value of a setting."""

    example: ClassVar[str] = "{case: $setting, do: {...}}"

    case: Plain
    """The setting whose value chooses a list."""
    do: Annotated[dict[Text, tuple[ItemText, ...]], Field(min_length=1)]
    """A list of items for each value, and `else` for all other values. An empty list does nothing."""

    @property
    def branch(self) -> str | None:
        """The name of the branch that the value chooses; None if there is none."""
        word = str(self.case).lower() if isinstance(self.case, bool) else str(self.case)
        return next((name for name in (word, OTHERWISE) if name in self.do), None)


_ONE_SOURCE = (
    "write one role for all of them, roles: {both: everyone} or a list of agents, and let it debate: voters: both"
)
_Source: TypeAlias = Annotated[Name, not_listed(Name, "candidates come from one role", _ONE_SOURCE)]


class ChooseText(StrictEntry):
    """`{choose: ROLE, weight, keep}` or `{choose: ROLE, where: CONDITION}`: fill a role during the debate."""

    example: ClassVar[str] = "{choose: role, ...}"
    signs: ClassVar[tuple[str, ...]] = ("from", "weight", "keep", "where")
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("of", "among", "role"), "write from: and the role of those who stand"),
        **dict.fromkeys(("if", "when"), "write where: and a condition"),
        **dict.fromkeys(("by", "with"), "write weight: and what is weighed"),
    }

    choose: Name
    """The role that is filled."""
    from_: _Source | None = Field(None, alias="from")
    """The role whose agents are the candidates. Default: the role itself."""
    weight: ChoiceWeight | None = None
    """An expression with a value for each candidate."""
    keep: KeepText = Field("mean", validate_default=True)
    """The rule that chooses candidates by their weights."""
    where: ChoiceWeight | None = None
    """A condition on candidates, instead of weight and keep."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.weight is None) == (self.where is None) or (
            self.where is not None and "keep" in self.model_fields_set
        ):
            raise invalid(
                "a choice weighs agents or asks a condition of them", "write weight: and keep:, or where: alone"
            )
        return self

    def value(self) -> Choose:
        """Return the choice."""
        keep = self.keep if self.where is None else KEEP_TRUE
        return Choose(self.choose, self.from_ or self.choose, self.where or self.weight or "", keep)


ItemText: TypeAlias = Annotated[
    Name | LoopText | CaseText | Annotated[Choose, WrittenAs(ChooseText)], OneOf("the name of a step")
]
LoopText.model_rebuild()
CaseText.model_rebuild()
