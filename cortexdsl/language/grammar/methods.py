"""Methods and grids: protocols with settings, the budgets that they have, and the settings that vary."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from cortexdsl.core.metrics import BUDGETS
from cortexdsl.errors import nearest
from cortexdsl.language.grammar.confidence import ConfidenceText, DebateConfidenceText, DeferText, PlaceboText
from cortexdsl.language.grammar.entries import Name, OneOf, Plain, StrictEntry, Text, Variable, invalid, not_listed
from cortexdsl.language.grammar.protocol import RoleText
from cortexdsl.language.grammar.steps import PromptText

GrowText: TypeAlias = Annotated[
    Text
    | Annotated[
        dict[Text, Annotated[tuple[Plain, ...], Field(min_length=2, max_length=100)]],
        Field(min_length=1, max_length=1),
    ],
    OneOf(),
]


UNITS = ("tokens", *BUDGETS)
"""The units of a matched budget."""


def parse_budget(text: str) -> tuple[str, str]:
    """Return the unit and the method of a budget such as `calls(full)`.

    Raises
    ------
    PydanticCustomError
        It is not written like this, or no unit is called so.
    """
    written = re.fullmatch(r"\s*(\w+)\s*\((.+)\)\s*", text)
    if written is None:
        raise invalid("this is not a budget", "write UNIT(METHOD), such as budget: calls(full)")
    if written[1] not in UNITS:
        raise invalid(f"{written[1]} is not a unit of budgets", nearest(written[1], UNITS))
    return written[1], written[2].strip()


def _budget(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        ((unit, method),) = value.items()
        raise invalid("a budget is one text", f"write budget: {unit}({method})")
    if isinstance(value, str):
        parse_budget(value)
    return value


def _named_agents(value: Any) -> Any:
    if isinstance(value, int):
        raise invalid("agents are named, not counted", "write agents: [NAMES], or leave the key out: all debate")
    return value


_AgentNames: TypeAlias = Annotated[Name | Annotated[tuple[Name, ...], Field(min_length=1)], OneOf("[agent names]")]
AgentsText: TypeAlias = Annotated[_AgentNames, BeforeValidator(_named_agents, json_schema_input_type=_AgentNames)]


class MethodText(StrictEntry, extra="allow"):
    """A protocol with settings (`protocol`), or a changed copy of another method (`extends`).

    All keys that are not in the table are settings of the protocol.
    """

    example: ClassVar[str] = "{protocol: NAME}"

    protocol: Text | None = None
    """A protocol's name, or ./FILE.yaml in the folder of the spec."""
    extends: Name | None = None
    """The method that this one copies. The other keys change the copy."""
    agents: AgentsText = "everyone"
    """The agents that debate: a list of names, or the name of a team."""
    budget: Annotated[Text, BeforeValidator(_budget, json_schema_input_type=Text)] | None = Field(
        None,
        description="Spend on each question what another method spends: UNIT(METHOD), such as calls(full). Units are "
        f"{', '.join(UNITS)}.",
    )
    grow: GrowText | None = None
    """With a budget: the setting that is raised until the budget is spent: NAME, or {NAME: [VALUES]}. Default:
    samples."""
    roles: dict[Variable, RoleText] = Field(default_factory=dict)
    """For each role that you change: the agents or the model that have it."""
    prompts: dict[Variable, PromptText] = Field(default_factory=dict)
    """For each step that you change: its template."""
    confidence: ConfidenceText = Field("stated", validate_default=True)
    """How the confidence of an answer is measured."""
    placebo: PlaceboText = "none"
    """A control: what debaters are shown instead of the words of others. Write one value for all steps, or a value for
    each step."""
    debate_confidence: DebateConfidenceText = "votes"
    """How the confidence of the whole debate is computed."""
    defer: DeferText | None = None
    """Hand the question on to another method if the debate is not sure enough."""

    @model_validator(mode="after")
    def _source(self) -> Self:
        if (self.protocol is None) == (self.extends is None):
            # All unknown keys are settings, so a misspelled `protocol` is not refused as an unknown key.
            misspelled = self.protocol is None and difflib.get_close_matches(
                "protocol", list(self.model_extra or {}), 1, 0.7
            )
            hint = f"; did you mean protocol instead of {misspelled[0]}?" if misspelled else ""
            raise invalid(
                "a method has either a protocol or extends another method",
                f"write protocol: NAME or extends: METHOD{hint}",
            )
        if self.grow is not None and self.budget is None and self.extends is None:
            raise invalid("grow spends a budget, and there is none", "write budget: calls(METHOD), or remove grow")
        return self


METHOD_WORDS = tuple(MethodText.model_fields)
"""The words of a method besides settings; settings of protocols cannot have these names."""


# ---------------------------------------------------------------- the grid
def _values(value: Any) -> Any:
    if isinstance(value, list) and not value:
        raise invalid("an axis has no values", "list at least one")
    return value


AxesText: TypeAlias = Annotated[
    dict[Text, Annotated[tuple[Plain, ...], BeforeValidator(_values, json_schema_input_type=list[Plain])]],
    Field(min_length=1),
]
GridsText: TypeAlias = Annotated[AxesText | Annotated[tuple[AxesText, ...], Field(min_length=1)], OneOf()]


_A_GRID = "write grid: {METHOD: {SETTING: [VALUES]}}, or with several grids of a method {METHOD: [{...}, {...}]}"
GridText: TypeAlias = Annotated[
    dict[Name, GridsText], not_listed(dict[Name, GridsText], "a grid is a mapping of methods", _A_GRID)
]
