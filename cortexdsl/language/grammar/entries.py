"""Parts of every type of the language: entries, names, numbers, settings, and unions of words and forms.

Every value is validated once and described once: the same pydantic types give the checker and the JSON Schema.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
import sys
from collections.abc import Mapping
from functools import cache, reduce
from itertools import pairwise
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeAlias,
    get_args,
    get_origin,
)  # fmt: skip

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    Strict,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType

from cortexdsl.language.grammar.old_words import KEYS, key_remedy

_BUILT_IN = frozenset(get_args(ErrorType))


def invalid(what: str, remedy: str = "") -> PydanticCustomError:
    """Return an error to raise in a validator: what is wrong with the value, and what to write instead."""
    return PydanticCustomError("invalid", "{what}", {"what": what, "remedy": remedy})


class StrictEntry(BaseModel):
    """A mapping of the language. The error for an unknown key lists the keys that exist.

    The text below a key describes it in the schema and in the manual.

    Attributes
    ----------
    hints : mapping
        Remedies for keys that people are likely to write although they do not exist.
    example : str
        How an entry or form is written, for messages; else the code that the description begins with.
    several : str
        What to write if there is a list instead of a mapping.
    signs : tuple of str
        Keys by which a form is recognised if the key that it is named by is missing.
    core : type or None
        The class of the core whose words it has.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)
    hints: ClassVar[Mapping[str, str]] = {}
    example: ClassVar[str] = ""
    several: ClassVar[str] = ""
    signs: ClassVar[tuple[str, ...]] = ()
    core: ClassVar[type | None] = None

    @classmethod
    def spelling(cls) -> str:
        """Return how a form is written."""
        return cls.example or (cls.__doc__ or "``").split("`")[1]

    @classmethod
    def key(cls) -> str:
        """Return the key that a form is named by: its first required one, else its first."""
        fields = [(field.alias or name, field.is_required()) for name, field in cls.model_fields.items()]
        return next((name for name, is_required in fields if is_required), fields[0][0])

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """Return the text below each key, of the entry or of the field of the core that declares the key."""
        texts: dict[str, str] = {}
        for kind in (cls.core, *cls.__mro__):
            texts |= {} if kind in (None, BaseModel, object) else _texts_below(kind)
        return {field.alias or name: texts[name] for name, field in cls.model_fields.items() if name in texts}

    @model_validator(mode="wrap")
    @classmethod
    def _name_unknown_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, dict):
            example = cls.several if isinstance(data, list) and cls.several else cls.example
            raise PydanticCustomError("no_mapping", "no mapping", {"example": example})
        if old := [key for key in data if key in KEYS.get(cls.__name__, {}) and cls.model_config["extra"] == "allow"]:
            details = [_unknown(cls, (key,), data[key]) for key in old]
            raise ValidationError.from_exception_data(cls.__name__, details)
        try:
            return handler(data)
        except ValidationError as error:
            details = [_with_context(cls, each) for each in error.errors()]
            raise ValidationError.from_exception_data(cls.__name__, details) from None


def _with_context(entry: type[StrictEntry], error: Any) -> InitErrorDetails:
    kind, context, route = error["type"], error.get("ctx", {}), error["loc"]
    if kind == "extra_forbidden" and len(route) == 1:
        return _unknown(entry, route, error["input"])
    if kind not in _BUILT_IN:
        kind = PydanticCustomError(kind, "{what}" if "what" in context else "see the context", context)
    return InitErrorDetails(type=kind, loc=route, input=error["input"], ctx=context)


def _unknown(entry: type[StrictEntry], route: tuple[Any, ...], value: Any) -> InitErrorDetails:
    """Return the error for a key that does not exist, with the keys that do, and what to write instead."""
    remedy = key_remedy(entry.__name__, route[0], value) or entry.hints.get(route[0], "")
    context = {"allowed": [f.alias or name for name, f in entry.model_fields.items()], "remedy": remedy}
    return InitErrorDetails(type=PydanticCustomError("unknown_key", "unknown key", context), loc=route, input=value)


@cache
def _texts_below(kind: type) -> Mapping[str, str]:
    """Return the text below each field of a class, on one line; none of a class without source."""
    tree = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    bodies = [each.body for each in tree.body if isinstance(each, ast.ClassDef) and each.name == kind.__name__]
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for body in bodies
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


# ---------------------------------------------------------------- scalars
NAME = r"^[A-Za-z0-9]([A-Za-z0-9_+.\-]{0,58}[A-Za-z0-9_+])?$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
TEMPLATE = r"^[^./\\:~][^/\\:]*(/[^./\\:][^/\\:]*)*$"
SETTING = r"\$[A-Za-z_]"
HUB_ID = r"^[A-Za-z0-9][\w.\-]*/[\w.\-]+(@[\w.\-]+)?$"

PATTERNS: Mapping[str, str] = {
    NAME: "a name has letters, digits and _ + - . only, begins with a letter or digit, ends with no dot, 60 at most",
    VARIABLE: "a name of letters, digits and _ is needed",
    TEMPLATE: "a template is named by its path below prompts/ or beside the spec, such as my/revise.j2",
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
"""Any value of YAML, which a later stage checks."""

_UNITS = {"s": 1, "min": 60, "h": 3600}


def _duration(value: Any) -> Any:
    time = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h)", value) if isinstance(value, str) else None
    if time is not None:
        return float(time[1]) * _UNITS[time[2]]
    if isinstance(value, str):
        raise invalid("this is not a length of time", "write 30s, 10min or 2h, or a number of seconds")
    return value


