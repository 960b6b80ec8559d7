"""Reference pages are complete: every key has a description, every error and environment variable has a row."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cortexdsl.cli.verbs import JOBS, VERBS
from cortexdsl.core import Call, FunctionCall, Image, Model, Offer, OfferedTool, Turn, Usage
from cortexdsl.core.metrics import ALIASES, CALIBRATION, METRICS
from cortexdsl.expressions.names import OF_AGENT, OF_ANSWER, OF_DEBATE, OF_LABEL, OF_PAIR, OF_TURN
from cortexdsl.language.grammar.experiment import json_schema
from cortexdsl.language.protocol.loader import builtin_names, load_protocol
from cortexdsl.logs.plain import WORDS as TRANSCRIPT_WORDS
from cortexdsl.models.call_log.records import call_record
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.interface import Raw, TokenCounts

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cortexdsl", "cortexdsl_tiny", "cortexdsl_train", "snakemake_logger_plugin_cortexdsl")
ENVIRONMENT = re.compile(r"environ(?:ment)?$")
MODULES = (
    "command_pages", "errors_page", "environment_page", "file_pages", "file_values", "key_pages", "metrics_page",
     "name_pages", "protocol_pages",
    "reference_pages",
)  # fmt: skip
READS = ("get", "setdefault", "pop", "update")


@pytest.fixture(scope="module")
def site() -> Iterator[dict[str, ModuleType]]:
    """Modules of docs/site by name."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    yield {name: importlib.import_module(name) for name in MODULES}
    sys.path.pop(0)


@pytest.mark.parametrize("kind", ["spec", "protocol"])
def test_every_key_of_the_schema_has_a_description(kind: Any) -> None:
    """The schema shows them in editors, and the reference page shows them in its tables."""
    schema = json_schema(kind)
    forms = {kind: schema, **schema["$defs"]}
    keys = [(name, key, value) for name, form in forms.items() for key, value in form.get("properties", {}).items()]
    assert len(keys) > 50
    assert [f"{name}: {key}" for name, key, value in keys if not value.get("description")] == []


def test_every_form_is_on_exactly_one_page_of_keys(site: dict[str, ModuleType]) -> None:
    """A form is a mapping with keys of its own. The protocol of a spec is the form of a protocol file."""
    schemas = {kind: json_schema(kind) for kind in ("spec", "protocol")}
    forms = {name: form for schema in schemas.values() for name, form in schema["$defs"].items()} | schemas
    with_keys = {name for name, form in forms.items() if form.get("properties")} - {"ProtocolText"}
    placed = Counter(entry for page in site["key_pages"].KEY_PAGES.values() for entry in page.contents)
    lists = {entry for entry in placed if entry.startswith(site["key_pages"].LIST)}
    assert len(with_keys) > 40
    assert set(placed) - lists == with_keys, "give each form a page in docs/site/key_pages.py"
    assert set(placed.values()) == {1}


def test_a_form_without_a_page_says_where_to_add_it(site: dict[str, ModuleType]) -> None:
    with pytest.raises(RuntimeError, match=r"NewForm is on 0 pages of keys \(none\).*docs/site/key_pages\.py"):
        site["key_pages"].page_of("NewForm")


@pytest.fixture(scope="module")
def key_pages(site: dict[str, ModuleType]) -> Mapping[str, str]:
    """Pages of keys by path."""
    pages: Mapping[str, str] = site["reference_pages"].key_pages(ROOT)
    return pages


def test_the_pages_of_keys_have_every_key_with_type_and_example(key_pages: Mapping[str, str]) -> None:
    """Keys of specs, of models and of steps stand there; most have an example from a shipped spec."""
    tables = "\n".join(text for name, text in key_pages.items() if name != "keys")
    rows = [line for line in tables.splitlines() if line.startswith("| `")]
    assert {"| `replicates` ", "| `api_base` ", "| `hears` ", "| `dollars` "} <= {
        row[: row.index("|", 2)] for row in rows
    }
    cells = [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows]
    assert all(len(row) == 5 and row[1].strip() for row in cells)
    assert all(row[1].count(" or ") < 3 for row in cells), "more than three values stand in a list below the table"
    assert sum(bool(row[4].strip()) for row in cells) > len(cells) / 2


