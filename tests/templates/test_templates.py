"""Templates: what reaches a model, and which mistakes are found before one is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Question
from cortexdsl.errors import SpecError
from cortexdsl.templates import limits
from cortexdsl.templates.sandbox import Sandbox
from cortexdsl.templates.templates import Templates

VIEW: dict[str, Any] = {
    "question": Question("q1", "What is 1+1?", options=(("A", "2"), ("B", "3"))),
    "agent": {"name": "quick", "persona": None},
    "answer_format": "End with the answer.",
}


def write(folder: Path, **files: str) -> Templates:
    for name, text in files.items():
        (folder / f"{name}.j2").write_text(text, encoding="utf-8")
    return Templates([folder])


def test_the_opening_prompt_is_the_question_its_options_and_the_format() -> None:
    """The shipped opening, read by eye once."""
    (message,) = Templates().render("common/answer.j2", VIEW)
    assert message == {
        "role": "user",
        "content": "Question: What is 1+1?\nOptions:\n(A) 2\n(B) 3\n\n"
        "Solve this on your own. Think step by step and explain how you get to your answer.\nEnd with the answer.",
    }


def test_a_persona_is_a_system_message() -> None:
    """Without a persona there is none, so that agents which differ in nothing else share their calls."""
    view = VIEW | {"agent": {"name": "quick", "persona": "doubts first answers"}}
    system, _ = Templates().render("common/answer.j2", view)
    assert system["role"] == "system"
    assert "doubts first answers" in system["content"]


def test_what_a_model_said_is_never_rendered_again(tmp_path: Path) -> None:
    """A reply that looks like a template reaches the next prompt as it was said."""
    templates = write(tmp_path, echo="{{ said }}")
    hostile = "{{ 7*7 }} {% raw %} <script>alert(1)</script> \u202e\x00"
    assert templates.render("echo.j2", VIEW | {"said": hostile})[0]["content"] == hostile


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{{ nothing }}", "bad.j2:1:4: there is no variable nothing"),
        ("{{ question.txt }}", "bad.j2:1:1: the template cannot be rendered: 'cortexdsl.core"),
        ("a\n{{ one }} {{ two }}\n{{ three }}", "bad.j2:3:4: there is no variable three"),
        ("{% for %}", "template error"),
        ("{% include 'gone.j2' %}", "no template 'gone.j2'"),
        ("{{ question }}", "the question is not a text: write one of its parts, such as question.text"),
        ("{{ agent }}", "a mapping is not a text"),
        ("{{ question.options }}", "a list is not a text: write one of its parts, such as question.text or turn.text,"),
        ("{{ question.__class__.__mro__ }}", "cannot be rendered"),
        ("{{ ().__class__.__bases__[0].__subclasses__() }}", "cannot be rendered"),
        ("{{ 1 / 0 }}", "cannot be rendered"),
        ("   ", "renders to nothing"),
    ],
)
def test_a_template_that_cannot_be_rendered_says_which_and_why(tmp_path: Path, text: str, complaint: str) -> None:
    """Each of the ways in which a template goes wrong is one clear error."""
    with pytest.raises(SpecError, match=r"bad\.j2") as caught:
        write(tmp_path, bad=text).render("bad.j2", VIEW)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{% include 'common/heard.j2' %}\n{{ quesiton.text }}", "bad.j2:2:4: there is no variable quesiton"),
        ("{% for turn in heard %}\n{% include 'common/name.j2' %}{{ trun.text }}{% endfor %}",
         "bad.j2:2:34: there is no variable trun"),
        ("{% extends 'base.j2' %}\n{% block body %}{{ qestion }}{% endblock %}",
         "bad.j2:2:20: there is no variable qestion"),
        ("{% import 'macros.j2' as m %}\n{{ m.said(1) }}{{ qestion }}", "bad.j2:2:19: there is no variable qestion"),
        ("{% from 'macros.j2' import wrong %}\n{{ wrong() }}", "macros.j2:2:25: there is no variable nothing"),
        ("{% from 'macros.j2' import outer %}\n{{ outer() }}",
         "macros.j2:3:25: an imported template does not see question\n    import it `with context`"),
        ("{% if question.text %}\n{% set a = 1 %}{{ tilte }}{% endif %}", "bad.j2:2:19: there is no variable tilte"),
    ],
)  # fmt: skip
def test_a_misspelt_variable_is_reported_in_its_own_file(tmp_path: Path, text: str, place: str) -> None:
    """Templates that it includes, extends or imports use variables of their own loops and optional ones."""
    macros = (
        "{% macro said(n) %}{{ n }}{% endmacro %}\n{% macro wrong() %}<<{{ nothing }}{% endmacro %}\n"
        "{% macro outer() %}<<{{ question.text }}{% endmacro %}"
    )
    templates = write(tmp_path, bad=text, base="{% block body %}{% endblock %}", macros=macros)
    turn = {"reads": "answer", "about": None, "number": 1, "speaker": "ann", "text": "2", "trust": None}
    with pytest.raises(SpecError) as caught:
        templates.render("bad.j2", VIEW | {"heard": [turn]})
    (problem,) = caught.value.problems
    assert place in str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "{{ 10 ** (10 ** 8) }}",
        "{{ 2.5 ** 10000000 }}",
        "{{ 99999 ** 99999 }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% include 'bad.j2' %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set n = namespace(x='x') %}{% for i in range(90) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x='x') %}{% for i in range(90) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x='x') %}{% for i in range(90) %}{% set n.x = [n.x, n.x]|join %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x=[1]) %}{% for i in range(90) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
        "{{ 'x' * 10 ** 12 }}",
        "{{ 'x'|center(10 ** 12) }}",
        "{{ 'x'.center(10 ** 12) }}",
        "{{ 'x\\ny'.ljust(99999)|indent(999999999) }}",
        "{{ '{:>999999999}'.format('x') }}",
        "{{ '%999999999d' % 3 }}",
        "{{ '%999999999d'|format(3) }}",
        "{{ 'a'|replace('a', 'b' * 9999)|replace('b', 'c' * 9999) }}",
        "{{ lipsum(n=10000) }}",
        "{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
    ],
)
@pytest.mark.timeout(60)
def test_a_template_without_an_end_is_an_error(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power, a loop in a loop, a text that doubles, an include of itself: none hangs and none fills the memory."""
    monkeypatch.setattr(limits, "SECONDS", 0.3)
    with pytest.raises(SpecError, match=r"bad\.j2"):
        write(tmp_path, bad=text + "x").render("bad.j2", VIEW)