Duration: TypeAlias = Annotated[
    float, Strict(), Field(ge=0, le=604_800), BeforeValidator(_duration, json_schema_input_type=float | str)
]


def not_listed(kind: Any, what: str, remedy: str) -> BeforeValidator:
    """Return a validator of values of a type that says what is wrong with a list, and the remedy."""

    def check(value: Any) -> Any:
        if isinstance(value, list):
            raise invalid(what, remedy)
        return value

    return BeforeValidator(check, json_schema_input_type=kind)


# ---------------------------------------------------------------- unions of words and forms
def listed(value: Any) -> Any:
    """Return a value as a list: one value alone may be written instead of a list."""
    return value if isinstance(value, list | tuple) else [value]


def _form(member: Any) -> type[StrictEntry] | None:
    """Return the entry of a union's member that is a form, of the language or of the core; None for other members."""
    plain, *also = get_args(member) if get_origin(member) is Annotated else (member,)
    entry = next((each.entry(plain) for each in also if hasattr(each, "entry")), plain)
    return entry if isinstance(entry, type) and issubclass(entry, StrictEntry) else None


def _kind(member: Any) -> str:
    """Return how values of a union's member that is not a form are written."""
    if member is Setting:
        return "setting"
    plain = get_args(member)[0] if get_origin(member) is Annotated else member
    origin = get_origin(plain)
    if origin is not None:
        return {Literal: "word", tuple: "list", dict: "mapping"}[origin]
    return {str: "text", int: "number", float: "number", bool: "flag", type(None): "nothing"}[plain]


class OneOf:
    """Annotation of a union: a value is checked against the one member that it is written like.

    A mapping is the form that has its key. A text is one of the words, a setting, or free text. Lists and numbers are
    what they are. An error therefore concerns that member alone; if no member fits, it lists words and forms.

    Parameters
    ----------
    *also : str
        Values for that list whose members have no spelling of their own, such as `the name of a step`.
    """

    def __init__(self, *also: str) -> None:
        self._also = also

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = {f"<{i}>": member for i, member in enumerate(get_args(source))}
        union = _Union(members)
        allowed: Any = {
            "words": [*union.words, *self._also],
            "forms": {key: union.forms[tag].spelling() for tag, key in union.keys.items()},
        }
        choose = Discriminator(
            union.tag,
            custom_error_type="no_such_form",
            custom_error_message="no such form",
            custom_error_context=allowed,
        )
        tagged: Any = reduce(operator.or_, (Annotated[member, Tag(tag)] for tag, member in members.items()))
        return handler.generate_schema(Annotated[tagged, choose])


class _Union:
    """The members of a union by how they are written, each with its tag."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.any_form: str | None = None  # the form of every mapping: it has no key that must be there
        self.forms: dict[str, type[StrictEntry]] = {}
        self.keys: dict[str, str] = {}
        self.words: dict[str, str] = {}
        self.other: dict[str, str] = {}
        for tag, member in members.items():
            if (form := _form(member)) is not None:
                self.forms[tag], self.keys[tag] = form, form.key()
                if not any(field.is_required() for field in form.model_fields.values()):
                    self.any_form = tag
            elif (kind := _kind(member)) == "word":
                plain = get_args(member)[0] if get_origin(member) is Annotated else member
                self.words |= dict.fromkeys(get_args(plain), tag)
            else:
                self.other[kind] = tag

    def tag(self, value: Any) -> str | None:
        """Return the tag of the member that a value is written like."""
        if isinstance(value, dict):
            return self._form(value) or self._any(value, "mapping")
        if isinstance(value, list | tuple):
            return self._any(value, "list")
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._any(value, "number")
        return self._any(value, "nothing" if value is None else "flag")

    def _form(self, value: Mapping[str, Any]) -> str | None:
        for tag, key in self.keys.items():  # if names may be keys, a form is a mapping with its key alone
            if key in value and ("mapping" not in self.other or len(value) == 1):
                return tag
        for tag, form in self.forms.items():
            if {*value} & {*form.signs}:
                return tag
        return self.any_form

    def _text(self, value: str) -> str | None:
        # Without forms a setting may be part of arithmetic, such as $rounds - 1.
        if "setting" in self.other and (value.startswith("$") if self.forms else "$" in value):
            return self.other["setting"]
        if value in self.words:
            return self.words[value]
        if self.forms or value[:1].isdigit() or {"text", "setting"} & self.other.keys():
            return self._any(value, "text")
        return next(iter(self.words.values()), None) or self._any(value, "text")

    def _any(self, value: Any, kind: str) -> str | None:
        """Return the member of a kind; else, without forms, the member whose error says best what is needed."""
        if kind in self.other:
            return self.other[kind]
        if self.forms:
            return None if isinstance(value, dict | list | tuple) else self.other.get("text")
        kinds = ("number", "text") if kind == "text" and self.words else ("number", "text", "mapping", "list", "flag")
        needed = (self.other.get(each) for each in kinds)
        return next((tag for tag in needed if tag), None) or next(iter(self.words.values()), None)


# ---------------------------------------------------------------- counts
MOST = 10_000
"""The largest number of agents, groups, samples, or rounds."""

AtLeastOne: TypeAlias = Annotated[Whole, Field(ge=1, le=MOST)]
Count: TypeAlias = Annotated[AtLeastOne | Setting, OneOf()]
CountOrZero: TypeAlias = Annotated[Annotated[Whole, Field(ge=0, le=MOST)] | Setting, OneOf()]


def number(value: int | float | str) -> float:
    """Return a number, once settings have been replaced by their values."""
    assert not isinstance(value, str), value
    return value
