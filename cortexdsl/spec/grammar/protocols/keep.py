"""Which weights are kept, as it is written: the words of `keep:`, among edges and among agents."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import Field, Tag

from cortexdsl.spec.grammar.values.counts import Count, MaybeNone, number
from cortexdsl.spec.grammar.values.words import SETTING_OR_VALUE, Asked, Entry, Number, one_of
from cortexdsl.terms import Keep

Threshold: TypeAlias = Annotated[Annotated[Number, Tag("<value>")] | Asked, SETTING_OR_VALUE]


class TopForm(Entry):
    """`{top: k}`: the k highest incoming weights; `{top: k, above: x}`: the k highest of those of more than x."""

    top: Count
    above: Threshold | None = Field(None, description="Weights up to this one are never kept.")

    def term(self) -> Keep:
        """Return the rule."""
        return Keep("top", number(self.top), _floor(self.above))


class DropBottomForm(Entry):
    """`{drop_bottom: k}`: all but the k lowest incoming weights; with `above: x`, of those of more than x."""

    drop_bottom: MaybeNone
    above: Threshold | None = Field(None, description="Weights up to this one are never kept.")

    def term(self) -> Keep:
        """Return the rule."""
        return Keep("drop_bottom", number(self.drop_bottom), _floor(self.above))


def _floor(above: float | str | None) -> float | None:
    return None if above is None else number(above)


class AboveForm(Entry):
    """`{above: x}`: weights of more than x."""

    above: Threshold

    def term(self) -> Keep:
        """Return the rule."""
        return Keep("above", number(self.above))


KeepWord: TypeAlias = Literal["mean", "median", "mean_of_all", "all"]
KeepText: TypeAlias = Annotated[
    Annotated[KeepWord, Tag("<word>")]
    | Asked
    | Annotated[TopForm, Tag("<top>")]
    | Annotated[DropBottomForm, Tag("<drop_bottom>")]
    | Annotated[AboveForm, Tag("<above>")],
    one_of(get_args(KeepWord), {"top": "{top: k}", "drop_bottom": "{drop_bottom: k}", "above": "{above: x}"}),
]


def keep(rule: Any) -> Keep:
    """Return the rule that a checked `keep:` means."""
    found: Keep = Keep(rule) if isinstance(rule, str) else rule.term()  # type: ignore[arg-type]
    return found


MET = Keep("above", 0.0)
"""Which weights a condition keeps: what is true is 1."""
