"""Templates that include parts: positions of errors, loops, and parts of parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.templates.templates import Templates


@pytest.mark.parametrize("text", ["{{ x }}", "{{ question.nothing }}", "{{ 1 // 0 }}"])
def test_a_part_that_cannot_be_rendered_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    """The message is that of the template as it is written."""
    (tmp_path / "part.j2").write_text(f"first line\n{text}\n")
    (tmp_path / "whole.j2").write_text('Say it.\n\n{% include "part.j2" %}\n')
    templates = Templates([tmp_path])
    with pytest.raises(SpecError, match=r"part\.j2:2:"):
        templates.render("whole.j2", {"question": {"text": "?"}, "agent": {"name": "a", "persona": None}})


def test_a_template_that_includes_itself_may_end(tmp_path: Path) -> None:
    """It does so under a condition."""
    (tmp_path / "whole.j2").write_text('{{ left }}{% if left %}{% set left = 0 %}{% include "whole.j2" %}{% endif %}')
    assert Templates([tmp_path]).text("whole.j2", {"left": 3}) == "30"


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
