"""Templates with their parts written into them render what they render as they are written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from cortexdsl.errors import SpecError
from cortexdsl.language.prompts.sandbox import Sandbox
from cortexdsl.language.prompts.templates import Templates

NAMES = ("a", "b", "c")
GIVEN = {"a": "first", "items": ["one", "two"], "no": False, "yes": True}


def made_up(chance: random.Random, parts: list[str], depth: int = 0) -> str:
    """Return a random template: texts, values, settings, branches, loops and parts."""

    def line() -> str:
        name, kind = chance.choice(NAMES), chance.randrange(9 if depth < 3 else 5)
        match kind:
            case 0:
                return f"text {name}"
            case 1:
                return f"{{{{ {name} }}}}"
            case 2:
                return f"{{% set {name} = {name!r} ~ {chance.randrange(9)} %}}"
            case 3:
                return f"{{{{ 'set' if {name} is defined else 'unset' }}}}"
            case 4 | 5:
                return f'{{% include "{chance.choice(parts)}.j2" %}}' if parts else "end"
            case 6:
                inner = made_up(chance, parts, depth + 1)
                return f"{{% if {chance.choice(['yes', 'no'])} %}}\n{inner}\n{{% else %}}\n{name}\n{{% endif %}}"
            case 7:
                loop = "{{ loop.index }}" if chance.random() < 0.5 else ""
                inner = made_up(chance, parts, depth + 1)
                return f"{{% for {name} in items %}}\n{loop}{inner}\n{{% endfor %}}"
            case _:
                return f"{{% macro m() %}}{name}{{% endmacro %}}{{{{ m() }}}}" if chance.random() < 0.1 else "plain"

    return "\n".join(line() for _ in range(chance.randrange(1, 5)))


def test_a_flat_template_renders_what_the_written_one_does(tmp_path: Path) -> None:
    """Thousands of random templates of parts of parts, with the same names set before, in and after them."""
    chance, flats = random.Random(7), 0
    for trial in range(1500):
        folder = tmp_path / str(trial)
        folder.mkdir()
        parts: list[str] = []
        for name in ("inner", "middle", "outer"):
            (folder / f"{name}.j2").write_text(made_up(chance, parts), encoding="utf-8")
            parts.append(name)
        sandbox = Sandbox([str(folder)])
        flat, written = sandbox.flat("outer.j2"), sandbox.get_template("outer.j2")
        if flat is None:
            continue
        try:
            expected = written.render(GIVEN)
        except UndefinedError:
            continue  # whatever the flat one does: the written one is rendered again where that fails, as the next test
        flats += 1
        assert flat.render(GIVEN) == expected, (folder / "outer.j2").read_text()
    assert flats > 300


@pytest.mark.parametrize("text", ["{{ x }}", "{{ question.nothing }}", "{{ 1 // 0 }}"])
def test_a_part_that_cannot_be_rendered_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    """The message is that of the template as it is written."""
    (tmp_path / "part.j2").write_text(f"first line\n{text}\n")
    (tmp_path / "whole.j2").write_text('Say it.\n\n{% include "part.j2" %}\n')
    templates = Templates([tmp_path])
    assert templates._environment.flat("whole.j2") is not None
    with pytest.raises(SpecError, match=r"part\.j2:2:"):
        templates.render("whole.j2", {"question": {"text": "?"}, "agent": {"name": "a", "persona": None}})


def test_a_part_that_never_ends_is_left_as_it_is(tmp_path: Path) -> None:
    """A template that includes itself where a condition holds may be meant."""
    (tmp_path / "whole.j2").write_text('{{ left }}{% if left %}{% set left = 0 %}{% include "whole.j2" %}{% endif %}')
    assert Templates([tmp_path])._environment.flat("whole.j2") is None
    assert Templates([tmp_path]).text("whole.j2", {"left": 3}) == "30"


def test_all_shipped_templates_of_parts_are_flat() -> None:
    """None of them needs the slow way."""
    templates = Templates()
    made = [name for name in templates.shipped() if "{% include" in templates._source(name)]
    assert len(made) > 50
    assert [name for name in made if templates._environment.flat(name) is None] == []


EACH = "{% for x in items %}{% include 'part.j2' %}{% endfor %}"


@pytest.mark.parametrize(
    ("whole", "part", "said"),
    [
        (EACH, "{{ 'in' if loop is defined else 'out' }}", "outout"),
        (f"{{% for y in items %}}{{{{ loop.index }}}}{EACH}{{% endfor %}}", "{{ loop.index }}", "111222"),
        (EACH, "{% set loop = 5 %}{{ loop }}", "55"),
        (EACH, "{% for y in items %}{{ loop.index }}{% endfor %}", "1212"),
    ],
)
def test_a_part_sees_of_a_loop_around_it_what_jinja_shows_it(tmp_path: Path, whole: str, part: str, said: str) -> None:
    """A part sees the innermost loop whose own text asks for `loop`, and none where no text does."""
    (tmp_path / "part.j2").write_text(part)
    (tmp_path / "whole.j2").write_text(whole)
    assert Templates([tmp_path]).text("whole.j2", {"items": [1, 2]}) == said


def test_parts_that_double_at_each_level_take_no_time(tmp_path: Path) -> None:
    """Thirty levels, each twice in the one above, are a billion parts when written out; no second is asked for."""
    for level in range(30):
        twice = f"{{% include 'part{level + 1}.j2' %}}" * 2
        (tmp_path / f"part{level}.j2").write_text(f"{{% if no %}}{twice}{{% endif %}}said")
    (tmp_path / "part30.j2").write_text("said")
    assert Templates([tmp_path])._environment.flat("part0.j2") is None
    assert Templates([tmp_path]).text("part0.j2", {"no": False}) == "said"


def test_loops_in_parts_may_be_more_than_python_nests_in_one_place(tmp_path: Path) -> None:
    """It takes 20 within one another."""
    for level in range(25):
        inner = f"{{% include 'part{level + 1}.j2' %}}"
        (tmp_path / f"part{level}.j2").write_text(f"{{% for x in items %}}{inner}{{% endfor %}}")
    (tmp_path / "part25.j2").write_text("said")
    assert Templates([tmp_path]).text("part0.j2", {"items": [1]}) == "said"


@pytest.mark.parametrize("text", ["{% for x in a %}" * 25 + "{% endfor %}" * 25, "{{ dict(a=1, a=2) }}"])
def test_what_python_alone_finds_wrong_is_an_error_of_the_template(tmp_path: Path, text: str) -> None:
    (tmp_path / "whole.j2").write_text(text)
    with pytest.raises(SpecError, match=r"whole\.j2:1:1: template error: it has"):
        Templates([tmp_path]).text("whole.j2", {"a": []})
