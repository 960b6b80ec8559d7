"""Programs in replies: fences, several blocks, a repeated signature, prose around it; and what tests are made of."""

from __future__ import annotations

import pytest

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.code import CodeKind, ProgramFrame, checked_tests, examples_in, function_under_test
from cortexdsl.tasks.reading.reader import AnswerReader

PROMPT = '''from typing import List

def half(x):
    return x / 2

def total(values: List[int], k: int) -> int:
    """Sum of values, times k.
    >>> total([1, 2], 3)
    9
    """
'''
KIND = CodeKind(ProgramFrame("total", PROMPT.strip("\n")))
READER = AnswerReader(KIND, equal=KIND.same)
OPEN = AnswerReader(CodeKind(ProgramFrame("total")))
PLAIN = "def total(values, k):\n    return sum(values) * k"


def run(program: str | None) -> object:
    """Run a program of this test, and return what it gives for [1, 2] and 3."""
    names: dict[str, object] = {}
    exec(program or "", names)
    function = names["total"]
    assert callable(function)
    return function([1, 2], 3)


@pytest.mark.parametrize(
    "reply",
    [
        f"```python\n{PLAIN}\n```",
        f"Here it is:\n```python\n{PLAIN}\n```\nIt adds and multiplies.\nConfidence: 0.9",
        f"```\n{PLAIN}\n```",
        f"~~~py\n{PLAIN}\n~~~",
        f"````python\n{PLAIN}\n````",
        f"<think>```python\ndef total(v, k): return 0\n```</think>\n```python\n{PLAIN}\n```",
        f"First try:\n```python\ndef total(v, k):\n    return 0\n```\nThat is wrong. Better:\n```python\n{PLAIN}\n```",
        f"```python\n{PLAIN}\n```\nTry it:\n```python\nprint(total([1, 2], 3))\n```",
        f"```python\n{PLAIN}\n```\nOutput:\n```text\n9\n```\n```bash\npython total.py\n```",
        f"```python\n{PLAIN}\n\nprint(total([1], 2))\nassert total([1], 2) == 3\nn = 3\n```",
        f"```python\n{PLAIN}\n\nif __name__ == '__main__':\n    raise SystemExit\n```",
        "```python\ndef total(values, k):\n    return add(values) * k\n```\nwith\n```python\ndef add(values):\n"
        "    return sum(values)\n```",
        "```python\nfrom functools import reduce\nimport operator as op\n```\nand\n```python\ndef total(values, k):\n"
        "    return reduce(op.add, values) * k\n```",
        f"  1. Write it:\n     ```python\n{PLAIN}\n     ```".replace("\ndef", "\n     def").replace(
            "\n    r", "\n         r"
        ),
        f"```python\n{PLAIN}",  # the fence is never closed
        f"{PLAIN}\n",
        f"The function is simple.\n\n{PLAIN}\n\nIt takes the sum, and multiplies it.\nConfidence: 1",
        "import math\n\nThen\n\ndef total(values, k):\n    return math.fsum(values) * k\nHope it helps!",
        "```python\nclass Adder:\n    pass\ntotal = lambda values, k: sum(values) * k\n```",
        f"```python\n{PLAIN.replace('values', 'wörter')}\n```",
    ],
)
@pytest.mark.parametrize("reader", [READER, OPEN], ids=["signature", "text"])
def test_a_program_is_found(reply: str, reader: AnswerReader) -> None:
    assert run(reader.lenient(reply).value) == 9


