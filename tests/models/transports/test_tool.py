"""Tools: arithmetic that is exact and bounded, requests found in what a model says, functions that end in time."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.errors import InputError
from cortexdsl.models.transports.calculator import NoNumberError, value_of, written
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.tool import Function, calculate, identity_of, requests, source_of


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", "14"),
        ("0.1 + 0.2", "0.3"),  # exact, where floats say 0.30000000000000004
        ("1/3 + 1/6", "0.5"),
        ("2^10", "1024"),
        ("7 // 2 + 7 % 2", "4"),
        ("15% * 80", "12"),
        ("1,200,000 / 4", "300000"),
        ("6 \u00d7 7 =", "42"),
        ("-(3 - 5)", "2"),
        ("sqrt(144) + abs(-2)", "14"),
        ("sqrt(2)", "1.41421356237309"),  # 1.4142135623730951
        ("2 ** 0.5 - sqrt(2)", "0"),
        ("max(1, 2.5, 2)", "2.5"),
        ("round(2.345, 2)", "2.34"),  # exactly half way: to the even digit
        ("floor(7/2) + ceil(7/2)", "7"),
        ("1e3", "1000"),
    ],
)
def test_arithmetic(expression: str, value: str) -> None:
    found = written(value_of(expression))
    assert found == value or float(found) == pytest.approx(float(value), rel=1e-13)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("1/0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("9**9**9**9", "too large"),
        ("10**301", "too large"),
        ("sqrt(-1)", "no real number"),
        ("(-8) ** 0.5", "no real number"),
        ("__import__('os').system('true')", "not an arithmetic expression"),
        ("x + 1", "not an arithmetic expression"),
        ("True + 1", "not an arithmetic expression"),
        ("1 if 1 else 2", "not an arithmetic expression"),
        ("(" * 199 + "x" + ")" * 199, "not an arithmetic expression"),
        ("1 +" * 300 + "1", "longer than 400 characters"),
        ("abs(1, 2)", "abs takes other numbers"),
        ("1e999", "too large"),
        ("0x1F", "not an arithmetic expression"),
        ("", "not an arithmetic expression"),
    ],
)
def test_what_is_no_arithmetic_is_said(expression: str, why: str) -> None:
    with pytest.raises(NoNumberError, match=why):
        value_of(expression)


@given(st.text(alphabet="0123456789.+-*/%^() e,sqrtminaxbround", max_size=60))
def test_no_text_keeps_the_calculator_busy_or_breaks_it(text: str) -> None:
    before = time.process_time()
    assert isinstance(calculate(text), str)
    assert time.process_time() - before < 1


def test_lines_that_ask_are_answered_one_by_one() -> None:
    said = "First I add.\nCalculate: 2 + 2\n- **Calculate:** 3 * 3\ncalculate: apples\nCalculate: 2 + 2\nSo 13."
    assert calculate(said) == "2 + 2 = 4\n3 * 3 = 9\napples: not an arithmetic expression"
    assert calculate(" 6 * 7 ") == "6 * 7 = 42"
    assert calculate("  ") == "(nothing to calculate)"


def test_requests_are_few_short_and_different() -> None:
    assert requests("Search: a\nsearch : b\n1. Search: a\nResearch: c", "Search") == ["a", "b"]
    assert requests("who wrote\n Emma?", "Search") == ["who wrote Emma?"]
    assert len(requests("\n".join(f"Search: {k}" for k in range(99)), "Search")) == 20
    assert max(map(len, requests("Search: " + "x" * 9_999, "Search"))) == 2_000


MODULE = """
import os, sys, time
print("noise at import")
def shout(text): print("noise"); return text.upper()
def slow(text): time.sleep(60)
def wrong(text): raise ValueError("no such thing: " + text)
def number(text): return 42
def silent(text): return "  "
def gone(text): os._exit(3)
def flood(text): return "x" * 200_000_000
known = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("raise SystemExit('run by nobody who only asks where it is')\n")
    (tmp_path / "own.py").write_text(MODULE)
    (tmp_path / "mine" / "deep.py").write_text("def f(text): return text\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(name: str, *texts: str, seconds: float = 20.0) -> list[str]:
    async def all_of_them() -> list[str]:
        function = Function(name, seconds)
        try:
            return [await function(text) for text in texts]
        finally:
            await function.close()

    return asyncio.run(all_of_them())


def test_a_function_is_called_in_a_process_of_its_own(module: Path) -> None:
    assert called("own:shout", "sea", 'a "quoted"\nline \ud800') == ["SEA", 'A "QUOTED"\nLINE \ud800']
    assert "own" not in sys.modules


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("own:wrong", "own:wrong: ValueError: no such thing: sea"),
        ("own:number", "it returned int, and no text"),
        ("own:silent", "returned an empty text"),
        ("own:gone", "its process ended"),
    ],
)
def test_what_a_function_does_wrong_is_a_failure_of_its_kind(module: Path, name: str, said: str) -> None:
    with pytest.raises(Failure, match=said) as failed:
        called(name, "sea")
    assert failed.value.kind is FailureKind.TOOL
    assert failed.value.kind.is_data


def test_a_function_that_does_not_end_is_ended_and_can_be_called_again(module: Path) -> None:
    async def twice() -> None:
        function = Function("own:slow", 0.5)
        for _ in range(2):
            with pytest.raises(Failure, match=r"took longer than 0\.5 s"):
                await function("sea")
        await function.close()

    before = time.monotonic()
    asyncio.run(twice())
    assert time.monotonic() - before < 30


@pytest.mark.parametrize(
    ("name", "said"), [("own:nothing", "AttributeError"), ("own:known", "known is not a function")]
)
def test_what_cannot_be_called_ends_the_run(module: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        called(name, "sea")


def test_a_module_is_found_without_running_any_of_it(module: Path) -> None:
    assert source_of("mine.deep:f") == module / "mine" / "deep.py"
    with pytest.raises(InputError, match=r"there is no module mine\.other"):
        source_of("mine.other:f")
    before = identity_of("own:shout")
    (module / "own.py").write_text(MODULE + "\n# edited\n")
    assert identity_of("own:shout") != before
