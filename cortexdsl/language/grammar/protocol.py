"""A protocol: who speaks, the schedule, the decision, the roles, and recalibration.

Any value may be `$name`, a setting that a method may set; a count or a weight may contain one. The same types
validate a protocol before and after its settings have values.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from cortexdsl.core import NAMED_BINS, Bin, Decide, Method
from cortexdsl.engine.decisions import DECISION_RULES
from cortexdsl.language.grammar.core_words import WrittenAs, with_words_of
from cortexdsl.language.grammar.entries import (
    NAME,
    Name,
    OneOf,
    Plain,
    Setting,
    Share,
    StrictEntry,
    Text,
    Variable,
    Whole,
    invalid,
    listed,
)
from cortexdsl.language.grammar.expressions import Ballot
from cortexdsl.language.grammar.hears import HearsText
from cortexdsl.language.grammar.old_words import key_remedy
from cortexdsl.language.grammar.schedule import ItemText
from cortexdsl.language.grammar.steps import StepText


def _lower_bound(key: str) -> str:
    if re.fullmatch(r"[\d.]+(e-\d+)?", key) is None or not 0 <= float(key) <= 1:
        raise invalid(f"{key} is not a confidence", "write a number from 0 to 1, from which on the value holds")
    return key


_Bound: TypeAlias = Annotated[Text, AfterValidator(_lower_bound)]
_Value: TypeAlias = Annotated[Share | Literal["keep"], OneOf()]


def _old_bins(value: Any) -> Any:
    for word, inner in value.items() if isinstance(value, dict) else ():
        if remedy := key_remedy("recalibration", word, inner):
            raise invalid(f"{word} is not a confidence", remedy)
    return value


def _bins(written: dict[str, float | str]) -> tuple[Bin, ...]:
    """Return the bins of lower bounds and values, the highest first; the highest one holds 1."""
    values = {float(low): value if isinstance(value, float) else None for low, value in written.items()}
    lows = sorted(values)
    if lows[0] > 0:
        raise invalid(f"no bin holds 0; the lowest begins at {lows[0]:g}", "write a value for 0, too")
    if len(values) < len(written):
        raise invalid("a bound is there twice", "keep one of them")
    bins = [Bin(low, high, values[low]) for low, high in zip(lows, [*lows[1:], 1.0], strict=True)]
    return tuple(reversed([*bins[:-1], replace(bins[-1], high_closed=True)]))


_RecalibrationWord: TypeAlias = Annotated[
    Literal["none", "cortexdebate", "reconcile"], AfterValidator(NAMED_BINS.__getitem__)
]
_OwnBins: TypeAlias = Annotated[
    dict[_Bound, _Value],
    Field(min_length=1, max_length=1_000),
    BeforeValidator(_old_bins, json_schema_input_type=dict[str, _Value]),
    AfterValidator(_bins),
]


# ---------------------------------------------------------------- the decision
_RULES = tuple(name for name, rule in DECISION_RULES.items() if rule.is_word)


class BallotForm(StrictEntry):
    """`{vote: EXPRESSION}`: each answer of each round has as many votes as EXPRESSION says."""

    example: ClassVar[str] = "{vote: weight of an answer}"

    vote: Ballot
    """An expression with a value for each answer."""

    def value(self) -> Decide:
        """Return the decision."""
        return Decide("vote", weight=self.vote)


def _role_or_rule(role: str) -> Decide:
    if not re.fullmatch(NAME, role):
        raise invalid("this is neither a rule nor a role", f"write {{vote: {role}}} if answers have so many votes")
    return Decide("last", role, otherwise="")


def _ordered(value: tuple[str | Decide, ...]) -> Decide:
    """Return the decision of a list: a role, the rule if it gave no answer, and none if all answers differ."""
    tried, ending = (list(value[:-1]), "none") if value[-1] == "none" else (list(value), "")
    role = tried.pop(0) if tried and isinstance(tried[0], str) and tried[0] not in (*_RULES, "none") else None
    rule = tried[0] if len(tried) == 1 and (tried[0] in _RULES or (role is None and tried[0] != "none")) else None
    if (tried and rule is None) or not (rule or role) or not (ending or (rule and role)):
        raise invalid(
            "a list names a role and the rule if it gave no answer, and none if all answers differ",
            f"write [judge, majority], [majority, none] or [judge, majority, none]; rules: {', '.join(_RULES)}",
        )
    tie: Any = {"tie": "none"} if ending and rule else {}
    if isinstance(rule, Decide):
        return replace(rule, **tie)
    return Decide(rule, **tie) if role is None and rule else Decide("last", str(role), otherwise=rule or "none", **tie)


_NUMERIC = {"mean": Decide("trimmed"), "median": Decide("trimmed", share=0.5)}
DecideWord: TypeAlias = Literal[(*_RULES, *_NUMERIC)]  # type: ignore[valid-type]
_Ballot: TypeAlias = Annotated[Decide, WrittenAs(BallotForm)]
_Decide: TypeAlias = Annotated[
    Annotated[DecideWord, AfterValidator(lambda rule: _NUMERIC.get(rule) or Decide(rule))]
    | Setting
    | Annotated[Text, AfterValidator(_role_or_rule)]
    | Annotated[tuple[Annotated[Name | _Ballot, OneOf()], ...], Field(min_length=1), AfterValidator(_ordered)]
    | _Ballot,
    OneOf("ROLE", "[ROLE, rule, none]"),
]


# ---------------------------------------------------------------- roles
class ModelForm(StrictEntry):
    """`{model: NAME}`: an extra agent with this model. It has the name of the role."""

    model: Name
    """The name of an entry of models."""


class ToolForm(StrictEntry):
    """`{tool: NAME}`: a tool of the spec instead of an agent. It has the name of the role."""

    tool: Annotated[Name | Setting, OneOf()]
    """The name of an entry of tools."""


RoleWord: TypeAlias = Literal["everyone", "extra"]
RoleText: TypeAlias = Annotated[
    RoleWord
    | Setting
    | Annotated[Whole, Field(ge=1)]
    | Annotated[Name, AfterValidator(lambda name: (name,))]
    | Annotated[tuple[Name, ...], Field(min_length=1)]
    | ModelForm
    | ToolForm,
    OneOf("the name or number of an agent", "[agent names]"),
]


# ---------------------------------------------------------------- the whole
@with_words_of(Method, settable=True)
class ProtocolText(StrictEntry):
    """A debate protocol: its roles, its kinds of turns, their order, and the decision."""

    example: ClassVar[str] = "{steps: ..., schedule: ..., decide: ...}"

    title: Text = ""
    """A title for readers."""
    source: Text | None = None
    """Where the method was published."""
    settings: dict[Variable, Plain] = Field(default_factory=dict)
    """The names that methods may set and grids may vary, each with its default."""
    roles: Annotated[dict[Variable, RoleText], Field(min_length=1)] = Field({"debater": "everyone"})
    """The agents of each role."""
    voters: Annotated[tuple[Name, ...], BeforeValidator(listed, json_schema_input_type=Name | tuple[Name, ...])] = ()
    """The roles whose answers are the votes. Rounds count only these answers. Default: the role of the first step that
    reads an answer."""
    topologies: dict[Variable, HearsText] = Field(default_factory=dict)
    """Names for values of `hears`, which settings may have instead."""
    steps: Annotated[dict[Variable, StepText], Field(min_length=1)]
    """The kinds of turns, each with a name."""
    schedule: Annotated[tuple[ItemText, ...], Field(min_length=1)]
    """The steps in their order, with loops, choices and cases."""
    decide: Annotated[Decide, WrittenAs(_Decide)]
    """How the answer of a debate is chosen. In a tie the highest sum of confidences wins (with weighted, the number of
    debaters). [RULE, none]: if all last answers differ, there is no answer."""
    recalibration: Annotated[_RecalibrationWord | Setting | _OwnBins, OneOf("{0: 0.25, 0.5: keep}")] = Field(
        "none", validate_default=True
    )
    """How stated confidences are corrected before weights and votes use them: a name, or what confidences become from
    each bound on, as in {0: 0.25, 0.5: keep}, where keep leaves them."""
    similarity: Text = "ngram"
    """How the similarity of two replies is measured. ngram: by the words and characters that they share. asked: a
    model states it, in a step with `reads: similarity`. Or write an embedding model, sentence-transformers/NAME or
    nli/NAME."""
