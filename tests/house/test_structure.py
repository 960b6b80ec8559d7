"""The code stays easy to take in: no folders that import each other, few levels, one meaning a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.house.measure import Code, folder_cycles

LONGEST = 420
"""Lines of a module. One concept fits into 250 to 400."""


@pytest.fixture(scope="module")
def code(repository: Path) -> Code:
    return Code(repository)


def test_no_two_folders_import_each_other(code: Code) -> None:
    assert folder_cycles(code.imports()) == set()


def test_cycles_are_found_also_between_a_folder_and_one_inside_another() -> None:
    edges = {("a.b.x", "a.c.d.y"), ("a.c.z", "a.b.w"), ("a.b.x", "a.b.w")}
    assert folder_cycles(edges) == {("a.b", "a.c")}


def test_folders_are_at_most_two_levels_deep(code: Code) -> None:
    assert [path for path in code.modules if code.levels(path) > 2] == []


def test_two_public_classes_never_share_a_name(code: Code) -> None:
    assert {name: count for name, count in code.public_classes().items() if count > 1} == {}


def test_modules_are_not_too_long(code: Code) -> None:
    lengths = zip(code.modules, code.lines(code.modules), strict=True)
    assert [(str(path), length) for path, length in lengths if length > LONGEST] == []