@pytest.mark.parametrize(
    "reply",
    [
        "    return sum(values) * k",
        "    total = 0\n    for value in values:\n        total += value\n    return total * k\n\nThis loops.",
        "```python\n    return sum(values) * k\n```",
        "```python\nreturn sum(values) * k\n```",
        f"```python\n{PROMPT}    return sum(values) * k\n```",
        "```python\ndef total(values: List[int], k: int) -> int:\n    return int(half(2 * sum(values))) * k\n```",
    ],
)
def test_a_body_and_names_of_the_question_are_completed(reply: str) -> None:
    assert run(READER.lenient(reply).value) == 9
    assert OPEN.lenient(reply).value is None or "List" in reply


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty reply"),
        ("I cannot do this.", "no program that defines total"),
        ("```python\ndef other():\n    pass\n```", "no program that defines total"),
        ("```python\ndef total(values, k:\n    return 1\n```", "no program that defines total"),
        ("```\n<the whole program in Python, with its imports>\n```", "no program that defines total"),
        (PROMPT, "no program"),
    ],
)
def test_a_reply_without_a_program_is_unreadable(reply: str, reason: str) -> None:
    """A repeated signature with its docstring alone does nothing, and is still what the reply gives."""
    reading = READER.lenient(reply)
    assert (reading.unparsed or "").startswith(reason) or (reply == PROMPT and reading.value is not None)


def test_the_strict_reading_takes_the_last_block_alone() -> None:
    assert run(READER.strict(f"So:\n```python\n{PLAIN}\n```\nConfidence: 0.7").value) == 9
    assert READER.strict(f"So:\n```python\n{PLAIN}\n```\nConfidence: 0.7").confidence == 0.7
    assert READER.strict(PLAIN).unparsed == "no block"
    assert (
        READER.strict(f"```python\n{PLAIN}\n```\n```python\nprint(1)\n```").unparsed == "no program in the last block"
    )


def test_programs_that_are_not_run_are_one_answer_if_their_text_is() -> None:
    commented = PLAIN.replace("\n", "  # adds\n\n", 1)
    assert READER.same(commented, PLAIN)
    assert not READER.same(PLAIN.replace("sum", "max"), PLAIN)


def test_a_reply_of_any_content_ends_in_time() -> None:
    for reply in (
        "(" * 100_000,
        "```" * 30_000,
        "def total(" * 20_000,
        "def a(): x\n" * 5_000,
        "```python\n" + "[" * 9_999,
    ):
        assert READER.lenient(reply).value is None


def test_examples_are_calls_with_plain_values_in_any_notation() -> None:
    text = ">>> f([1, (2, 3)], -1)\n9\nf('a)') => 2, f({'x': 1}, k=None) == 3; f(x) is f(1) and g.f(2), prof(3), f(1)"
    assert examples_in(text, "f") == ("f([1, (2, 3)], -1)", "f('a)')", "f({'x': 1}, k=None)", "f(1)")
    assert examples_in(text, "") == ()


def test_the_function_is_the_first_that_tests_call() -> None:
    assert function_under_test("import math\nassert set(similar((1, 2))) == {1}\nassert other(1)") == "similar"
    assert function_under_test("def check(f):\n    assert f(1)\ncheck(g)") == ""
    assert function_under_test("assert True") == ""


def test_tests_call_their_check_and_have_the_helpers_of_the_question() -> None:
    tests = checked_tests("def check(candidate):\n    assert candidate([1], 2) == half(4)", KIND.frame)
    assert tests.startswith("from typing import List\ndef half(x):")
    assert tests.endswith("check(total)")
    assert checked_tests("assert f(1)", ProgramFrame("f")) == "assert f(1)"
    bare = checked_tests("assert math.isclose(f(1), math.pi)\nassert string(2).upper() == 'A'", ProgramFrame("f"))
    assert bare.startswith("import math\n\nassert math")  # and `string` is called, so it is the program's
    with pytest.raises(DataError, match="its tests call sorted, which Python has itself\n    give"):
        checked_tests("assert sorted([1])", ProgramFrame("sorted"))
    with pytest.raises(DataError, match=r"its tests do not compile: .*\n    correct them, or remove the row"):
        checked_tests("assert f(1", ProgramFrame("f"))
    with pytest.raises(DataError, match="no function is named\n    name its column: entry: COLUMN"):
        checked_tests("def check(candidate):\n    assert candidate(1)", ProgramFrame())
