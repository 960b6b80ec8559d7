"""Texts that are rendered once for all who are told the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.engine.tracked_text import TrackedText
from cortexdsl.templates import templates
from cortexdsl.templates.templates import Templates

AGENT = {"name": "a", "number": 1, "persona": ""}


def render(folder: Path, template: str, *views: object) -> list[str]:
    (folder / "it.j2").write_text(template, encoding="utf-8")
    templates = Templates([folder])
    return [templates.render("it.j2", {"agent": AGENT, "it": view})[-1]["content"] for view in views]


def test_equal_values_that_are_written_differently_are_told_apart(tmp_path: Path) -> None:
    """1, 1.0 and True are equal in Python and are three words in a prompt; what is inside a mapping counts, too."""
    assert render(tmp_path, "{{ it }}", 1, 1.0, True, None, "1") == ["1", "1.0", "True", "None", "1"]
    assert render(tmp_path, "{{ it.x }}", {"x": 1}, {"x": True}) == ["1", "True"]
    assert render(tmp_path, "{{ it.x | join }}", {"x": [1]}, {"x": [2]}) == ["1", "2"]


def test_a_variable_that_is_missing_is_not_taken_for_one_that_is_none(tmp_path: Path) -> None:
    """`is defined` says so."""
    (tmp_path / "it.j2").write_text("{{ it is defined }}", encoding="utf-8")
    templates = Templates([tmp_path])
    views = ({"agent": AGENT}, {"agent": AGENT, "it": None}, {"agent": AGENT})
    assert [templates.render("it.j2", view)[-1]["content"] for view in views] == ["False", "True", "False"]


def test_words_are_noted_each_time_that_they_are_shown(tmp_path: Path) -> None:
    """Two agents who are shown the same words have both heard them."""
    noted: list[str] = []
    words = [TrackedText("said", lambda who=who: noted.append(who)) for who in "ab"]
    assert render(tmp_path, "{{ it }}", *words) == ["said", "said"]
    assert sorted(set(noted)) == ["a", "b"]


def test_texts_are_forgotten_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 10 characters: the third text of 4 makes room for itself."""
    monkeypatch.setattr(templates, "MOST_RENDERED", 10)
    kept = templates.Renderings()
    for key in "abc":
        kept.keep(key, "text")
    assert [kept.get(key) for key in "abc"] == [None, None, "text"]
