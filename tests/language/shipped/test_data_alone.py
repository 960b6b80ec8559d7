"""A method is data: no Python knows one by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cortexdsl.language.protocol.loader import BUILTIN_FOLDER, builtin_names

PACKAGE = BUILTIN_FOLDER.parent
# A debate, `each: group`, the persona of an agent, a tournament of methods
WORDS_OF_THE_LANGUAGE = {"debate", "group", "persona", "tournament"}


def _constants(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_no_module_holds_the_name_of_a_protocol() -> None:
    """`cortexdebate` and `reconcile` are names of recalibration rules, too: in their table, and in the word's type."""
    names = set(builtin_names()) - WORDS_OF_THE_LANGUAGE
    found = {
        (path.relative_to(PACKAGE).as_posix(), value)
        for path in PACKAGE.rglob("*.py")
        for _, value in _constants(path)
        if value in names
    }
    places = ("core/confidence.py", "language/grammar/protocol.py")
    bins = {(place, name) for place in places for name in ("cortexdebate", "reconcile")}
    assert found - bins == set()


def test_nothing_branches_on_the_protocol() -> None:
    """The report alone compares it, with the protocol that a published figure says it is of."""
    compared = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and _compares_protocol([node.left, *node.comparators])
    }
    assert compared == {"report/published.py"}


def _compares_protocol(sides: list[ast.expr]) -> bool:
    """Say whether a `.protocol` is compared with anything but None."""
    is_protocol = [isinstance(side, ast.Attribute) and side.attr == "protocol" for side in sides]
    is_none = [isinstance(side, ast.Constant) and side.value is None for side in sides]
    return any(is_protocol) and not any(is_none)


def test_no_method_needs_more_than_thirty_lines() -> None:
    """Lines of comments describe the method and do not count."""
    lengths = {
        path.stem: sum(not line.lstrip().startswith("#") for line in path.read_text(encoding="utf-8").splitlines())
        for path in BUILTIN_FOLDER.glob("*/*.yaml")
    }
    assert {name: length for name, length in lengths.items() if length > 30} == {}


def test_no_protocol_has_python_of_its_own() -> None:
    modules = {path.stem for path in (PACKAGE / "language").rglob("*.py")}
    assert not modules & {name.replace("-", "_") for name in builtin_names()}


SHIPPED = [*BUILTIN_FOLDER.rglob("*.yaml"), *(PACKAGE.parent / "specs").rglob("*.yaml")]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.relative_to(PACKAGE.parent).as_posix())
def test_other_programs_can_read_what_is_shipped(path: Path) -> None:
    """PyYAML's own parser refuses some texts that libyaml accepts, such as a question mark in braces."""
    assert isinstance(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader), dict)
