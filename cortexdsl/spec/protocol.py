"""A protocol as it is written: who speaks, who hears whom, what is read, in which order, and how it ends.

Any value may be `$name`, a setting that a method may set; a count or a weight may contain one. The same types
check a protocol before its settings are known and after they have been put in.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from cortexdsl.spec.bins import RecalibrationText
from cortexdsl.spec.hears import Count, HearsText, MaybeNone
from cortexdsl.spec.problems import nearest
from cortexdsl.spec.words import (
    SETTING_OR_VALUE,
    Asked,
    Entry,
    Name,
    Plain,
    Template,
    Text,
    Variable,
    Whole,
    no_such_form,
    one_of,
    said,
)
from cortexdsl.terms import Each, Own, Reads, Tells, Until

Fallback: TypeAlias = Literal["confidence", "none"]
Participation: TypeAlias = Literal["spoken", "heard", "both"]
PassesOn: TypeAlias = Literal["whole", "answer", "reasoning"]


# ---------------------------------------------------------------- steps
ELSE = "else"
"""The agents that a mapping of templates does not name."""

PromptText: TypeAlias = Annotated[
    Annotated[Template, Tag("<template>")]
    | Annotated[tuple[Template, ...], Field(min_length=1), Tag("<list>")]
    | Annotated[dict[Name, Template], Field(min_length=1), Tag("<agents>")],
    Discriminator(lambda value: {list: "<list>", dict: "<agents>"}.get(type(value), "<template>")),
]


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


_Tells: TypeAlias = Annotated[Annotated[Tells, Tag("<value>")] | Asked, SETTING_OR_VALUE]


class StepText(Entry):
    """One kind of utterance."""

    example: ClassVar[str] = "{role: debater, prompt: my/answer.j2}"

    role: Name = Field(description="Who speaks.")
    prompt: PromptText = Field(
        description="The template; a list that is dealt to the role's agents in turn; or templates by agent, and else."
    )
    hears: HearsText = Field("nobody", description="Who hears whom.")
    tells: Annotated[
        tuple[_Tells, ...],
        BeforeValidator(_listed, json_schema_input_type=_Tells | tuple[_Tells, ...]),
        Field(min_length=1),
    ] = Field(("latest",), description="Which heard turns reach the prompt: a word, or a list of words.")
    own: Annotated[Annotated[Own, Tag("<value>")] | Asked, SETTING_OR_VALUE] = Field(
        "none", description="What a speaker sees of itself."
    )
    material: dict[str, Plain] = Field(
        default_factory=dict, alias="with", description="Template variables that are no talk."
    )
    order: Annotated[Annotated[Literal["simultaneous", "sequential"], Tag("<value>")] | Asked, SETTING_OR_VALUE] = (
        "simultaneous"
    )
    each: Annotated[Annotated[Each, Tag("<value>")] | Asked, SETTING_OR_VALUE] = Field(
        "speaker", description="One call per speaker, edge, pair, listener or group."
    )
    draws: Count = Field(1, description="Independent replies per call.")
    reads: Reads = Field("answer", description="What is read from the reply.")


# ---------------------------------------------------------------- the schedule
def _truth(value: Any) -> Any:
    """Let a setting such as `check_opening: true` say when: true is consensus, false is never."""
    if isinstance(value, bool):
        return "consensus" if value else "never"
    if isinstance(value, str) and value not in get_args(Until):
        raise said(f"{value!r} is no time to end", nearest(value, ["true", "false", *get_args(Until)]))
    return value


Ending: TypeAlias = Annotated[
    Annotated[Until, BeforeValidator(_truth, json_schema_input_type=Until | bool), Tag("<value>")] | Asked,
    SETTING_OR_VALUE,
]


class LoopText(Entry):
    """`{repeat, unless, until, do}`: a loop of the schedule."""

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


def _item(value: Any) -> str:
    return ("<case>" if "case" in value else "<loop>") if isinstance(value, dict) else "<step>"


ItemText: TypeAlias = Annotated[
    Annotated[Name, Tag("<step>")] | Annotated[LoopText, Tag("<loop>")] | Annotated[CaseText, Tag("<case>")],
    Discriminator(_item),
]
LoopText.model_rebuild()
CaseText.model_rebuild()


class EndsText(Entry):
    """`{rounds: T}`: at most T rounds in which debaters answered, the opening included."""

    rounds: Count


# ---------------------------------------------------------------- the decision
class VoteText(Entry):
    """What a tied vote becomes."""

    fallback: Annotated[Annotated[Fallback, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "confidence"


class LastForm(Entry):
    """`{last: role}`: the last answer of a role."""

    last: Name


class RoleAnswerForm(Entry):
    """`{role: name}`: the answer of an extra role, such as a summarizer; its last one."""

    role: Name


class MajorityForm(Entry):
    """`{majority: {fallback: none}}`."""

    majority: VoteText


class WeightedForm(Entry):
    """`{weighted: {fallback: none}}`."""

    weighted: VoteText


DecideWord: TypeAlias = Literal["majority", "weighted", "first"]
DecideText: TypeAlias = Annotated[
    Annotated[DecideWord, Tag("<word>")]
    | Asked
    | Annotated[LastForm, Tag("<last>")]
    | Annotated[RoleAnswerForm, Tag("<role>")]
    | Annotated[MajorityForm, Tag("<majority>")]
    | Annotated[WeightedForm, Tag("<weighted>")],
    one_of(
        get_args(DecideWord),
        {
            "last": "{last: role}",
            "role": "{role: name}",
            "majority": "{majority: {fallback: none}}",
            "weighted": "{weighted: {fallback: none}}",
        },
    ),
]


# ---------------------------------------------------------------- roles
class ModelOfForm(Entry):
    """`{model_of: first}`: an extra agent, named after the role, with the model of the first agent."""

    model_of: Literal["first", "second"]


class ModelForm(Entry):
    """`{model: NAME}`: an extra agent, named after the role, with a model of its own."""

    model: Name
    persona: Text | None = None


def _role(value: Any) -> str | None:
    if isinstance(value, str):
        return "<setting>" if value.startswith("$") else "<word>" if value in get_args(RoleWord) else None
    if isinstance(value, dict):
        return next((f"<{form}>" for form in ("model_of", "model") if form in value), None)
    return {list: "<names>", int: "<number>"}.get(type(value))


RoleWord: TypeAlias = Literal["everyone", "first", "second"]
RoleText: TypeAlias = Annotated[
    Annotated[RoleWord, Tag("<word>")]
    | Asked
    | Annotated[Annotated[Whole, Field(ge=1)], Tag("<number>")]
    | Annotated[tuple[Name, ...], Field(min_length=1), Tag("<names>")]
    | Annotated[ModelOfForm, Tag("<model_of>")]
    | Annotated[ModelForm, Tag("<model>")],
    Discriminator(
        _role,
        **no_such_form(
            (*get_args(RoleWord), "the number of an agent"),
            {"names": "[agent names]", "model_of": "{model_of: first}", "model": "{model: NAME}"},
        ),
    ),
]


# ---------------------------------------------------------------- the whole
class ProtocolText(Entry):
    """A debate protocol. Words that are not written take the setting of that name, if there is one."""

    example: ClassVar[str] = "{steps: ..., schedule: ..., decide: ...}"

    title: Text = ""
    source: Text | None = Field(None, description="Where the method was published.")
    settings: dict[Variable, Plain] = Field(
        default_factory=dict, description="What a method may set, with defaults; each may be a grid axis."
    )
    roles: Annotated[dict[Variable, RoleText], Field(min_length=1)] = Field({"debater": "everyone"})
    steps: Annotated[dict[Variable, StepText], Field(min_length=1)]
    schedule: Annotated[tuple[ItemText, ...], Field(min_length=1)]
    decide: DecideText
    ends: EndsText | None = None
    recalibration: RecalibrationText = "none"
    participation: Annotated[Annotated[Participation, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "spoken"
    similarity: Text = Field(
        "ngram",
        description="ngram, an embedding model, sentence-transformers/NAME, nli/NAME, or asked: what a step has read.",
    )
    passes: Annotated[Annotated[PassesOn, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "whole"
    fallback: Annotated[Annotated[Fallback, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "confidence"


INHERITING = ("recalibration", "participation", "similarity", "passes", "fallback")
"""The words of a protocol that take the setting of the same name where they are not written."""
