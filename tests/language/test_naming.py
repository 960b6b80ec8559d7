"""Grid points have names that people read and slugs that every file system takes."""

from __future__ import annotations

import re

from hypothesis import assume, example, given
from hypothesis import strategies as st

from cortexdsl.language.methods.grid import MOST_LETTERS, point_name, point_slug


def test_names_and_slugs_of_the_design() -> None:
    axes = {"keep": {"top": 3}, "recalibration": "none"}
    assert point_name("sparse", axes) == "sparse[keep=top-3, recalibration=none]"
    assert point_slug("sparse", axes) == "sparse~keep=top-3~recalibration=none"
    assert point_name("sparse", {}) == point_slug("sparse", {}) == "sparse"


def test_values_of_every_kind() -> None:
    assert point_name("m", {"a": [0.9, 7], "b": True, "c": None, "d": 1.0}) == "m[a=[0.9, 7], b=true, c=none, d=1]"
    assert point_slug("m", {"groups": [4, 2, 2]}) == "m~groups=4-2-2"
    assert point_name("m", {"net": {"networkx": "path_graph", "k": 2}}) == "m[net={networkx: path_graph, k: 2}]"


def test_texts_that_lose_letters_stay_apart() -> None:
    one, other = point_slug("m", {"weight": "a * b"}), point_slug("m", {"weight": "a / b"})
    assert one.startswith("m~weight=a-b-")
    assert one != other


@given(st.lists(st.tuples(st.sampled_from(["keep", "weight", "prompts.revise"]), st.text(max_size=90)), max_size=3))
def test_slugs_are_safe_and_short(axes: list[tuple[str, str]]) -> None:
    slug = point_slug("method", dict(axes))
    assert re.fullmatch(r"[A-Za-z0-9_.+=~-]+", slug)
    assert len(slug) <= MOST_LETTERS
    assert not slug.endswith(".")


@given(st.text(max_size=60), st.text(max_size=60))
@example("", "[")
@example("4", "[4]")
def test_different_values_have_different_slugs(one: str, other: str) -> None:
    assume(not any(text.startswith("[") and ", " in text for text in (one, other)))  # a list is named by its items
    assert (point_slug("m", {"a": one}) == point_slug("m", {"a": other})) == (one == other)
