"""`labels:`: what turns of finished debates are labelled, by a rule or by the judge."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, Field

from cortexdsl.core import YES_OR_NO, Label
from cortexdsl.language.grammar.entries import OneOf, StrictEntry, Template, Variable, invalid
from cortexdsl.language.grammar.expressions import LabelRule

BUILT_IN: Mapping[str, Label] = MappingProxyType({
    label.name: label
    for label in (
        Label("adoption", "changed and heard"),
        Label("repetition", "similarity > 0.9"),
        Label("capitulation", "changed and heard", "labels/capitulation.j2"),
        Label("new_evidence", "round > 0", "labels/new_evidence.j2"),
        Label("error_found", "round > 0", "labels/error_found.j2"),
        Label("error_made", "1", "labels/error_made.j2"),
        Label("sycophancy", "round > 0", "labels/sycophancy.j2"),
    )
})  # fmt: skip
"""The labels that a spec may name without a definition."""


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(map(str.casefold, values))) < len(values):
        raise invalid("two values differ in case alone, or not at all", "name each value once")
    return values


class LabelForm(StrictEntry):
    """`{prompt: FILE}`: the judge of analysis labels each turn, asked by a template."""

    example: ClassVar[str] = "{prompt: FILE}"

    prompt: Template
    """The template that asks the judge about one turn."""
    values: Annotated[tuple[Variable, ...], Field(min_length=2, max_length=20), AfterValidator(_distinct)] = YES_OR_NO
    """The values that the judge chooses from. Default: yes and no."""
    where: LabelRule = "1"
    """Only turns for which this holds are shown to the judge."""


LabelText: TypeAlias = Annotated[Literal["built-in"] | LabelRule | LabelForm, OneOf()]
"""A rule is an expression; the turns for which it holds have the label."""


def as_label(name: str, text: LabelText) -> Label:
    """Return the label of an entry; the name of a built-in one is known."""
    if isinstance(text, LabelForm):
        return Label(name, text.where, text.prompt, text.values)
    return BUILT_IN[name] if text == "built-in" else Label(name, text)
