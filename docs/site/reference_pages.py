"""Write the reference pages that follow from declarations: keys, commands, protocols, datasets, files, ...

They are made at each build in `docs/reference/`, which git ignores, so they cannot differ from the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from command_pages import command_pages
from dataset_page import dataset_page
from environment_page import environment_page
from errors_page import errors_page
from file_pages import file_pages
from key_pages import KEY_PAGES, LIST, page_of
from key_values import MORE, PAGES, SPELLINGS, VALUES
from markdown_tables import table
from metrics_page import metrics_page
from name_pages import name_page
from protocol_pages import protocol_pages

from cortexdsl.language.grammar.experiment import json_schema
from cortexdsl.language.reader import read

Schema = Mapping[str, Any]

API = """# Python API

After `import cortexdsl as cx`, the call `cx.open(FOLDER)` returns a `Results`. [Results in
Python](../python.md) shows how it is used. [Errors](errors.md#classes-in-python) have a page of their own.

```{eval-rst}
.. automodule:: cortexdsl.results
   :members:
```
"""


# ------------------------------------------------------------------ keys of the language


def type_of(schema: Schema) -> str:
    """What a value may be, in words: types, allowed words, numbers in their range, forms as links."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{title_of(name)}](#{anchor_of(name)})"
    if members := members_of(schema):
        values = values_of(schema)
        words = ", ".join(type_of(value) for value in values if "const" in value)
        others = dict.fromkeys(type_of(value) for value in values if "const" not in value)
        short = list_link(values) or " or ".join(filter(None, (words, *others)))
        several = [member for member in members if member not in values]
        if not several or len(short) <= 20:
            return " or ".join(dict.fromkeys((short, *map(type_of, several))))
        return f"{short}; or " + ("a list of these" if "items" in several[0] else "`NAME:` with one of these")
    if "const" in schema:
        return f"`{schema['const']}`"
    match schema.get("type"):
        case "array":
            items = type_of(schema["items"]) if schema.get("items") else ""
            if schema.get("minItems") == schema.get("maxItems") == 2:
                return f"`[{items}, {items}]`"
            if items.startswith("[one of"):
                return f"list, each item {items}"
            plural = re.sub(r"^(whole number|number|text)", r"\1s", items)
            return f"list ({items})" if " or " in items else f"list of {plural}" if items else "list"
        case "object":
            if (below := value_in(schema)) is None:
                return "mapping"
            value = type_of(below)
            return f"`NAME:` ({value})" if " or " in value or value.startswith("`NAME:`") else f"`NAME:` {value}"
        case "integer" | "number" as kind:
            return ("whole number" if kind == "integer" else "number") + range_of(schema)
        case "string":
            return "text"
        case "boolean":
            return "`true` or `false`"
    return "any value"


def members_of(schema: Schema) -> Sequence[Schema]:
    """The members of a union, and the words of a list of words one by one; empty for all other schemas."""
    words = [{"const": word} for word in schema.get("enum", ())]
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null" and not is_setting(kind)]
    return [*words, *(one for kind in kinds for one in (members_of(kind) if "enum" in kind else [kind]))]


def values_of(schema: Schema) -> Sequence[Schema]:
    """The members of a union without a list or a mapping of the others."""
    members = members_of(schema)
    values = []
    for member in members:
        below = member.get("items") or value_in(member)
        others = [other for other in members if other is not member]
        if not below or marks_of(members_of(below) or [below]) != marks_of(others):
            values.append(member)
    return values


def value_in(schema: Schema) -> Schema | None:
    """What the values of a mapping with free names may be; None for other schemas."""
    below = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
    return below if isinstance(below, dict) else None


def marks_of(values: Iterable[Schema]) -> frozenset[str]:
    """Values as texts, to compare two sets of them."""
    return frozenset(json.dumps(value, sort_keys=True) for value in values)


FEW = 3
"""The most values that a cell of the table lists. If a key has more, a list below the table has them."""


def list_link(values: Sequence[Schema]) -> str:
    """A link to the list of these values; empty if they are few.

    Raises
    ------
    RuntimeError
        `VALUES` has no meanings for them.
    """
    if len(values) <= FEW:
        return ""
    if (marks := marks_of(values)) not in value_lists():
        raise RuntimeError(f"write the meanings of these values into docs/site/key_values.py: {sorted(marks)}")
    _, key = value_lists()[marks]
    return f"[one of {len(values)} values](#{anchor_of(LIST + key)})"


@cache
def value_lists() -> Mapping[frozenset[str], tuple[str, str]]:
    """The form and the key below which each list of values stands."""
    places: dict[frozenset[str], tuple[str, str]] = {}
    written = set()
    for form, schema in key_forms().items():
        for key, value in schema.get("properties", {}).items():
            lists = [values for part in parts_of(value) if len(values := values_of(part)) > FEW]
            if key in VALUES and key not in written and lists:
                written.add(key)
                places[marks_of(lists[0])] = form, key
    return places


def parts_of(schema: Schema) -> Iterator[Schema]:
    """A schema, then its members, items and values, without references."""
    yield schema
    for part in (*schema.get("anyOf", ()), schema.get("items"), value_in(schema)):
        if part:
            yield from parts_of(part)


def value_list(key: str, schema: Schema) -> Iterator[str]:
    """The values of a key as a heading and a list: each with its spelling and a sentence."""
    values = next(values for part in parts_of(schema) if len(values := values_of(part)) > FEW)
    known = VALUES[key]
    lines = []
    for value in values:
        if "$ref" in value:
            name = value["$ref"].rsplit("/", 1)[-1]
            spelling, _, meaning = key_forms()[name]["description"].partition("`: ")
            first = meaning.split("\n\n")[0].split(". ")[0].rstrip(".")
            if listed_forms().get(name) == key:
                lines.append(f"- {spelling}`: {' '.join(meaning.split())}{kind_of_only_key(name)}")
            elif name in listed_forms():
                lines.append(f"- [{spelling}`](#{anchor_of(name)})")
            else:
                lines.append(f"- [{spelling}`](#{anchor_of(name)}): {first}.")
        else:
            meaning = known.meanings[type_of(value)]
            lines.append(
                f"- {meaning}" if meaning.startswith("`") and ": " in meaning else f"- {type_of(value)}: {meaning}"
            )
    yield f"## {LIST}{key}"
    yield f"One of these ([more](../../{known.more})):"
    yield "\n".join(lines)


@cache
def listed_forms() -> Mapping[str, str]:
    """The forms with one key that a list of values describes, with the key of the list.

    They have no section of their own: it would say the same again.
    """
    listed: dict[str, str] = {}
    for form, key in value_lists().values():
        for part in parts_of(key_forms()[form]["properties"][key]):
            for value in values_of(part) if len(values_of(part)) > FEW else ():
                name = value.get("$ref", "").rsplit("/", 1)[-1]
                if name and len(key_forms()[name]["properties"]) == 1:
                    listed.setdefault(name, key)
    return listed


def kind_of_only_key(form: str) -> str:
    """What the value of the key of a form may be, as a sentence; empty if this is any text."""
    (schema,) = key_forms()[form]["properties"].values()
    kind = type_of(schema)
    return f" A {kind}." if kind.startswith(("number", "whole number", "list of numbers", "list of [")) else ""


def is_setting(schema: Schema) -> bool:
    """Whether a form is only that of `$setting`, which any value of a protocol may be."""
    return str(schema.get("pattern", "")).startswith("\\$")


def range_of(schema: Schema) -> str:
    """The bounds of a number, as text with a space before it; empty if there are none. Huge bounds are left out."""
    if schema.get("exclusiveMinimum", float("-inf")) >= schema.get("minimum", float("-inf")):
        schema = {key: value for key, value in schema.items() if key != "minimum"}
    if schema.get("minimum") is not None and schema.get("maximum", 1e9) < 1e9:
        return f" from {schema['minimum']:,.12g} to {schema['maximum']:,.12g}"
    words = [
        f"{word} {schema[bound]:,.12g}"
        for word, bound in (
            ("at least", "minimum"),
            ("above", "exclusiveMinimum"),
            ("at most", "maximum"),
            ("below", "exclusiveMaximum"),
        )
        if schema.get(bound) is not None and schema[bound] < 1e9
    ]
    return " " + ", ".join(words) if words else ""


TITLES = {
    "BallotForm": "vote by an expression",
    "PassageForm": "parts of the passage",
    "ItemsForm": "items of a reply",
    "ModelForm": "model as a role",
    "SelectionForm": "edges of a graph",
    "TurnFilterText": "turns of some steps",
    "ToolForm": "tool as a role",
}
"""Titles of forms whose own name is also that of an entry, or does not tell a reader what the form is."""


def title_of(definition: str) -> str:
    """The name of a form in words: `LimitsText` becomes `limits`."""
    if definition in TITLES:
        return TITLES[definition]
    name = definition.removesuffix("Text").removesuffix("Form")
    return (
        "".join(" " + letter.lower() if letter.isupper() else letter for letter in name)
        .strip()
        .replace("network x", "networkx")
    )


def anchor_of(definition: str) -> str:
    """The anchor of the heading of a form, or of a list of values; of a form in a list, that of the list."""
    if definition in listed_forms():
        definition = LIST + listed_forms()[definition]
    title = definition if definition.startswith(LIST) else title_of(definition)
    return re.sub(r"[^\w -]", "", title).replace(" ", "-")


def default_of(key: str, schema: Schema, required: Iterable[str]) -> str:
    """The default of a key: `required`, empty if none or if its own keys have defaults, else its JSON."""
    if key in required:
        return "required"
    value = schema.get("default")
    if isinstance(value, str) and type_of(schema) == "`true` or `false`":
        return "`false`"  # the default has a name of its own, which only the core uses
    is_empty = value in (None, "") or (isinstance(value, dict) and None in value.values())
    return "" if is_empty else f"`{json.dumps(value, ensure_ascii=False)}`"


def examples_in(
    value: Any, schema: Schema, definitions: Mapping[str, Schema], form: str, found: dict[tuple[str, str], str]
) -> None:
    """Walk a shipped spec along its schema and keep the first short value of each key."""
    if "$ref" in schema:
        form = schema["$ref"].rsplit("/", 1)[-1]
        schema = definitions[form]
    for kind in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if fits(value, kind, definitions):
            examples_in(value, kind, definitions, form, found)
    if isinstance(value, dict):
        for key, below in value.items():
            if key in (properties := schema.get("properties", {})):
                text = (
                    yaml.safe_dump(below, default_flow_style=True, width=10**6, sort_keys=False)
                    .removesuffix("\n...\n")
                    .strip()
                )
                if len(text) <= 60:
                    found.setdefault((form, key), f"`{key}: {text}`")
                examples_in(below, properties[key], definitions, form, found)
            if kind := value_in(schema):
                examples_in(below, kind, definitions, form, found)
    elif isinstance(value, list) and "items" in schema:
        for below in value:
            examples_in(below, schema["items"], definitions, form, found)


def fits(value: Any, schema: Schema, definitions: Mapping[str, Schema]) -> bool:
    """Whether a value has the outer shape of a form: its type, and no key that the form does not have."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" in schema:
        return any(fits(value, kind, definitions) for kind in schema["anyOf"])
    if isinstance(value, dict):
        known = schema.get("properties", {})
        return schema.get("type") == "object" and (value_in(schema) is not None or set(value) <= set(known))
    return isinstance(value, list) == (schema.get("type") == "array") and "properties" not in schema


@cache
def key_forms() -> Mapping[str, Schema]:
    """The schemas of all forms by their names, in the order of the pages; a form without a page is an error."""
    spec, protocol = json_schema("spec", is_alone=True), json_schema("protocol")
    definitions = spec["$defs"] | protocol["$defs"] | {"spec": spec, "protocol": protocol}
    with_keys = {name for name, schema in definitions.items() if schema.get("properties")} - {"ProtocolText"}
    for name in sorted(with_keys):
        page_of(name)
    order = [entry for page in KEY_PAGES.values() for entry in page.contents if not entry.startswith(LIST)]
    if unknown := sorted(set(order) - with_keys):
        raise RuntimeError(f"docs/site/key_pages.py names forms that the language does not have: {unknown}")
    return {name: definitions[name] for name in order}


@cache
def key_anchors() -> Mapping[str, str]:
    """The page of each anchor: of the forms, and of the lists of values."""
    anchors: dict[str, str] = {}
    for page, entries in ((page, entries_of(page)) for page in KEY_PAGES):
        for anchor in map(anchor_of, entries):
            if anchor in anchors:
                raise RuntimeError(f"two sections of the pages of keys have the anchor {anchor}: see TITLES")
            anchors[anchor] = page
    return anchors


def entries_of(page: str) -> list[str]:
    """The sections of a page: its forms, and the lists of values at their places."""
    contents = KEY_PAGES[page].contents
    placed = {entry for other in KEY_PAGES.values() for entry in other.contents if entry.startswith(LIST)}
    entries = []
    for entry in contents:
        entries += [entry] * (entry not in listed_forms())
        lists = [LIST + key for form, key in value_lists().values() if form == entry]
        entries += [name for name in lists if name not in placed]
    return entries


def across_pages(text: str, page: str) -> str:
    """The text of a page in `docs/reference/keys/` with the links between forms; `page` is its name."""

    def link(match: re.Match[str]) -> str:
        target = key_anchors()[match[1]]
        return match[0] if target == page else f"]({target}.md#{match[1]})"

    return re.sub(r"\]\(#([^)]+)\)", link, text)


def key_examples(root: Path) -> Mapping[tuple[str, str], str]:
    """An example of each key by form and key, from the shipped specs and protocols."""
    spec, protocol = json_schema("spec", is_alone=True), json_schema("protocol")
    definitions = spec["$defs"] | protocol["$defs"]
    examples: dict[tuple[str, str], str] = {}
    for path in sorted(root.glob("specs/**/*.yaml")):
        value = read(path).plain()
        if isinstance(value, dict):
            examples_in(value, spec, definitions, "spec", examples)
    for path in sorted(root.glob("cortexdsl/protocols/*/*.yaml")):
        examples_in(read(path).plain(), protocol, definitions, "protocol", examples)
    return examples


def key_pages(root: Path) -> Mapping[str, str]:
    """The pages of keys by their paths in `docs/reference/`, without `.md`."""
    examples = key_examples(root)
    return {
        "keys": keys_index(),
        **{f"keys/{page}": key_page(page, examples) for page in KEY_PAGES},
    }


def key_page(page: str, examples: Mapping[tuple[str, str], str]) -> str:
    """Forms with their keys: type, default, meaning, and an example from the shipped files."""
    parts = [
        f"# {KEY_PAGES[page].title}",
        KEY_PAGES[page].opening + " [How to read the tables](../keys.md#how-to-read-the-tables).",
    ]
    for entry in entries_of(page):
        if entry.startswith(LIST):
            key = entry.removeprefix(LIST)
            form = next(form for form, name in value_lists().values() if name == key)
            parts += value_list(key, key_forms()[form]["properties"][key])
            continue
        schema = key_forms()[entry]
        more = f" [More](../../{PAGES[entry]})." if entry in PAGES else ""
        parts += [f"## {title_of(entry)}", description_of(entry) + more]
        rows = (
            (
                f"`{key}`",
                SPELLINGS.get((entry, key)) or type_of(value),
                default_of(key, value, schema.get("required", ())),
                meaning_of(entry, key, value),
                examples.get((entry, key), ""),
            )
            for key, value in schema["properties"].items()
        )
        parts.append(table(("key", "value", "default", "meaning", "example"), rows))
    return across_pages("\n\n".join(filter(None, parts)) + "\n", page)


def meaning_of(form: str, key: str, schema: Schema) -> str:
    """What a key does, with a link to the page that explains it, if there is one."""
    link = f" [More](../../{MORE[form, key]})." if (form, key) in MORE else ""
    return str(schema.get("description", "")) + link


def description_of(form: str) -> str:
    """What a form is, from its declaration."""
    return str(key_forms()[form].get("description", ""))


def keys_index() -> str:
    """Where each form of the language is described, and how the tables of keys are read."""
    rows = []
    for name, page in KEY_PAGES.items():
        links = ", ".join(
            f"[{entry if entry.startswith(LIST) else title_of(entry)}](keys/{name}.md#{anchor_of(entry)})"
            for entry in entries_of(name)
        )
        rows.append((f"[{page.title.removeprefix('Keys of ')}](keys/{name}.md)", links))
    parts = [
        "# Every key",
        "These pages list every key of specs and protocols, with its values, its default and an example. "
        "[The language](../language.md) explains how the keys work together, and the search of this site finds a key. "
        "The [names in expressions](keys/expressions.md) have a page of their own.",
        "## How to read the tables",
        "- A spec needs `models`, `agents`, `methods`, and either `dataset` or `datasets`. A file that the spec "
        "extends may contain them.\n"
        "- All other keys with an empty default are optional.\n"
        "- `NAME:` means a mapping with names of your own. For example, `NAME:` model is a mapping from names to "
        "models.\n"
        "- If a key may have more than three values, a link leads to their list.\n"
        "- `env:NAME` is the content of the environment variable NAME.\n"
        "- Weights, votes and conditions are [expressions](../language/expressions.md).\n"
        "- In a protocol, `$NAME` may replace any value. The setting NAME then gives the value.",
        "## All pages",
        table(("keys of", "sections"), rows),
    ]
    return "\n\n".join(parts) + "\n"


def all_pages(root: Path) -> Mapping[str, str]:
    """All pages by their paths in `docs/reference/`, without `.md`."""
    return {
        **key_pages(root),
        "keys/expressions": name_page(),
        **command_pages(),
        **protocol_pages(),
        **file_pages(),
        "datasets": dataset_page(),
        "metrics": metrics_page(),
        "errors": errors_page(),
        "environment": environment_page(),
        "api": API,
    }


def write_pages(app: Any) -> None:
    """Write the pages, leaving those alone that did not change; split pages that are no longer made are removed."""
    folder = Path(app.srcdir) / "reference"
    pages = all_pages(Path(app.srcdir).parent)
    for name, text in pages.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*/*.md"):
        if path.relative_to(folder).with_suffix("").as_posix() not in pages:
            path.unlink()


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
