"""Count the words of the language, and who uses them: places, keys, fixed values, and names in expressions.

    python benchmarks/house/language_size.py          # the counts, and the places that nothing uses
    python benchmarks/house/language_size.py --all    # each place with the number of files that use it

A place is a key of one kind of mapping, such as `keep` of a choice. The declarations of the grammar say which places
there are, and read the files: shipped protocols and specs, and the YAML of the pages that tests check.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from cortexdsl.expressions.names import NAMES  # noqa: E402
from cortexdsl.language.grammar import schedule  # noqa: E402
from cortexdsl.language.grammar.core_words import FromCore, WrittenAs, declared_words  # noqa: E402
from cortexdsl.language.grammar.entries import OneOf, StrictEntry, _Union  # noqa: E402
from cortexdsl.language.grammar.experiment import AnalysisText, SpecText, json_schema  # noqa: E402
from cortexdsl.language.grammar.methods import MethodText  # noqa: E402
from cortexdsl.language.grammar.protocol import ProtocolText  # noqa: E402
from cortexdsl.language.protocol.loader import BUILTIN_FOLDER  # noqa: E402
from cortexdsl.language.reader import parse, read  # noqa: E402
from tests.house.test_blocks import blocks  # noqa: E402
from tests.tracked import tracked  # noqa: E402

Place = tuple[str, str]
"""The kind of mapping, and the key."""


def places() -> tuple[Place, ...]:
    """Return every place, in the order of the schema."""
    forms = {**json_schema("spec")["$defs"], "SpecText": json_schema("spec"), "ProtocolText": json_schema("protocol")}
    return tuple((form, key) for form, schema in forms.items() for key in schema.get("properties", ()))


def places_of_protocols() -> tuple[Place, ...]:
    """Return the places of a protocol file."""
    forms = {**json_schema("protocol")["$defs"], "ProtocolText": json_schema("protocol")}
    return tuple((form, key) for form, schema in forms.items() for key in schema.get("properties", ()))


def fixed_values() -> frozenset[str]:
    """Return the words that a value may be."""
    return frozenset(word for kind in ("spec", "protocol") for word in _words(json_schema(kind)))  # type: ignore[arg-type]


def _words(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _words(each)
    elif isinstance(schema, dict):
        yield from (word for word in (*schema.get("enum", ()), schema.get("const")) if isinstance(word, str))
        for each in schema.values():
            yield from _words(each)


# ---------------------------------------------------------------- uses
@dataclass
class Uses:
    """The places that files use.

    Attributes
    ----------
    files : mapping of place to names of files
    protocols : mapping of protocol to setting to types
        The types that the values of a setting have, as the places where a protocol writes `$setting` declare them.
    """

    files: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    protocols: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    _file: str = ""
    _settings: dict[str, list[Any]] = field(default_factory=dict)

    def read_protocol(self, file: str, name: str, text: Any) -> None:
        """Count what a protocol uses, with the defaults of its settings."""
        self._file, self._settings = file, defaultdict(list)
        self._entry(ProtocolText, text)
        self.protocols[name] = dict(self._settings)
        for setting, value in (text.get("settings") or {}).items():
            for declared, also in self._settings.get(setting, ()):
                self._value(declared, value, also)

    def read_spec(self, file: str, text: Any, methods: Mapping[str, Any] | None = None) -> None:
        """Count what a spec uses.

        Parameters
        ----------
        file, text
        methods : mapping, optional
            Those that the spec builds on: they say which protocol a method has.
        """
        for name, protocol in (text.get("protocols") or {}).items():
            self.read_protocol(file, name, protocol)
        self._file = file
        self._entry(SpecText, text)
        known = {**(methods or {}), **(text.get("methods") or {})}
        for name, method in (text.get("methods") or {}).items():
            for key, value in method.items():
                self._setting(_protocol_of(known, name), key, value)
        for name, axes in _grids(text.get("grid")):
            for axis, values in axes.items():
                for value in values:
                    self._axis(_protocol_of(known, name), axis, value)

    def _axis(self, protocol: str, axis: str, value: Any) -> None:
        head, *below = axis.split(".")
        nested = value
        for key in reversed(below):
            nested = {key: nested}
        if head in ("models", "train"):
            self._entry(SpecText, {head: nested})
        elif head in MethodText.model_fields:
            self._entry(MethodText, {head: nested})
        else:
            self._setting(protocol, head, nested)

    def _setting(self, protocol: str, name: str, value: Any) -> None:
        for declared, also in self.protocols.get(protocol, {}).get(name, ()):
            self._value(declared, value, also)

    def read_part(self, file: str, text: Any) -> None:
        """Count what an example on a page uses: a spec, or a part of one."""
        first = next(iter(text))
        if first in SpecText.model_fields:
            self.read_spec(file, text, {"full": {"protocol": "multi-llm"}, "sparse": {"protocol": "cortexdebate"}})
            return
        self._file = file
        whole = AnalysisText if first in AnalysisText.model_fields else ProtocolText
        self._entry(whole, text if first in whole.model_fields else {"steps": text})

    def _entry(self, entry: Any, text: Any) -> None:
        fields = {info.alias or name: info for name, info in entry.model_fields.items()}
        for key, value in text.items() if isinstance(text, dict) else ():
            if key in fields:
                self.files[entry.__name__, key].add(self._file)
                self._value(fields[key].annotation, value, fields[key].metadata)

    def _value(self, declared: Any, value: Any, also: Collection[Any] = ()) -> None:
        """Count what a value uses, read by its declared type."""
        if isinstance(declared, ForwardRef):
            declared = vars(schedule)[declared.__forward_arg__]
        while get_origin(declared) is Annotated:
            declared, also = get_args(declared)[0], (*get_args(declared)[1:], *also)
        if isinstance(value, str) and re.fullmatch(r"\$[A-Za-z_]\w*", value):
            self._settings.setdefault(value[1:], []).append((declared, also))
        origin, inner = get_origin(declared), get_args(declared)
        if written := [each.written for each in also if isinstance(each, WrittenAs)]:
            self._value(written[0], value)
        elif any(isinstance(each, FromCore) for each in also):
            for name, (_, word) in declared_words(declared, {}).items():
                key = word.alias or name
                if isinstance(value, dict) and key in value:
                    self.files[f"{declared.__name__}Text", key].add(self._file)
        elif origin is dict:
            for each in value.values() if isinstance(value, dict) else ():
                self._value(inner[1], each)
        elif origin is tuple:
            for each in value if isinstance(value, list) else [value]:
                self._value(inner[0], each)
        elif origin is Union or isinstance(declared, type(int | str)):
            self._member(inner, value, also)
        elif isinstance(declared, type) and issubclass(declared, StrictEntry):
            self._entry(declared, value)

    def _member(self, members: Collection[Any], value: Any, also: Collection[Any]) -> None:
        present = [each for each in members if each is not type(None)]
        if len(present) == 1:
            self._value(present[0], value)
        if len(present) == 1 or not any(isinstance(each, OneOf) for each in also):  # else words alone
            return
        union = _Union({str(k): member for k, member in enumerate(present)})
        tag = union.tag(value)
        if tag is not None:
            self._value(present[int(tag)], value)


def _grids(grid: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for method, axes in (grid or {}).items():
        for each in axes if isinstance(axes, list) else [axes]:
            yield method, each


def _protocol_of(methods: Mapping[str, Any], name: str) -> str:
    method = methods.get(name, {})
    return (
        method["protocol"]
        if "protocol" in method
        else _protocol_of(methods, method.get("extends", ""))
        if method
        else ""
    )


def uses() -> Uses:
    """Count what shipped protocols and specs, and tested examples of the manual, use."""
    found = Uses()
    for path in sorted(BUILTIN_FOLDER.glob("*/*.yaml")):
        found.read_protocol(path.relative_to(ROOT).as_posix(), path.stem, read(path).plain())
    specs = {path: read(path).plain() for path in tracked("specs", "*.yaml")}
    for path, text in specs.items():
        found.read_spec(path.relative_to(ROOT).as_posix(), text, _methods(path, specs))
    for where, block in blocks():
        keys = re.findall(r"^[a-z_]+:", block, re.MULTILINE)
        for part in [block] if len(set(keys)) == len(keys) else block.splitlines():  # each line is an example
            found.read_part(where.partition(":")[0], parse(part, where).plain())
    for page in ("README.md", "docs/tutorial.md"):
        for block in re.findall(r"^```yaml\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.M):
            found.read_spec(page, parse(block, page).plain(), {"debate": {"protocol": "debate"}})
    return found


def _methods(path: Path, specs: Mapping[Path, Any]) -> dict[str, Any]:
    """Return the methods of the files that a spec builds on."""
    methods: dict[str, Any] = {}
    names = specs[path].get("extends") or []
    for name in names if isinstance(names, list) else [names]:
        other = (path.parent / name).resolve()
        methods |= _methods(other, specs) | (specs[other].get("methods") or {})
    return methods


def unused() -> list[Place]:
    """Return the places that nothing uses."""
    used = uses().files
    return [place for place in places() if place not in used]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--all", action="store_true", help="print each place with the number of files that use it")
    used, every = uses().files, places()
    counts = [len(used.get(place, ())) for place in every]
    print(f"{len(every):4} places, {len(places_of_protocols())} of them in a protocol")
    print(f"{len({key for _, key in every}):4} keys")
    print(f"{len(fixed_values()):4} fixed values")
    print(f"{len({name for names in NAMES.values() for name in names}):4} names in expressions")
    for times, words in enumerate(("used nowhere", "used by one file", "used by two files")):
        print(f"{counts.count(times):4} places {words}")
    chosen = every if arguments.parse_args().all else [place for place in every if place not in used]
    print("\n".join(f"{len(used.get(place, ())):4} {place[0]}.{place[1]}" for place in chosen))


if __name__ == "__main__":
    main()
