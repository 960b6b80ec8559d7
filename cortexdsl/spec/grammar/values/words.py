"""What the types of the language are made of: entries with known keys, names, numbers, and words with forms.

Every value is validated once and described once: the same pydantic types give the checker and the JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, TypeAlias, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    Strict,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType

_BUILT_IN = frozenset(get_args(ErrorType))


def said(what: str, remedy: str = "") -> PydanticCustomError:
    """Return an error of a validator of ours, in words that need no translation."""
    return PydanticCustomError("said", "{what}", {"what": what, "remedy": remedy})


class Entry(BaseModel):
    """A mapping of the language: its keys are known, and an unknown one is told which there are.

    `hints` gives the remedy for keys that people are likely to write and that are not there, `example` what to
    write where something else than a mapping stands, and `several` what to write where a list stands.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)
    hints: ClassVar[Mapping[str, str]] = {}
    example: ClassVar[str] = ""
    several: ClassVar[str] = ""

    @model_validator(mode="wrap")
    @classmethod
    def _name_unknown_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, dict):
            example = cls.several if isinstance(data, list) and cls.several else cls.example
            raise PydanticCustomError("no_mapping", "no mapping", {"example": example})
        try:
            return handler(data)
        except ValidationError as error:
            raise ValidationError.from_exception_data(cls.__name__, [_again(cls, e) for e in error.errors()]) from None


def _again(entry: type[Entry], error: Any) -> InitErrorDetails:
    kind, context, route = error["type"], error.get("ctx", {}), error["loc"]
    if kind == "extra_forbidden" and len(route) == 1:
        allowed = [f.alias or name for name, f in entry.model_fields.items()]
        context = {"allowed": allowed, "remedy": entry.hints.get(route[0], "")}
        kind = PydanticCustomError("unknown_key", "unknown key", context)
    elif kind not in _BUILT_IN:
        kind = PydanticCustomError(kind, "{what}" if "what" in context else "see the context", context)
    return InitErrorDetails(type=kind, loc=route, input=error["input"], ctx=context)


# ---------------------------------------------------------------- scalars
NAME = r"^[A-Za-z0-9]([A-Za-z0-9_+.\-]{0,58}[A-Za-z0-9_+])?$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
TEMPLATE = r"^[^./\\:~][^/\\:]*(/[^./\\:][^/\\:]*)*$"
SETTING = r"\$[A-Za-z_]"
HUB_ID = r"^[A-Za-z0-9][\w.\-]*/[\w.\-]+$"

PATTERNS: Mapping[str, str] = {
    NAME: "a name has letters, digits and _ + - . only, begins with a letter or digit, ends with no dot, 60 at most",
    VARIABLE: "a name of letters, digits and _ is needed",
    TEMPLATE: "a template is named by its path below prompts/ or beside the spec, such as my/revise.j2",
    r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$": "a function is written as package.module:function",
    SETTING: "a setting is written as $name",
    HUB_ID: "a dataset of the hub is written OWNER/NAME, as in its address on the hub",
}

Text: TypeAlias = Annotated[str, Strict(), Field(min_length=1, max_length=20_000)]
Name: TypeAlias = Annotated[str, Strict(), Field(pattern=NAME)]
Variable: TypeAlias = Annotated[str, Strict(), Field(pattern=VARIABLE)]
Template: TypeAlias = Annotated[str, Strict(), Field(pattern=TEMPLATE, max_length=200)]
HubId: TypeAlias = Annotated[str, Strict(), Field(pattern=HUB_ID, max_length=200)]
Setting: TypeAlias = Annotated[str, Strict(), Field(pattern=SETTING)]
Flag: TypeAlias = Annotated[bool, Strict()]
Whole: TypeAlias = Annotated[int, Strict()]
Number: TypeAlias = Annotated[float, Strict()]
Share: TypeAlias = Annotated[float, Strict(), Field(ge=0, le=1)]
Positive: TypeAlias = Annotated[float, Strict(), Field(gt=0, le=1e30)]
Plain: TypeAlias = Any
"""Any value of YAML; what it means is for somebody else to check."""


# ---------------------------------------------------------------- words with forms
def listed(value: Any) -> Any:
    """Return a value as a list: where a list may stand, one alone may."""
    return value if isinstance(value, list | tuple) else [value]


def no_such_form(words: Sequence[str], forms: Mapping[str, str]) -> dict[str, Any]:
    """Return what a Discriminator needs to say which words and forms there are."""
    return {
        "custom_error_type": "no_such_form",
        "custom_error_message": "no such form",
        "custom_error_context": {"words": list(words), "forms": dict(forms)},
    }


def one_of(words: tuple[str, ...], forms: Mapping[str, str]) -> Discriminator:
    """Tell a word from the forms with a value: `mean`, `{top: 3}`, `$keep`.

    Members of the union are tagged `<word>`, `<setting>` and `<KEY>`.

    Parameters
    ----------
    words : tuple of str
    forms : mapping
        Key of a form -> how it is written, for the message.
    """

    def pick(value: Any) -> str | None:
        if isinstance(value, str):
            return "<word>" if value in words else "<setting>" if value.startswith("$") else None
        if isinstance(value, dict):
            return next((f"<{form}>" for form in forms if form in value), None)
        return None

    return Discriminator(pick, **no_such_form(words, forms))


def setting_or_value(value: Any) -> str:
    """Tag `$name`, or a text that contains one, `<setting>`, and any other value `<value>`."""
    return "<setting>" if isinstance(value, str) and "$" in value else "<value>"


SETTING_OR_VALUE = Discriminator(setting_or_value)

Asked: TypeAlias = Annotated[Setting, Tag("<setting>")]
"""A value that a setting will give."""
