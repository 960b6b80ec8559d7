"""A template ends in bounded time and memory, whatever is written in it, and renders the same text each time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.templates import limits, templates
from cortexdsl.templates.templates import Templates

LOOP = "{% for i in range(99999) %}"
END = "{% endfor %}"
LONG = "{% set s = 'ab\n' * 3000000 %}"
DOUBLED = "{% set n = namespace(a=['x'] * 99) %}{% for i in range(40) %}{% set n.a = [n.a, n.a] %}{% endfor %}"


pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of these templates use all the time that they get."""
    monkeypatch.setattr(limits, "SECONDS", 0.3)


def rendered(folder: Path, text: str) -> str:
    (folder / "bad.j2").write_text(text, encoding="utf-8")
    return Templates([folder]).text("bad.j2", {})


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
        "{{ [[1], [2]]|sum(start=[]) }}",
        DOUBLED + "{{ n.a }}",
        DOUBLED + "{{ n.a|string }}",
        DOUBLED + "{{ n }}",
        "{{ (1).to_bytes(10 ** 12, 'big')|length }}",
        "{{ (1).from_bytes([255] * 900000, 'big') // (1).from_bytes([254] * 450000, 'big') }}",
        "{% autoescape 10 ** (10 ** 8) %}{{ 10 ** (10 ** 8) }}{% endautoescape %}",
    ],
)
def test_what_would_not_end_is_refused(tmp_path: Path, text: str) -> None:
    """Each takes minutes or gigabytes without limits, or is no text."""
    with pytest.raises(SpecError, match=r"bad\.j2(:\d+:1)?: the template cannot be rendered") as caught:
        rendered(tmp_path, text)
    assert "\n    " in str(caught.value)  # the remedy


def test_a_template_at_its_limit_is_named_with_its_line(tmp_path: Path) -> None:
    """By the line that was rendered when the time was over, also in a part, and each time at once."""
    (tmp_path / "part.j2").write_text(f"first\n{LOOP}\n{LOOP}{{% set x = 1 %}}{END}\n{END}")
    (tmp_path / "bad.j2").write_text("{% include 'part.j2' %}")
    prompts = Templates([tmp_path])
    for _ in range(50):
        with pytest.raises(SpecError, match=r"part\.j2:[23]:1: .* it does too much: more than 0\.3 seconds of proc"):
            prompts.text("bad.j2", {})


def test_what_only_looks_endless_is_rendered(tmp_path: Path) -> None:
    assert rendered(tmp_path, "{{ 2.5|round(99999999) }} {{ 'x'|urlize }}") == "2.5 x"


@pytest.mark.timeout(20)
def test_parts_that_double_are_refused(tmp_path: Path) -> None:
    """Thirty templates, each of which includes the next one twice, make 2^30 includes without any text."""
    for number in range(30):
        twice = f"{{% include 'part-{number + 1}.j2' %}}" * 2
        (tmp_path / f"part-{number}.j2").write_text(twice)
    (tmp_path / "part-30.j2").write_text("{% set x = 1 %}")
    with pytest.raises(SpecError, match="it does too much"):
        Templates([tmp_path]).text("part-0.j2", {})


def test_limits_take_a_process_once_and_none_for_shipped_templates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template that was planned, or rendered once, is rendered in this process."""
    tries: list[object] = []

    def counted(work: Callable[[], object], place: Callable[[BaseException], str]) -> None:
        tries.append(work)

    monkeypatch.setattr(templates, "exceeded_limit", counted)
    (tmp_path / "own.j2").write_text("{{ x }}")
    (tmp_path / "planned.j2").write_text("{{ x }}")
    prompts = Templates([tmp_path])
    prompts.prepare(["planned.j2"])
    assert [prompts.text("own.j2", {"x": x}) for x in "abc"] == ["a", "b", "c"]
    assert prompts.text("planned.j2", {"x": 1}) == "1"
    assert prompts.text(templates.SYSTEM, {"agent": {"persona": None}}) == ""
    assert len(tries) == 1


@pytest.mark.parametrize("text", ["{{ [1, 2]|random }}", "{% if false %}{{ [1]|random }}{% endif %}"])
def test_random_is_refused_when_the_template_is_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(SpecError, match="a prompt must be the same in each rendering"):
        rendered(tmp_path, text)
    with pytest.raises(SpecError, match="the same in each rendering"):
        rendered(tmp_path, "{{ [1]|map('random')|list }}")


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
def test_ordinary_templates_render_as_ever(tmp_path: Path, text: str, said: str) -> None:
    assert rendered(tmp_path, text) == said
