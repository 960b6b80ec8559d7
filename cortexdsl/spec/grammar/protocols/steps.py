"""A step as it is written: one kind of utterance, what it is told and what is read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from cortexdsl.spec.grammar.protocols.hears import HearsText
from cortexdsl.spec.grammar.values.counts import AtLeastOne, Count, number
from cortexdsl.spec.grammar.values.expressions import TurnCondition
from cortexdsl.spec.grammar.values.words import (
    SETTING_OR_VALUE,
    Asked,
    Entry,
    Name,
    Plain,
    Template,
    listed,
    no_such_form,
    one_of,
    said,
    setting_or_value,
)
from cortexdsl.terms import Beside, Each, Own, Reads, Tells, Told

ELSE = "else"
"""The agents that a mapping of templates does not name."""


class SayForm(Entry):
    """`{say: FILE}`: a template that nobody is asked with; what it renders to is said."""

    say: Template


_Way: TypeAlias = Annotated[
    Annotated[Template, Tag("<template>")] | Annotated[SayForm, Tag("<say>")],
    Discriminator(lambda value: "<say>" if isinstance(value, dict | SayForm) else "<template>"),
]


def _ways(value: Any) -> str:
    if isinstance(value, dict) and list(value) == ["say"]:
        return "<say>"
    if isinstance(value, list | tuple):
        return "<list>"
    return "<agents>" if isinstance(value, dict) else "<say>" if isinstance(value, SayForm) else "<template>"


PromptText: TypeAlias = Annotated[
    Annotated[Template, Tag("<template>")]
    | Annotated[SayForm, Tag("<say>")]
    | Annotated[tuple[_Way, ...], Field(min_length=1), Tag("<list>")]
    | Annotated[dict[Name, _Way], Field(min_length=1), Tag("<agents>")],
    Discriminator(_ways),
]


def _last(value: Any) -> str:
    return "<word>" if value == "all" else setting_or_value(value)


class OwnTold(Entry):
    """`{step: name, last: 1, where: agreed}`: what a speaker itself said in some steps."""

    step: Annotated[tuple[Name, ...], BeforeValidator(listed, json_schema_input_type=Name | tuple[Name, ...])] = Field(
        (), description="A step or steps; none: all talk."
    )
    last: Annotated[
        Annotated[Literal["all"], Tag("<word>")] | Asked | Annotated[AtLeastOne, Tag("<value>")], Discriminator(_last)
    ] = Field(1, description="Of how many last times; all of them.")
    where: TurnCondition | None = Field(
        None, description="A condition on turns, by what was read of others about them."
    )

    def term(self) -> Told:
        """Return what is told."""
        return Told(self.step, last=None if self.last == "all" else int(number(self.last)), where=self.where or "")


class ToldText(OwnTold):
    """`{step: name, about: me, last: 1}`: what those heard said in some steps."""

    example: ClassVar[str] = "{step: review, about: me}"

    about: Literal["me", "anyone"] = Field("anyone", description="me: what is about the one who is told, alone.")

    def term(self) -> Told:
        """Return what is told."""
        return replace(super().term(), about_me=self.about == "me")


def _told(words: tuple[str, ...], form: str) -> Discriminator:
    """Tell a word from a setting and from a mapping, any key of which may be the only one."""

    def pick(value: Any) -> str | None:
        if isinstance(value, dict):
            return "<told>"
        tag = setting_or_value(value)
        return tag if value in words or tag == "<setting>" else None

    return Discriminator(pick, **no_such_form(words, {"step": form}))


_Told: TypeAlias = Annotated[Tells, Tag("<value>")] | Asked | Annotated[ToldText, Tag("<told>")]


def _readable(reads: tuple[Reads, ...]) -> tuple[Reads, ...]:
    if not reads:
        raise said("nothing is read", "name what the reply is read for, such as answer")
    for what in reads[1:]:
        if what not in get_args(Beside) or reads.count(what) > 1:
            raise said(
                f"{what} cannot be read beside {reads[0]}",
                f"write [{what}, ...] to read it first; {' and '.join(get_args(Beside))} can stand second, each once",
            )
    return reads


def _one_role(value: Any) -> Any:
    if isinstance(value, list):
        raise said(
            "a step is spoken by one role",
            "write a step for each, or one role for all of them: roles: {both: everyone}, or a list of agents",
        )
    return value


class EdgeForm(Entry):
    """`{edge: role}`: one call about each player of a role; all others who are heard are heard in each."""

    edge: Annotated[Annotated[Name, Tag("<value>")] | Asked, SETTING_OR_VALUE]


class StepText(Entry):
    """One kind of utterance."""

    example: ClassVar[str] = "{role: debater, prompt: my/answer.j2}"
    hints: ClassVar[Mapping[str, str]] = {
        "say": "write prompt: {say: FILE}",
        **dict.fromkeys(("temperature", "top_p", "max_tokens"), "it belongs to the entry of the model, under models:"),
        "model": "an agent has a model: give the step a role of its own, such as roles: {judge: {model: NAME}}",
    }

    role: Annotated[Name, BeforeValidator(_one_role, json_schema_input_type=Name)] = Field(description="Who speaks.")
    prompt: PromptText = Field(
        description="The template; {say: FILE}, which is said as it is; a list, dealt to the role's agents in turn; "
        "or templates by agent or role, and else."
    )
    hears: HearsText = Field("nobody", description="Who hears whom.")
    tells: Annotated[
        tuple[Annotated[_Told, _told(get_args(Tells), ToldText.example)], ...],
        BeforeValidator(listed, json_schema_input_type=_Told | tuple[_Told, ...]),
        Field(min_length=1),
    ] = Field(("latest",), description="Which heard turns reach the prompt: a word, or a list of words.")
    own: Annotated[
        Annotated[Own, Tag("<value>")] | Asked | Annotated[OwnTold, Tag("<told>")],
        _told(get_args(Own), "{step: answer, last: all}"),
    ] = Field("none", description="What a speaker sees of itself.")
    material: dict[str, Plain] = Field(
        default_factory=dict, alias="with", description="Template variables that are no talk."
    )
    order: Annotated[Annotated[Literal["simultaneous", "sequential"], Tag("<value>")] | Asked, SETTING_OR_VALUE] = (
        "simultaneous"
    )
    each: Annotated[
        Annotated[Each, Tag("<word>")] | Asked | Annotated[EdgeForm, Tag("<edge>")],
        one_of(get_args(Each), {"edge": "{edge: role}"}),
    ] = Field("speaker", description="One call per speaker, edge (or those to a role), pair, match, listener or group.")
    draws: Count = Field(1, description="Independent replies per call.")
    reads: Annotated[
        tuple[Reads, ...],
        BeforeValidator(listed, json_schema_input_type=Reads | tuple[Reads, ...]),
        AfterValidator(_readable),
    ] = Field(("answer",), description="What is read from the reply; a verdict or a choice also beside another.")

    @property
    def kind(self) -> Each:
        """What there is a call for."""
        return "edge" if isinstance(self.each, EdgeForm) else self.each  # type: ignore[return-value]

    @property
    def of(self) -> str:
        """The role whose players the calls are about; empty: everybody who is heard."""
        return self.each.edge if isinstance(self.each, EdgeForm) else ""
