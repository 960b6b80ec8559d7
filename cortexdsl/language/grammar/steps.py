"""A step: one kind of utterance, which turns reach its prompt, and what is read from the reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cortexdsl.core import Beside, Each, ItemSplit, Memory, Reads, Shows, Step, TurnFilter
from cortexdsl.errors import nearest
from cortexdsl.language.grammar.core_words import FromCore, with_words_of
from cortexdsl.language.grammar.entries import (
    AtLeastOne,
    Count,
    Flag,
    Name,
    Number,
    OneOf,
    Plain,
    Setting,
    StrictEntry,
    Template,
    Variable,
    invalid,
    listed,
    not_listed,
)
from cortexdsl.language.grammar.expressions import TurnCondition
from cortexdsl.language.grammar.hears import HearsText
from cortexdsl.language.grammar.old_words import key_remedy, value_remedy


class SayForm(StrictEntry):
    """`{say: FILE}`: the text of the template is the turn. No model is called."""

    say: Template
    """The template."""


class VariantsForm(StrictEntry):
    """`{variants: [FILES]}`: several wordings of one prompt. Each replicate draws one."""

    example: ClassVar[str] = "{variants: [one.j2, other.j2, third.j2]}"

    variants: Annotated[tuple[Template, ...], Field(min_length=1)]
    """Templates. Each replicate uses one of them in all its debates."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if twice := next((name for k, name in enumerate(self.variants) if name in self.variants[:k]), None):
            raise invalid(f"variants names {twice} twice", "name each wording once")
        if len(self.variants) < 2:
            raise invalid("variants has one wording alone", "name at least two, or write the template alone")
        return self


_Way: TypeAlias = Annotated[Template | SayForm, OneOf("a template")]


PromptText: TypeAlias = Annotated[
    Template
    | SayForm
    | VariantsForm
    | Annotated[tuple[_Way, ...], Field(min_length=1)]
    | Annotated[dict[Name, _Way], Field(min_length=1)],
    OneOf("a template"),
]


_Names: TypeAlias = Annotated[tuple[Name, ...], BeforeValidator(listed, json_schema_input_type=Name | tuple[Name, ...])]
_Last: TypeAlias = Annotated[
    Literal["all"] | Setting | AtLeastOne, OneOf(), AfterValidator(lambda last: None if last == "all" else last)
]
TurnFilterEntry: TypeAlias = Annotated[
    TurnFilter, FromCore("{step: answer, last: all}", steps=_Names, last=_Last, where=TurnCondition)
]
_Shown: TypeAlias = Shows | Setting | TurnFilterEntry
_Read: TypeAlias = Annotated[Reads | Variable, OneOf("after the first, names of numbers")]


def _readable(reads: tuple[str, ...]) -> tuple[str, ...]:
    if not reads:
        raise invalid("nothing is read", "name what the reply is read for, such as answer")
    if reads[0] not in get_args(Reads):
        raise invalid(f"reads is {reads[0]}", value_remedy(("reads",), reads[0]) or nearest(reads[0], get_args(Reads)))
    if reads[0] == "belief":  # a belief is about an answer, which is read first
        reads = ("answer", *reads)
    if reads[0] == "quotes":
        reads = ("comment", *reads)
    if "belief" in reads and reads[0] != "answer":
        raise invalid(f"a belief cannot be read beside {reads[0]}", "write reads: belief, which reads an answer, too")
    for what in reads[1:]:
        if what in {*get_args(Reads)} - {*get_args(Beside)} or reads.count(what) > 1:
            also = f"{', '.join(get_args(Beside))} and names of numbers can stand second, each once"
            raise invalid(f"{what} cannot be read beside {reads[0]}", f"write [{what}, ...] to read it first; {also}")
    return reads


_ONE_ROLE = "write a step for each, or one role for all of them: roles: {both: everyone}, or a list of agents"
_Role: TypeAlias = Annotated[Name, not_listed(Name, "a step is spoken by one role", _ONE_ROLE)]
_Source: TypeAlias = Annotated[Name | Setting, OneOf()]


def _without_knowledge(material: dict[str, Any]) -> dict[str, Any]:
    if "pool" in material:
        raise invalid("pool is the variable of the step's knowledge", key_remedy("with", "pool", material["pool"]))
    return material


_Tools: TypeAlias = Annotated[tuple[_Source, ...], Field()]


class PassageForm(StrictEntry):
    """`{context: n}`: one call for each of n parts of the passage, cut at ends of sentences."""

    context: Annotated[AtLeastOne | Setting, OneOf()]
    """How many parts of about equal length."""