def test_an_ordinary_long_prompt_is_no_mistake(tmp_path: Path) -> None:
    """A thousand turns of a thousand characters, joined, filtered and padded as prompts are."""
    text = (
        "{% for t in turns %}{{ loop.index }}/{{ loop.length }} {{ (t ~ '.')|indent(2) }}{% endfor %}{{ 7 ** 2 * 3 }}"
    )
    (message,) = write(tmp_path, long=text).render("long.j2", VIEW | {"turns": ["x" * 1000] * 1000})
    assert len(message["content"]) > 1_000_000
    assert message["content"].endswith("147")


def test_what_templates_use_is_known_before_they_are_rendered(tmp_path: Path) -> None:
    """Through includes; where the name of an include is computed, nobody can say."""
    templates = write(tmp_path, a="{{ x }}{% include 'b.j2' %}{% set z = 1 %}{{ z }}", b="{{ y }}", c="{% include x %}")
    assert templates.uses("a.j2") == {"x", "y"}
    assert templates.uses("c.j2") is None


def test_ones_own_template_replaces_a_shipped_one(tmp_path: Path) -> None:
    """Folders are searched in order, the shipped prompts last."""
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "answer.j2").write_text("mine", encoding="utf-8")
    assert Templates([tmp_path]).render("common/answer.j2", VIEW)[0]["content"] == "mine"


def test_a_digest_changes_with_the_template_and_all_that_it_includes(tmp_path: Path) -> None:
    """Editing an included part re-runs the cells whose prompts include it."""
    templates = write(tmp_path, whole="{% include 'part.j2' %}", part="one", other="x")
    before, other = templates.digest("whole.j2"), templates.digest("other.j2")
    write(tmp_path, part="two")
    again = Templates([tmp_path])
    assert again.digest("whole.j2") != before
    assert again.digest("other.j2") == other


def test_single_braces_are_warned_of_with_their_place(tmp_path: Path) -> None:
    """`{question}` would reach the model as it stands; sets of mathematics and Jinja's own braces are left alone."""
    templates = write(
        tmp_path, prompt="{{ question.text }}\nNow {question} and \\boxed{4} {% if a %}{# b #}{% endif %}"
    )
    (warning,) = templates.single_braces("prompt.j2")
    assert warning.where == f"{tmp_path}/prompt.j2:2:5"
    assert "{{ question }}" in warning.remedy


def test_every_shipped_template_is_free_of_single_braces() -> None:
    """What users are warned of does not happen in ours."""
    templates = Templates()
    assert [p for name in templates.shipped() for p in templates.single_braces(name)] == []


def test_code_of_a_text_is_shared_and_never_that_of_another_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other templates of the process use the code again; a changed file, and its namesake elsewhere, have their own."""
    other = tmp_path / "other"
    other.mkdir()
    first, namesake = write(tmp_path, own="{{ one }}"), write(other, own="{{ two }} it is")
    assert (first.text("own.j2", {"one": 1}), first.uses("own.j2")) == ("1", {"one"})
    assert (namesake.text("own.j2", {"two": 2}), namesake.uses("own.j2")) == ("2 it is", {"two"})
    changed = write(tmp_path, own="{{ six }}")
    assert (changed.text("own.j2", {"six": 6}), changed.uses("own.j2")) == ("6", {"six"})
    assert first.text("own.j2", {"one": 3}) == "3"  # read once by these

    def parsed(*arguments: Any) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(Sandbox, "_parse", parsed)
    again = Templates([tmp_path])
    assert (again.text("own.j2", {"six": 7}), again.uses("own.j2")) == ("7", {"six"})
