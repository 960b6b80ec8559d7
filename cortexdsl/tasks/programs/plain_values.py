"""Plain values as text, and back: what passes between a program and its tests (`cortexdsl.tasks.programs.inside`)."""

from __future__ import annotations

from _json import encode_basestring_ascii, make_encoder, make_scanner  # json imports re, and takes as long as Python

TYPE_CHECKING = False  # what typing and collections.abc import takes longer than most programs
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeAlias

    Values: TypeAlias = Iterable[Any]

EXACT = 1 << 53
"""Whole numbers below this are numbers of JSON."""


class _Scanner:
    """How `loads` reads JSON."""

    strict, memo = True, {}  # type: ignore[var-annotated]
    object_hook = object_pairs_hook = None
    parse_int, parse_float = int, float
    parse_constant = float


_scan = make_scanner(_Scanner)  # type: ignore[arg-type]
_encode = make_encoder(None, str, encode_basestring_ascii, None, ": ", ", ", False, False, True)


def loads(text: str) -> Any:
    """Read the JSON value that a text begins with.

    Raises
    ------
    ValueError
    """
    try:
        return _scan(text, 0)[0]
    except StopIteration:
        raise ValueError("no JSON") from None


def dumps(value: Any) -> str:
    """Return a value as JSON in ASCII."""
    return "".join(_encode(value, 0))


class ValueCodec:
    """Plain values as JSON, and back; what is not plain is replaced by what `refer` gives for it."""

    def __init__(self, refer: Callable[[Any], Any], resolve: Callable[[str, Any], Any]) -> None:
        self._refer, self._resolve = refer, resolve

    def encode(self, value: Any) -> Any:
        """Return a value as JSON has it; lists stay lists, other kinds are an object with one letter."""
        if value is None or type(value) in (bool, str, float):
            return value
        if isinstance(value, int):
            return int(value) if -EXACT < value < EXACT else {"i": hex(value)}
        for kind, letter in ((str, "u"), (float, "f")):  # subclasses
            if isinstance(value, kind):
                return {letter: kind(value)}
        if isinstance(value, list):
            return [self.encode(each) for each in value]
        if isinstance(value, range):
            return {"g": [value.start, value.stop, value.step]}
        for kinds, letter in _SEQUENCES:
            if isinstance(value, kinds):
                return {letter: [self.encode(each) for each in value]}
        if isinstance(value, dict):
            return {"d": [[self.encode(key), self.encode(each)] for key, each in value.items()]}
        if isinstance(value, (bytes, bytearray)):
            return {"b": value.decode("latin-1")}
        if isinstance(value, complex):
            return {"c": [value.real, value.imag]}
        if hasattr(value, "dtype") and value.dtype.kind in "biufc":  # numpy, only if the program imported it
            values = self.encode(value.tolist())
            return {"n": [str(value.dtype), values]} if value.shape else values
        kind = type(value)
        if (kind.__module__, kind.__name__) in _CONSTRUCTED:
            arguments = [self.encode(each) for each in _CONSTRUCTED[kind.__module__, kind.__name__](value)]
            return {"m": [kind.__module__, kind.__name__, arguments]}
        return self._refer(value)

    def decode(self, value: Any) -> Any:
        """Return the value that was encoded."""
        if isinstance(value, list):
            return [self.decode(each) for each in value]
        if not isinstance(value, dict):
            return value
        ((letter, content),) = value.items()
        if letter == "i":
            return int(content, 16)
        if letter in ("u", "f"):
            return {"u": str, "f": float}[letter](content)
        if letter in _MADE:
            return _MADE[letter](self.decode(each) for each in content)
        if letter == "d":
            return {self.decode(key): self.decode(each) for key, each in content}
        if letter == "b":
            return content.encode("latin-1")
        if letter == "c":
            return complex(*map(float, content))
        if letter == "n":
            import numpy

            name = str(content[0])
            if numpy.dtype(name).kind not in "biufc":
                raise TypeError(f"an array of {name}")
            return numpy.array(self.decode(content[1]), dtype=name)
        if letter == "m":
            module, name, arguments = content
            _CONSTRUCTED[module, name]  # only these
            return getattr(__import__(module), name)(*map(self.decode, arguments))
        return self._resolve(letter, content)


def _deque(values: Values) -> Any:
    from collections import deque

    return deque(values)


class _Deques(type):
    """A class whose instances are deques, without an import before one is there."""

    def __instancecheck__(cls, value: Any) -> bool:
        return type(value).__name__ == "deque" and type(value).__module__ == "collections"


class _Deque(metaclass=_Deques):
    """See `_Deques`."""


_SEQUENCES: tuple[tuple[Any, str], ...] = ((tuple, "t"), (frozenset, "z"), (set, "s"), (_Deque, "q"))
_MADE: Mapping[str, Callable[[Values], Any]] = {
    "t": tuple, "z": frozenset, "s": set, "g": lambda values: range(*values), "q": _deque,
}  # fmt: skip
_CONSTRUCTED: Mapping[tuple[str, str], Callable[[Any], Values]] = {
    ("fractions", "Fraction"): lambda value: (value.numerator, value.denominator),
    ("decimal", "Decimal"): lambda value: (str(value),),
    ("datetime", "date"): lambda value: (value.year, value.month, value.day),
    ("datetime", "time"): lambda value: (value.hour, value.minute, value.second, value.microsecond),
    ("datetime", "timedelta"): lambda value: (value.days, value.seconds, value.microseconds),
    ("datetime", "datetime"): lambda value: (
        *(value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond),
    ),
}
"""How plain objects of the standard library are made again."""
