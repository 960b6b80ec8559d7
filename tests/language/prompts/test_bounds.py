"""A template ends in bounded time and memory, whatever is written in it, and renders the same text each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2.exceptions import SecurityError, TemplateAssertionError, TemplateError

from cortexdsl.errors import SpecError
from cortexdsl.language.prompts.bounds import WorkBudget
from cortexdsl.language.prompts.sandbox import Sandbox
from cortexdsl.language.prompts.templates import Templates, render_text

LOOP = "{% for i in range(99999) %}"
END = "{% endfor %}"
LONG = "{% set s = 'ab\n' * 3000000 %}"
SANDBOX = Sandbox([])


def rendered(text: str) -> str:
    with WorkBudget():
        return render_text(SANDBOX.from_string(text), {})


@pytest.mark.parametrize(
    "text",
    [
        LOOP + "{{ range(99999)|sum }}" + END,
        LOOP + "{% set x = range(99999)|unique|list %}" + END,
        LOOP + LOOP + "{{ range(99999)|max }}" + END + END,
        LONG + "{{ s.translate({97: 'x' * 100000})|length }}",
        LONG + "{{ s|replace('a', 'b' * 9000000)|length }}",
        LONG + "{{ s.replace('a', 'b' * 9000000)|length }}",
        LONG + "{{ ([s] * 100000)|join|length }}",
        LONG + "{% set l = [s] * 100000 %}{{ l|string|length }}",
        LONG + "{{ s|indent(99999)|length }}",
        LONG + "{{ s|wordwrap(1, wrapstring=s)|length }}",
        LONG + "{{ ('{0}' * 1000).format(s)|length }}",
        LONG + "{{ s|urlize }}",
        LONG + "{% set t = 'ab\n' * 3000000 %}" + LOOP + "{% if s == t %}{% endif %}" + END,
        LONG + LOOP + "{% set x = s[::2] %}" + END,
        LONG + LOOP + "{{ s.find('zz') }}" + END,
        LONG + LOOP + "{{ s|wordcount }}" + END,
        "{{ ('%99999d' * 100000) % (1,) }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '{0:{1}}'.format('x', '999999999') }}",
        "{{ 2.5|round(99999999) }}",
        "{{ [[1], [2]]|sum(start=[]) }}",
        "{% set n = namespace(a=['x'] * 99) %}{% for i in range(40) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
        "{% set n = namespace(a=['x'] * 99) %}{% for i in range(40) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n }}",
        "{{ (1).to_bytes(10 ** 12, 'big')|length }}",
        "{{ (1).from_bytes([255] * 900000, 'big') // (1).from_bytes([254] * 450000, 'big') }}",
    ],
)
def test_what_would_not_end_is_refused(text: str) -> None:
    """Each took minutes or gigabytes before; the slowest takes a fraction of a second to be refused."""
    with pytest.raises((SecurityError, TemplateAssertionError)):  # and no mistake of the template
        rendered(text)


@pytest.mark.timeout(20)
def test_parts_that_double_are_refused(tmp_path: Path) -> None:
    """Thirty templates, each of which includes the next one twice, make 2^30 includes without any text."""
    for number in range(30):
        twice = f"{{% include 'part-{number + 1}.j2' %}}" * 2
        (tmp_path / f"part-{number}.j2").write_text(twice)
    (tmp_path / "part-30.j2").write_text("{% set x = 1 %}")
    with pytest.raises(SpecError, match="it does too much"):
        Templates([tmp_path]).text("part-0.j2", {})


@pytest.mark.parametrize("text", ["{{ [1, 2]|random }}", "{% if false %}{{ [1]|random }}{% endif %}"])
def test_random_is_refused_when_the_template_is_read(text: str) -> None:
    with pytest.raises(TemplateError, match="a prompt must be the same in each rendering"):
        SANDBOX.from_string(text)
    with pytest.raises(SecurityError, match="the same in each rendering"):
        rendered("{{ [1]|map('random')|list }}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ [3, 1, 2]|sort|join(', ') }}", "1, 2, 3"),
        ("{{ [1, 2]|sum }} {{ ['a', 'a']|unique|list|length }}", "3 1"),
        ("{{ ['a', 'b']|map('upper')|join }}", "AB"),
        ("{{ '%s of %d' % ('a', 2) }} {{ '%.1f'|format(2.25) }} {{ '{0}-{1}'.format(1, 2) }}", "a of 2 2.2 1-2"),
        ("{{ 'a b'.replace('a', 'c').split()|last }} {{ 'abc'[1:] }} {{ 'x' in 'xyz' }}", "b bc True"),
        ("{% for key, value in {'a': 1}.items() %}{{ key }}{{ value }}{% endfor %}", "a1"),
        ("{{ missing is defined }} {{ missing|default('none') }}", "False none"),
        ("{{ 'word ' * 2000 }}", ("word " * 2000).strip()),
    ],
)
def test_ordinary_templates_render_as_ever(text: str, said: str) -> None:
    assert rendered(text) == said
