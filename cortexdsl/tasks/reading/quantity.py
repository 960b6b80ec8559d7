"""Quantities: a number with its unit, spelled in base units, so that `2.5 km` and `2500 m` are equal strings.

Only exact relations are used. A unit that is not in the table is a unit of its own; so are °C, °F and angles, whose
relations to others are not a factor or not rational, and words with several meanings, such as pound and ounce.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from cortexdsl.core import canonical_value, number_of
from cortexdsl.tasks.reading.number import NUMBER, NumberKind, NumberMatch, plain, value_of
from cortexdsl.tasks.reading.text import Unparsed, shown, unwrapped, without_text_commands

Unit: TypeAlias = tuple[Fraction, tuple[tuple[str, int], ...]]
"""A factor, and base units with their exponents."""

# Names of a unit, its factor, and what it is a multiple of. Units with `+` take prefixes.
_UNITS = """
m+ metre+ meter+ = 1 m; g+ gram+ = 0.001 kg; s+ second+ sec = 1 s; A+ ampere+ amp = 1 A; K+ kelvin = 1 K
mol+ mole = 1 mol; cd = 1 cd; min minute = 60 s; h hr hour = 3600 s; day d = 86400 s; week = 604800 s
Hz+ hertz+ = 1 s^-1; kWh = 3600000 kg m^2 s^-2
N+ newton+ = 1 kg m s^-2; J+ joule+ = 1 kg m^2 s^-2; W+ watt+ = 1 kg m^2 s^-3; Pa+ pascal+ = 1 kg m^-1 s^-2
C+ coulomb+ = 1 A s; V+ volt+ = 1 kg m^2 s^-3 A^-1; Ω+ ohm+ = 1 kg m^2 s^-3 A^-2; F+ farad+ = 1 kg^-1 m^-2 s^4 A^2
T+ tesla+ = 1 kg s^-2 A^-1; L+ l+ litre+ liter+ = 0.001 m^3; bar+ = 100000 kg m^-1 s^-2; atm = 101325 kg m^-1 s^-2
cal+ = 4.184 kg m^2 s^-2; t tonne = 1000 kg; ha hectare = 10000 m^2; eV+ = 1.602176634e-19 kg m^2 s^-2
inch inches = 0.0254 m; ft foot feet = 0.3048 m; yd yard = 0.9144 m; mi mile = 1609.344 m; lb lbs = 0.45359237 kg
mph = 0.44704 m s^-1; kph kmh = 5/18 m s^-1; % percent = 0.01; $ dollar USD = 1 $
€ euro EUR = 1 €; °C celsius = 1 °C; °F fahrenheit = 1 °F; ° degree deg = 1 °; byte B = 8 bit; bit = 1 bit
"""
_PREFIXES = {
    **{"k": 3, "M": 6, "G": 9, "T": 12, "d": -1, "c": -2, "m": -3, "µ": -6, "μ": -6, "u": -6, "n": -9, "p": -12},
    **{"kilo": 3, "mega": 6, "giga": 9, "deci": -1, "centi": -2, "milli": -3, "micro": -6, "nano": -9, "pico": -12},
}
_POWER = r"(?:\^|\*\*)\{?([-−]?\d)\}?|(⁻?[¹²³⁴])|([-−]?\d)(?!\.?\d)"
_NAME = r"(?:°\s?[CF]\b|degrees? (?:[Cc]elsius|[Ff]ahrenheit|C\b|F\b)|[%$€°]|[^\W\d_¹²³⁴]+)"
_TOKEN = re.compile(
    rf"\s{{0,2}}(?P<join>[/·*⋅×]|\bper\b|)\s{{0,2}}(?P<area>square |cubic |sq )?(?P<name>{_NAME})"
    rf"(?P<power>{_POWER})?"
)
_FORMULA = re.compile(r"\$([^$]+)\$")
_SUPERSCRIPTS = str.maketrans("⁻¹²³⁴−", "-1234-")


@lru_cache(maxsize=1)
def _table() -> dict[str, Unit]:
    table: dict[str, Unit] = {}
    for line in re.split(r"[;\n]", _UNITS.strip()):
        names, _, meaning = line.partition(" = ")
        factor, *bases = meaning.split()
        powers = tuple((base.partition("^")[0], int(base.partition("^")[2] or 1)) for base in bases)
        for name in names.split():
            bare = name.rstrip("+")
            table[bare] = Fraction(factor), powers
            for prefix, exponent in _PREFIXES.items() if name != bare else ():
                if (len(prefix) > 1) == (len(bare) > 3):  # kilo- of metre, k of m
                    table.setdefault(prefix + bare, (Fraction(factor) * Fraction(10) ** exponent, powers))
    return table


def _unit_named(name: str) -> Unit | None:
    name = re.sub(r"^degrees? |\s", lambda found: "°" if len(found[0]) > 1 else "", name)
    lower = name.lower()
    if len(name) == 1:  # M is not m
        return _table().get(name)
    spellings = (name, *((lower, lower.removesuffix("s")) if len(name) > 2 else ()), lower.replace("°", ""))
    return next((_table()[each] for each in spellings if each in _table()), None)


def read_unit(text: str) -> tuple[Unit, int]:
    """Read the unit that a text begins with, and where it ends; a first word that is not one is a unit of its own."""
    factor, powers, at = Fraction(1), dict[str, int](), 0
    while token := _TOKEN.match(text, at):
        unit = _unit_named(token["name"])
        if unit is None and at == 0 and not token["join"] and token["name"].lower() not in ("and", "or", "to", "in"):
            word = token["name"].lower() if len(token["name"]) > 1 else token["name"]
            if token["name"][1:] in ("B", "Bps") and word[0] in "kmgtp":  # bytes; Mb are bits
                word = f"{word[0]}{token['name'][1:]}"
            unit = Fraction(1), ((word.removesuffix("s") if len(word) > 3 else word, 1),)
        if unit is None or (at == 0 and token["join"]):
            break
        marks = next(filter(None, token.groups()[4:]), "1").translate(_SUPERSCRIPTS)
        power = int(marks) * {"square ": 2, "sq ": 2, "cubic ": 3}.get(token["area"] or "", 1)
        power *= -1 if token["join"] in ("/", "per") else 1
        factor *= unit[0] ** power
        for base, exponent in unit[1]:
            powers[base] = powers.get(base, 0) + exponent * power
        at = token.end()
    return (factor, tuple(sorted((base, power) for base, power in powers.items() if power))), at


def _spelled(value: str | None, unit: Unit) -> str | None:
    number = number_of(value)
    if number is None:
        return None
    bases = (base if power == 1 else f"{base}^{power}" for base, power in unit[1])
    return " ".join([canonical_value(number * unit[0]), *bases])


@dataclass(frozen=True, slots=True)
class QuantityKind(NumberKind):
    """The kind `quantity`: a number in a unit. Without a unit it is another answer than with one."""

    name: str = "quantity"
    want: str = "the number with its unit, such as 3.5 km"

    def canonical(self, gold: str) -> str | None:
        """Spell a gold in base units."""
        text = _FORMULA.sub(r"\1", plain(without_text_commands(unwrapped(gold)), self.decimal))
        number = NUMBER.search(text)
        if number is None or text[: number.start()].strip(" ([{"):
            return None
        rest = text[number.end() :]
        _, end = read_unit(rest)
        match = NumberMatch(number.start(), number.end(), value_of(number))
        return None if rest[end:].strip(" .,;:!)]}*_`") else self.value(text, match)

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be one quantity."""
        value = self.canonical(fragment)
        return value if value is not None else Unparsed(f"no single quantity on the answer line: {shown(fragment)!r}")

    def value(self, text: str, number: NumberMatch) -> str | None:
        """Spell a number of a text with the unit that follows it, or the currency before it."""
        sign, rest = re.match(r"\W*?([$€])", text[number.start : number.end]), text[number.end :]
        is_money = sign is not None and not rest.startswith("$")
        unit = _unit_named(sign[1]) if sign and is_money else read_unit(rest.removeprefix("$"))[0]
        return _spelled(number.value, unit) if unit else None