def test_pages_of_keys_are_short_and_their_links_lead_to_sections(key_pages: Mapping[str, str]) -> None:
    """A link to a page that is not made, or to a section that it does not have, is a mistake."""
    anchors = {
        (name, re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-"))
        for name, text in key_pages.items()
        for title in re.findall(r"^##? (.+)$", text, re.MULTILINE)
    }
    for name, text in key_pages.items():
        assert len(text.split()) < 2_000, f"split {name}: docs/site/key_pages.py"
        for path, anchor in re.findall(r"\]\(((?:keys/|\.\./keys)?[a-z]*(?:\.md)?)#([^)]+)\)", text):
            page = (Path(name).parent / path.removesuffix(".md")).as_posix() if path else name
            page = page.removeprefix("keys/../")
            assert (page, anchor) in anchors, f"{name}: {path}#{anchor}"


def test_every_generated_page_is_linked_from_the_first_of_its_section_or_a_page_of_the_manual(
    site: dict[str, ModuleType],
) -> None:
    """The menu has no page that is not generated, except for the gallery."""
    menu = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split()
    pages = site["reference_pages"].all_pages(ROOT)
    sections = {name: name.partition("/")[0] for name in pages if "/" in name}
    first = {f"reference/{name}" for name in pages if name not in sections}
    in_menu = {entry for entry in menu if entry.startswith("reference/")}
    assert in_menu <= first | {"reference/gallery"}
    texts = [
        (ROOT / "docs" / f"{entry}.md").read_text(encoding="utf-8")
        for entry in menu
        if (ROOT / "docs" / f"{entry}.md").is_file() and not entry.startswith("reference/")
    ]
    for name in first - in_menu:
        assert any(f"]({name}.md" in text for text in texts), f"no page of the menu has a link to {name}"
    for name, section in sections.items():
        assert f"]({name}.md" in pages[section], f"{section} has no link to {name}"


def test_every_command_is_on_exactly_one_page_and_in_the_list(site: dict[str, ModuleType]) -> None:
    """Commands that only the workflow calls are on no page."""
    pages = dict(site["command_pages"].command_pages())
    expected = {name: 1 for name, verb in VERBS.items() if verb.group != JOBS}
    listed = re.findall(r"^\| \[`(\w+)`\]\(commands/([\w-]+)\.md#cortexdsl-\w+\)", pages.pop("commands"), re.MULTILINE)
    placed = [
        (verb, Path(name).name)
        for name, text in pages.items()
        for verb in re.findall(r"^## cortexdsl (\w+)$", text, re.MULTILINE)
    ]
    assert Counter(verb for verb, _ in placed) == expected
    assert sorted(listed) == sorted(placed)


def test_every_protocol_has_a_page_with_its_settings_and_is_in_the_list(site: dict[str, ModuleType]) -> None:
    """Its file describes it: a method without comments at its head fails the build, and so would the test."""
    pages = dict(site["protocol_pages"].protocol_pages())
    listed = re.findall(r"^\| \[`([\w-]+)`\]\(protocols/\1\.md\)", pages.pop("protocols"), re.MULTILINE)
    assert tuple(listed) == builtin_names()
    assert set(pages) == {f"protocols/{name}" for name in builtin_names()}
    for name in builtin_names():
        text = pages[f"protocols/{name}"]
        settings = text.split("## Settings")[1].split("## Drawing")[0]
        assert set(re.findall(r"^\| `(\w+)` \| `.+` \| .+ \|$", settings, re.MULTILINE)) == {
            *load_protocol(name).settings
        }, f"{name}: write a comment at each setting"
        assert "](docs/" not in text
    choosing = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert [name for name in builtin_names() if f"[`{name}`](" not in choosing] == []


def test_the_page_of_metrics_has_every_metric_alias_and_column(site: dict[str, ModuleType]) -> None:
    """Of metrics that differ in a number alone, one stands for all: `pass_at_k`. Their numbers are listed."""
    page = site["metrics_page"]
    shown = Counter(page.form_of(name) for names in page.TOPICS.values() for name in names)
    assert shown == dict.fromkeys(map(page.form_of, (*METRICS, *CALIBRATION)), 1)
    for name in METRICS:
        if (form := page.form_of(name)) in page.NUMBERS:
            assert int(name.removeprefix(f"{form}_")) in page.NUMBERS[form]
    words = set(re.findall(r"`([a-z0-9_]+)`", page.metrics_page()))
    assert words >= {*ALIASES, *(metric.per for metric in METRICS.values() if metric.per)}
    assert words >= {metric.column for name, metric in METRICS.items() if page.form_of(name) not in page.NUMBERS}


def test_the_page_of_names_has_every_name_of_expressions(site: dict[str, ModuleType]) -> None:
    """By what they describe."""
    page = site["name_pages"].name_page()
    for of, names in {
        "agents": OF_AGENT, "pairs": OF_PAIR, "the debate": OF_DEBATE, "answers": OF_ANSWER, "turns": OF_TURN,
        "labelled turns": OF_LABEL,
    }.items():  # fmt: skip
        section = page.split(f"## Names of {of}\n")[1].split("\n## ")[0]
        assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(names)


def test_the_page_of_errors_has_every_class_and_every_kind_of_failure(site: dict[str, ModuleType]) -> None:
    """A class without a remedy fails the build of the page."""
    page = site["errors_page"].errors_page()
    for one in site["errors_page"].error_classes():
        assert f"| `{one.__name__}` |" in page
    assert all(kind.slug in page for kind in FailureKind)


def variables_of(tree: ast.AST) -> Iterator[str]:
    """Names of environment variables that a module writes out: keys of `environ`, and the project's own constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ENVIRONMENT.search(ast.unparse(node.value)):
            yield from constants(node.slice)
        elif isinstance(node, ast.Compare) and any(ENVIRONMENT.search(ast.unparse(one)) for one in node.comparators):
            yield from constants(node.left)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in READS and ENVIRONMENT.search(ast.unparse(node.func.value)):
                yield from constants(*node.args[:1])
                yield from (word.arg for word in node.keywords if word.arg)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "os.getenv":
            yield from constants(*node.args[:1])
        elif isinstance(node, ast.Constant) and re.fullmatch(r"CORTEXDSL_[A-Z_]*[A-Z]", str(node.value)):
            yield str(node.value)


def constants(*nodes: ast.AST) -> Iterator[str]:
    """Texts among the nodes that may be the name of a variable."""
    for node in nodes:
        if isinstance(node, ast.Constant) and re.fullmatch(r"[A-Z][A-Z0-9_]+", str(node.value)):
            yield str(node.value)


def test_the_page_of_environment_variables_has_each_that_the_program_names(site: dict[str, ModuleType]) -> None:
    """Found in the syntax trees of the packages and workflows; each stands in one of the two tables."""
    found = set()
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    for path in paths:
        found |= set(variables_of(ast.parse(path.read_text(encoding="utf-8"))))
    for path in (*ROOT.glob("workflows/*.smk"), ROOT / "Snakefile"):
        found |= set(re.findall(r"environ(?:\.get\(|\[)[\"']([A-Z_]+)", path.read_text(encoding="utf-8")))
    page = site["environment_page"]
    assert len(found) > 10
    assert found - set(page.READ) - set(page.SET) == set()
    assert set(page.READ) & set(page.SET) == set()


def test_the_pages_of_files_describe_every_field(site: dict[str, ModuleType]) -> None:
    """Classes without a meaning for a field fail when the page is made. A call has a line with every field."""
    pages = site["file_pages"].file_pages()
    assert set(pages) == {"records", "files"}
    raw = Raw("4", "stop", TokenCounts(1, 1), reasoning="thought", reasoning_tokens=1, tokens=((1, -0.1),),
              requests=(FunctionCall("1", "sums", "{}"),), returned={"reasoning_content": "thought"})  # fmt: skip
    image = Image("0a", "image/png", "image.png")
    offer = Offer((OfferedTool("sums", "Adds.", "expression", "a sum"),), "functions", is_over=True)
    call = Call(Model("m", "openai/m"), ({"role": "user", "content": "2 + 2?"},), 0, images=(image,), offer=offer)
    line = call_record("key", call, raw, seconds=1, attempts=2, lost=Usage(attempts=1))
    section = pages["files"].split("## A line of a call log")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == {*line, "checksum"}


def test_the_page_of_files_has_every_key_of_a_transcript(site: dict[str, ModuleType]) -> None:
    assert set(site["file_values"].TRANSCRIPT) == set(TRANSCRIPT_WORDS)


def test_a_field_without_a_meaning_is_an_error(site: dict[str, ModuleType]) -> None:
    meanings = site["file_pages"].meanings
    known = dict(site["file_values"].RECORDS)
    known["Turn"] = {name: meaning for name, meaning in known["Turn"].items() if name != "heard"}
    with pytest.raises(RuntimeError, match=r"docs/site/file_values\.py and Turn differ in heard"):
        meanings(Turn, known)
