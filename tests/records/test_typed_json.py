"""Dataclasses as JSON and back: a field is declared once, and an error names its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Any, Literal

import pytest

from cortexdsl.typed_json import Codec, FieldError


@dataclass(frozen=True, slots=True)
class Leaf:
    number: float
    word: Literal["red", "blue"]


@dataclass(frozen=True, slots=True)
class Tree:
    name: str
    leaves: tuple[Leaf, ...]
    sizes: Mapping[str, int]
    height: float | None
    is_old: bool = False
    first: Leaf | None = None
    notes: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)


TREE = Tree("oak", (Leaf(1.5, "red"), Leaf(2.0, "blue")), {"a": 1}, None, True, Leaf(0.0, "red"), {"x": ("y", None)})


def test_what_is_written_is_read_back_and_defaults_are_left_out() -> None:
    written = Codec().write(TREE)
    assert written["leaves"] == [{"number": 1.5, "word": "red"}, {"number": 2.0, "word": "blue"}]
    assert Codec().read(Tree, written) == TREE
    bare = Tree("oak", (), {}, float("inf"))
    assert Codec().write(bare) == {"name": "oak", "leaves": [], "sizes": {}, "height": None}
    assert Codec(always=("Tree.is_old",)).write(bare)["is_old"] is False
    assert Codec(keys={"Tree.name": "called"}).write(bare)["called"] == "oak"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "name is null, not a string"),
        ({"leaves": {}}, "leaves is an object, not a list"),
        ({"leaves": [{"number": 1, "word": "green"}]}, "leaves[0].word is 'green', not one of red, blue"),
        ({"leaves": [{"word": "red"}]}, "leaves[0].number is missing"),
        ({"leaves": [{"number": True, "word": "red"}]}, "leaves[0].number is a bool, not a number"),
        ({"height": 10**400}, "height is beyond every float"),
        ({"sizes": {"a": 1.0}}, "sizes.a is a number, not an integer"),
        ({"is_old": 1}, "is_old is an integer, not true or false"),
        ({"first": []}, "first is a list, not an object"),
        ({"notes": {"x": ["y", 5]}}, "notes.x[1] is an integer, not a string"),
    ],
    ids=str,
)
def test_an_error_names_the_path_of_the_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FieldError) as caught:
        Codec().read(Tree, Codec().write(TREE) | change)
    assert str(caught.value) == message


def test_a_field_is_added_by_its_declaration_alone() -> None:
    """A field that is added to a class is written and read, and old values without it keep its default."""
    taller = make_dataclass("Taller", [("rings", int, 7)], bases=(Tree,), frozen=True, namespace={})
    value = taller("oak", (), {}, None, rings=9)
    assert Codec().write(value)["rings"] == 9
    assert Codec().read(taller, Codec().write(value)) == value
    assert Codec().read(taller, Codec().write(Tree("oak", (), {}, None))).rings == 7