class ItemsForm(StrictEntry):
    """`{step: STEP, size: n}`: one call for each item of the list in the last reply of a step."""

    step: Name
    """The step whose reply is cut."""
    size: Annotated[AtLeastOne | Setting, OneOf()]
    """How many items at most. Later ones get no call."""


@with_words_of(
    Step,
    settable=True,
    uses=AtLeastOne,
    order=Annotated[Flag, AfterValidator(lambda is_so: "sequential" if is_so else "simultaneous")],
    chooses=Literal["turns", "answers"],
    temperature=Annotated[Number, Field(ge=0, le=10)] | None,
)
class StepText(StrictEntry):
    """A kind of turn: who speaks, what the prompt shows, and what is read from the reply."""

    example: ClassVar[str] = "{role: debater, prompt: my/answer.j2}"
    hints: ClassVar[Mapping[str, str]] = {
        "say": "write prompt: {say: FILE}",
        **dict.fromkeys(("max_tokens", "top_p"), "write it in an entry of models, and name that entry: model: NAME"),
        "most": "write uses: how many times a turn may use tools",
    }

    role: _Role
    """The role whose agents speak."""
    prompt: PromptText
    """The template of the prompt, or several templates."""
    hears: HearsText = Field("nobody", validate_default=True)
    """Which agents each speaker hears."""
    shows: Annotated[
        tuple[Annotated[_Shown, OneOf()], ...],
        BeforeValidator(listed, json_schema_input_type=_Shown | tuple[_Shown, ...]),
        Field(min_length=1),
    ] = ("last",)
    """Which turns of the heard agents the prompt shows."""
    memory: Annotated[Memory | Setting | TurnFilterEntry, OneOf()] = "none"
    """Which of its own turns a speaker is shown."""
    material: Annotated[dict[str, Plain], AfterValidator(_without_knowledge)] = Field(
        default_factory=dict, alias="with"
    )
    """Further variables of the template."""
    context: Flag = True
    """Whether the prompt has the passage of the question. false hides it from the speaker."""
    knowledge: Annotated[
        tuple[_Source, ...], BeforeValidator(listed, json_schema_input_type=_Source | tuple[_Source, ...])
    ] = ()
    """Entries of knowledge whose passages the step may use, as the variable `pool`."""
    each: Annotated[Each | Setting | Name | PassageForm | ItemsForm, OneOf("ROLE")] = Field(
        default_factory=lambda: "speaker"
    )
    """What gets a separate call, such as each pair of heard agents. ROLE: each heard agent of a role, and every call
    hears the other agents. Default: each speaker."""
    tools: Annotated[
        Name
        | Setting
        | _Tools
        | Annotated[dict[Name, Annotated[Name | Setting | _Tools, OneOf()]], Field(min_length=1)],
        OneOf("the name of a tool"),
    ] = ()
    """The tools that agents may use before they answer: names of entries of tools, or a mapping of agents to such
    names, in which else stands for all others."""
    samples: Count = 1
    """How many independent replies each call gets."""
    model: Annotated[Name | Setting, OneOf("the name of a model")] | None = None
    """The model of this step, an entry of models. Default: each agent's own model."""
    reads: Annotated[
        tuple[_Read, ...],
        BeforeValidator(listed, json_schema_input_type=_Read | tuple[_Read, ...]),
        AfterValidator(_readable),
    ] = ("answer",)
    """The content that is read from the reply. A list reads several things; further names in it are numbers, such as
    clarity, which a line of the reply states."""

    @model_validator(mode="after")
    def _uses_tools(self) -> Self:
        if "uses" in self.model_fields_set and not self.tools:
            raise invalid("uses says how many times a turn may use tools, and there are none", "write tools: [NAME]")
        return self

    @property
    def variables(self) -> dict[str, Any]:
        """The further variables of the template, with the knowledge as `pool`."""
        pool = {"pool": list(self.knowledge)} if "knowledge" in self.model_fields_set else {}
        return {**self.material, **pool}

    @property
    def kind(self) -> Each | Literal["speaker", "item"]:
        """The unit of a call."""
        if self.split is not None:
            return "item"
        return "edge" if self.of else self.each  # type: ignore[return-value]

    @property
    def split(self) -> ItemSplit | None:
        """The reply or passage that is split into items; None if there is none."""
        match self.each:
            case PassageForm(context=parts):
                return ItemSplit(parts)  # type: ignore[arg-type]
            case ItemsForm(step=step, size=parts):
                return ItemSplit(parts, step)  # type: ignore[arg-type]
        return None

    @property
    def of(self) -> str:
        """The role whose players the calls are about; empty: everybody who is heard."""
        is_role = isinstance(self.each, str) and "each" in self.model_fields_set and self.each not in get_args(Each)
        return self.each if is_role else ""  # type: ignore[return-value]
