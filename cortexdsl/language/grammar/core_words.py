"""Entries with the words of classes of the core, each declared once, by its field (`cortexdsl.core.types.word`).

The grammar adds what a text may say more shortly, and what does not go together.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial, reduce
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from cortexdsl.language.grammar.entries import Flag, Number, OneOf, Setting, StrictEntry, Text, Whole

T = TypeVar("T")
E = TypeVar("E", bound=StrictEntry)


def core_value(kind: Callable[..., T], entry: StrictEntry, *, translated: Collection[str] = (), **fields: Any) -> T:
    """Return a value of the core with the words of an entry.

    A field has the value in `fields`, else the value of the word of the same name. A word that has no field, and that
    nothing translates, is an error, so that every word has an effect.

    Parameters
    ----------
    kind : type
        A dataclass of the core.
    entry : StrictEntry
    translated : collection of str
        Words without a field of their own: `fields` has their meaning.
    **fields : values

    Raises
    ------
    TypeError
        A word of the entry would have no effect.
    """
    shared = _shared_words(kind, type(entry), frozenset(translated))
    return kind(**{word: getattr(entry, word) for word in shared} | fields)


class FromCore:
    """Annotation of a class of the core: a mapping of the words that its fields declare becomes a value of it.

    Parameters
    ----------
    example : str, as for `StrictEntry`
    check : function, optional
        Raises an error if words contradict each other. It gets the value and the words that were written.
    **types : types of the words whose text needs more than the type of the field
    """

    def __init__(self, example: str = "", check: Callable[[Any, Collection[str]], None] | None = None, **types: Any):
        self._example, self._check, self._types = example, check, types

    def entry(self, source: Any) -> type[StrictEntry]:
        """Return the form of a class."""
        name, doc = f"{source.__name__}Text", source.__doc__.partition("\n")[0]
        entry: Any = create_model(name, __base__=StrictEntry, __doc__=doc, **declared_words(source, self._types))
        entry.example, entry.core = self._example, source
        return entry  # type: ignore[no-any-return]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        made = partial(self._value, source)
        return no_info_after_validator_function(made, handler.generate_schema(self.entry(source)))

    def _value(self, source: Any, entry: StrictEntry) -> Any:
        value = core_value(source, entry)
        if self._check is not None:
            self._check(value, entry.model_fields_set)
        return value


class WrittenAs:
    """Annotation of a class of the core: another type says how a value is written, and makes it.

    Parameters
    ----------
    written : type
        A form with a function `value`, or a union whose members become values of the class.
    """

    def __init__(self, written: Any) -> None:
        self.written = written

    def entry(self, source: Any) -> Any:
        """Return how the value is written."""
        return self.written

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler.generate_schema(self.written)
        is_form = isinstance(self.written, type)
        return no_info_after_validator_function(operator.methodcaller("value"), schema) if is_form else schema


def declared_words(kind: Any, types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type and the declaration of each field of a class that is a word (see `core.types.word`)."""
    hints = get_type_hints(kind)
    return {
        field.name: (
            types.get(field.name) or _as_written(hints[field.name]),
            Field(
                ... if field.default is dataclasses.MISSING else field.default,
                alias=field.metadata["alias"],
                **field.metadata["bounds"],
            ),
        )
        for field in dataclasses.fields(kind)
        if field.metadata
    }


def _as_written(hint: Any) -> Any:
    """Return the type of a word whose field has a type: YAML says which values are texts and which are numbers."""
    if get_origin(hint) in (Union, UnionType):
        return reduce(operator.or_, map(_as_written, get_args(hint)))
    return {str: Text, int: Whole, float: Number, bool: Flag}.get(hint, hint)


def with_words_of(kind: type, *, settable: bool = False, **types: Any) -> Callable[[type[E]], type[E]]:
    """Return a decorator of an entry that adds the words of a class of the core.

    Parameters
    ----------
    kind : type
    settable : bool
        Whether each word may be a setting.
    **types : types of the words, as for `FromCore`
    """
    words: dict[str, Any] = {
        name: (Annotated[typed | Setting, OneOf()] if settable else typed, field)
        for name, (typed, field) in declared_words(kind, types).items()
    }

    def extended(entry: type[E]) -> type[E]:
        name, doc, module = entry.__name__, entry.__doc__, entry.__module__
        made = create_model(name, __base__=entry, __doc__=doc, __module__=module, **words)
        made.core = kind
        return made

    return extended


@cache
def _shared_words(kind: Any, entry: type[StrictEntry], translated: frozenset[str]) -> frozenset[str]:
    known = {field.name for field in dataclasses.fields(kind)}
    if lost := entry.model_fields.keys() - known - translated:
        raise TypeError(f"{entry.__name__}: {kind.__name__} has no field {', '.join(sorted(lost))}")
    return frozenset(entry.model_fields.keys() & known)
