"""HumanEval, HumanEval+, MBPP and MBPP+: rows of their formats, written here. Solutions pass, and mutants fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.jobs.score import grade_samples
from cortexdsl.metrics.scores import Row
from cortexdsl.plan.experiment import Plan
from cortexdsl.records import Header, Record
from cortexdsl.tasks.load import load
from cortexdsl.tasks.programs.runs import ProgramRuns
from cortexdsl.tasks.task import Task
from tests.stats.debates import made

PLUS = """import numpy as np

def is_floats(x) -> bool:
    return isinstance(x, float) or (isinstance(x, (list, tuple)) and all(isinstance(i, float) for i in x))

def assertion(out, exp, atol):
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp
"""
HUMANEVAL: list[dict[str, Any]] = [
    {
        "task_id": "HumanEval/900",
        "prompt": "from typing import List\n\n\ndef above(values: List[float], limit: float) -> List[float]:\n"
        '    """ Keep the values above a limit, in their order.\n    >>> above([1.0, 3.5], 2.0)\n    [3.5]\n    """\n',
        "canonical_solution": "    return [value for value in values if value > limit]\n",
        "test": "\n\nMETADATA = {\n    'author': 'x'\n}\n\n\ndef check(candidate):\n"
        "    assert candidate([1.0, 3.5], 2.0) == [3.5]\n    assert candidate([], 0.0) == []\n"
        "    assert candidate([2.0, 5.0, 4.0], 2.0) == [5.0, 4.0]\n",
        "entry_point": "above",
        "mutants": ["    return [value for value in values if value >= limit]",
                    "    return sorted(v for v in values if v > limit)", "    return values", "    pass"],
    },
    {
        "task_id": "HumanEval/901",
        "prompt": "import math\n\n\ndef value_at(coefficients: list, x: float):\n"
        '    """ Evaluate a polynomial at x. """\n'
        "    return sum(c * math.pow(x, k) for k, c in enumerate(coefficients))\n\n\ndef root(coefficients: list):\n"
        '    """ Find the x at which value_at is 0, of a line: root([1, 2]) is -0.5. """\n',
        "canonical_solution": "    return -coefficients[0] / coefficients[1]\n",
        "test": "def check(candidate):\n    import random\n    rng = random.Random(1)\n    for _ in range(50):\n"
        "        line = [rng.randint(-9, 9), rng.randint(1, 9)]\n"
        "        assert abs(value_at(line, candidate(line))) < 1e-4\n",
        "entry_point": "root",
        "mutants": ["    return coefficients[0] / coefficients[1]", "    return -coefficients[1]",
                    "    global value_at\n    value_at = lambda *given: 0\n    return 1"],
    },
]  # fmt: skip
HUMANEVAL_PLUS: list[dict[str, Any]] = [
    {
        **HUMANEVAL[0],
        "test": f"{PLUS}\ndef check(candidate):\n    inputs = [[[1.0, 3.5], 2.0], [[], 0.0], [[2.0, 5.0, 4.0], 2.0]]\n"
        "    results = [[3.5], [], [5.0, 4.0]]\n    for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
        "        assertion(candidate(*inp), exp, 0)\n",
    }
]
MBPP: list[dict[str, Any]] = [
    {
        "task_id": 901,
        "text": "Write a function to find the elements that two tuples share.",
        "code": "def shared(a, b):\n  return tuple(sorted(set(a) & set(b)))",
        "test_setup_code": "",
        "test_list": [
            "assert shared((3, 4, 5), (5, 4, 7)) == (4, 5)", "assert set(shared((1,), (2,))) == set(())",
            "assert shared((2, 1), (1, 2)) == (1, 2)",
        ],
        "challenge_test_list": [],
        "mutants": ["def shared(a, b):\n  return tuple(sorted(set(a) | set(b)))", "def shared(a, b):\n  return (4, 5)",
                    "def common(a, b):\n  return tuple(sorted(set(a) & set(b)))"],
    },
    {
        "task_id": 902,
        "prompt": "Write a function to compute the area of a circle.",
        "code": "import math\ndef area(r):\n  return math.pi * r ** 2",
        "test_imports": ["import math"],
        "test_list": ["assert math.isclose(area(1), math.pi, rel_tol=0.001)", "assert area(0) == 0",
                      "assert math.isclose(area(2), 12.566, rel_tol=0.001)"],
        "mutants": ["def area(r):\n  return 3 * r ** 2", "import math\ndef area(r):\n  return math.pi * r"],
    },
]  # fmt: skip
MBPP_PLUS: list[dict[str, Any]] = [
    {
        "task_id": 901,
        "code": MBPP[0]["code"],
        "prompt": MBPP[0]["text"],
        "source_file": "Benchmark Questions Verification V2.ipynb",
        "test_imports": [],
        "test_list": MBPP[0]["test_list"],
        "test": f"{PLUS}\ninputs = [[(3, 4, 5), (5, 4, 7)], [(1,), (2,)], [(), ()]]\nresults = [(4, 5), (), ()]\n"
        "for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion(shared(*inp), exp, 0)\n",
        "mutants": MBPP[0]["mutants"],
    }
]
SETS = {
    "humaneval": ("HumanEval.jsonl", HUMANEVAL),
    "humaneval+": ("test.jsonl", HUMANEVAL_PLUS),
    "mbpp": ("mbpp.jsonl", MBPP),
    "mbpp+": ("test.jsonl", MBPP_PLUS),
}


def loaded(name: str, folder: Path) -> Task:
    file, rows = SETS[name]
    text = "".join(json.dumps({k: v for k, v in row.items() if k != "mutants"}) + "\n" for row in rows)
    (folder / file).write_text(text, encoding="utf-8")
    task = load(Dataset(name, name=name, path=str(folder / file)))
    return replace(task, programs=ProgramRuns())


@pytest.mark.parametrize("name", SETS)
def test_questions_show_what_their_authors_show_and_no_gold(name: str, tmp_path: Path) -> None:
    task = loaded(name, tmp_path)
    for question in task.questions:
        row = next(row for row in SETS[name][1] if str(row["task_id"]) == question.id)
        shown = row.get("test_list", [])
        assert (row.get("prompt") or row["text"]).strip() in question.text
        assert all(test in question.text for test in shown)
        assert not any(row.get(hidden, "is hidden") in question.text for hidden in ("canonical_solution", "code"))
        frame = task.item(question.id).frame
        assert frame is not None
        assert frame.entry == row.get("entry_point", {901: "shared", 902: "area"}.get(row["task_id"]))
        assert frame.examples
        assert task.kind == "code"
        assert task.format_of(question.id).startswith("End your reply with exactly a block with the program")


@pytest.mark.sandboxed
@pytest.mark.parametrize("name", SETS)
def test_canonical_solutions_pass_and_mutants_fail(name: str, tmp_path: Path) -> None:
    task = loaded(name, tmp_path)
    for row in SETS[name][1]:
        question = task.item(str(row["task_id"])).question
        reader = task.reader(question)
        solution = row.get("code") or f"{row['prompt']}{row['canonical_solution']}"
        right = reader.lenient(f"Like this:\n```python\n{solution}\n```\nConfidence: 0.9")
        assert task.grade(question.id, right.value) == 1.0
        if "canonical_solution" in row:
            assert task.grade(question.id, reader.lenient(row["canonical_solution"]).value) == 1.0
        read = [reader.lenient(f"```python\n{mutant}\n```") for mutant in row["mutants"]]
        assert task.grade_all([(question.id, reading.value) for reading in read]) == [0.0] * len(read)


@pytest.mark.sandboxed
def test_programs_are_one_answer_if_they_do_the_same_on_the_examples(tmp_path: Path) -> None:
    task = loaded("mbpp", tmp_path)
    reader = task.reader(task.item("901").question)
    loop = "def shared(a, b):\n    return tuple(x for x in sorted(set(a)) if x in b)"
    assert reader.same(loop, MBPP[0]["code"])
    assert not reader.same(loop, "def shared(a, b):\n    return tuple(set(a) | set(b))")
    failing = reader.lenient("```python\ndef shared(a, b):\n    return a & b\n```")
    assert failing.value is None
    assert failing.unparsed == (
        "fails on shared((3, 4, 5), (5, 4, 7)): unsupported operand type(s) for &: 'tuple' and 'tuple'"
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answer": "assert f(1"}, r"own.jsonl, row 1, column 'answer': its tests do not compile"),
        (
            {"answer": "def check(c):\n    assert c(1)"},
            r"row 1, column 'answer': its tests define check, and",
        ),
        (
            {"answer": "assert f(1)", "tries": "f(1"},
            r"its example 'f\(1' is not an expression\n    write calls, such as f",
        ),
        ({"answer": ""}, r"row 1: no answer \(column 'answer'\)"),
    ],
)
def test_bad_rows_are_refused_before_anything_is_spent(row: dict[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"question": "Write f.", **row}) + "\n", encoding="utf-8")
    fields = {"examples": "tries"} if "tries" in row else {}
    with pytest.raises(DataError, match=message):
        load(Dataset("own", path=str(path), kind="code", fields=fields))


SPEC = """\
title: Own
seed: 1
dataset: {file: own.jsonl, kind: code}
models: {m: {model: direct/m, api_base: "http://127.0.0.1:9"}}
agents: [{name: a, model: m}]
methods: {v: {protocol: voting}}
"""


def test_check_says_what_programs_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Permission, a sandbox, and example inputs, before a call is sent."""
    (tmp_path / "own.jsonl").write_text(
        '{"question": "Write f.", "answer": "assert f(1)"}\n{"question": "Write g: g(1).", "answer": "assert g(1)"}\n',
        encoding="utf-8",
    )
    (tmp_path / "own.yaml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert main(["check", "own.yaml"]) == 0
    said = capsys.readouterr()
    assert "warning: own.yaml: own: programs are run in a sandbox by bubblewrap, and there is no bwrap" in said.err
    assert "1 of 2 questions of own have no example inputs" in said.err
    assert "name a column with calls: examples: COLUMN" in said.err
    assert "run programs of models, and tests and solutions of data, in a sandbox" in said.out


def test_programs_are_not_graded_without_what_runs_them(tmp_path: Path) -> None:
    task = replace(loaded("mbpp", tmp_path), programs=None)
    with pytest.raises(Exception, match="programs of models are not run here, so they cannot be graded"):
        task.grade("901", "def shared(a, b): pass")
    assert task.grade("901", None) == 0.0
    assert (
        task.reader(task.item("901").question).lenient("```python\ndef shared(a, b): return 1 / 0\n```").value
        is not None
    )


@pytest.mark.sandboxed
def test_pass_at_k_grades_each_sample_by_its_own_tests(tmp_path: Path) -> None:
    """The samples do the same on the examples, so they are one answer of the debate; one of two passes the tests."""
    path = tmp_path / "own.jsonl"
    row = {"id": "q1", "question": "Write absolute(x), such as absolute(3).", "answer": "assert absolute(-3) == 3"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    task = replace(load(Dataset("own", path=str(path), kind="code")), programs=ProgramRuns())
    texts = ("def absolute(x):\n    return x", "def absolute(x):\n    return x if x > 0 else -x")
    debate = made([{f"a{k}": texts[0] for k in range(2)}])
    turns = [
        replace(turn, speaker="a0", text=f"```python\n{text}\n```")
        for turn, text in zip(debate.turns, texts, strict=True)
    ]
    record = Record(Header("tried", "own", "sampled", 1), replace(debate, question_id="q1", turns=tuple(turns)))
    assert task.reader(task.questions[0]).same(*texts)
    plan = SimpleNamespace(named_metrics=("pass_at_1", "pass_at_2", "pass_all_2"))
    rows: list[Row] = [{}]
    grade_samples(cast(Plan, plan), task, [record], rows, task.grade)
    assert {name: rows[0][name] for name in plan.named_metrics} == {
        "pass_at_1": 0.5,
        "pass_at_2": 1.0,
        "pass_all_2": 0.0,
    }
