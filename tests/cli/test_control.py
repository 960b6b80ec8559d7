"""`pause`, `resume` and `limit` change what a run obeys, say so, and leave it in the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Limits, Rate, RateLimit
from cortexdsl.jobs.serve import lines_in_force
from cortexdsl.models.control import read_controls
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import declaration_of
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import declare
from tests.display.made import said, write

SPEC = """title: x
dataset: {name: arithmetic, size: 2}
models:
  gpt: {model: direct/m, api_base: 'http://127.0.0.1:9/v1', rate: [500/min, 200k tokens/min]}
  other: {model: direct/n, api_base: 'http://127.0.0.1:9/v1'}
  own: {model: direct/o, api_base: 'http://127.0.0.1:9/v1', rate: [10/min, 250/day]}
  here: {model: builtin/solver, skill: 0.5}
agents: [{name: a, model: gpt}, {name: b, model: other}, {name: c, model: own}, {name: d, model: here}]
methods: {v: {protocol: voting}}
limits: {calls: 100, dollars: 5}
"""
PRICED = "price: {input: 1, output: 2}, api_base"
SPENT = Path("results/e/spent")


@pytest.fixture(autouse=True)
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment that is declared and has not begun."""
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/e.yaml").write_text(SPEC.replace("api_base", PRICED))
    plan = compile_spec("specs/e.yaml", "e")
    declare(plan.layout, declaration_of(plan))


def entries() -> list[str]:
    return ["; ".join(entry.said) for entry in read_journal(Layout("results/e")).entries if entry.kind == "control"]


def test_each_model_has_the_rate_of_its_entry() -> None:
    models = compile_spec("specs/e.yaml", "e").models
    assert models["gpt"].rate == Rate((RateLimit(500, 60.0),), (RateLimit(200_000, 60.0),))
    assert models["own"].rate == Rate((RateLimit(10, 60.0), RateLimit(250, 86_400.0)))
    assert models["other"].rate is models["here"].rate is None


def test_a_pause_is_kept_and_shown_until_it_is_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    write(SPENT, said("v"))
    assert main(["pause", "e", "--why", "the  server is needed"]) == 0
    assert "no run is in progress; the next one waits" in capsys.readouterr().out
    assert main(["pause", "specs/e.yaml"]) == 0
    assert "e: paused already" in capsys.readouterr().out
    main(["status", "e"])
    assert "(the server is needed); continue: cortexdsl resume e" in " ".join(capsys.readouterr().out.split())
    main(["status", "e", "--json"])
    assert json.loads(capsys.readouterr().out)["paused"]["why"] == "the server is needed"
    assert main(["resume", "results/e"]) == 0
    assert "no run is in progress; start one: cortexdsl run e" in capsys.readouterr().out
    assert main(["resume", "e"]) == 0
    assert capsys.readouterr().out == "e: not paused\n"
    assert [line.partition(" by ")[0] for line in entries()] == ["paused", "resumed"]
    ledger = read_journal(Layout("results/e"))
    assert (ledger.faults, ledger.verdict_seal) == ((), ledger.declarations[-1].seal)
    assert not (SPENT / ".control").exists()


def test_limits_are_changed_and_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limit", "e", "--dollars", "2.5", "--calls", "4"]) == 0
    plan = compile_spec("specs/e.yaml", "e")
    controls = read_controls(SPENT)
    assert controls.applied(plan.limits) == Limits(calls=4, dollars=2.5)
    assert "dollars 2.5, and not 5 as in the spec" in capsys.readouterr().out
    (line,) = entries()
    assert "calls 4, before 100; dollars 2.5, before 5" in line
    assert main(["limit", "e", "--dollars", "5"]) == 0
    assert "dollars" not in read_controls(SPENT).limits
    assert main(["limit", "e", "--spec"]) == 0
    assert "the limits of the spec hold" in capsys.readouterr().out
    assert not (SPENT / ".control").exists()
    assert len(entries()) == 3


def test_a_change_holds_also_after_an_edit_of_the_spec(capsys: pytest.CaptureFixture[str]) -> None:
    main(["limit", "e", "--dollars", "2"])
    Path("specs/e.yaml").write_text(SPEC.replace("api_base", PRICED).replace("dollars: 5", "dollars: 8"))
    capsys.readouterr()
    main(["limit", "e"])
    assert "dollars 2, and not 8 as in the spec" in capsys.readouterr().out
    plan = compile_spec("specs/e.yaml", "e")
    assert lines_in_force([plan]) == ["e: dollars 2, and not 8 as in the spec"]
    assert read_controls(SPENT).applied(plan.limits) == Limits(calls=100, dollars=2.0)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--calls", "-1"], "this is not a limit"),
        (["--dollars", "nan"], "this is not a limit"),
        (["--spec", "--calls", "5"], "--spec goes alone"),
    ],
)
def test_mistakes_change_nothing(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limit", "e", *words]) == 2
    assert error in capsys.readouterr().err
    assert (entries(), (SPENT / ".control").exists()) == ([], False)


def test_an_experiment_that_is_nowhere_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pause", "f"]) == 2
    assert "there is no spec 'f'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rate", "error"),
    [
        ("500", "500 is not a rate\n    write a whole number and a unit"),
        ("5/week", "write a whole number and a unit"),
        ("0.5 tokens/s", "write a whole number and a unit"),
        ("[5/s, 6/s]", "two rates have the same unit"),
        ("[]", "rate"),
        ("{requests: [5/s, 250/day], tokens: 200k/min, per: key}", "write rate: [5/s, 250/day, 200k tokens/min]"),
    ],
)
def test_a_wrong_rate_is_an_error_in_its_place(rate: str, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = SPEC.replace("direct/n,", "direct/n, rate: [500/min, 200k tokens/min],")
    Path("x.yaml").write_text(text.replace("rate: [500/min, 200k tokens/min]}", f"rate: {rate}}}", 1))
    assert main(["check", "x.yaml"]) == 2
    assert error in capsys.readouterr().err


def test_the_new_words_change_no_digest() -> None:
    plain = SPEC.replace(", rate: [500/min, 200k tokens/min]", "").replace("api_base", PRICED)
    plain = plain.replace(", rate: [10/min, 250/day]", "")
    Path("plain.yaml").write_text(plain)
    more = plain.replace("direct/n,", "direct/n, timeout: 20 min,")
    Path("more.yaml").write_text(more)
    digests = [
        [cell.digest for cell in compile_spec(path).cells] for path in ("plain.yaml", "more.yaml", "specs/e.yaml")
    ]
    assert digests[0] == digests[1] == digests[2]
    assert compile_spec("plain.yaml").digest == compile_spec("more.yaml").digest


def test_status_and_check_name_what_replaces_the_spec(capsys: pytest.CaptureFixture[str]) -> None:
    write(SPENT, said("v"))
    assert main(["limit", "e", "--calls", "7", "--dollars", "3"]) == 0
    capsys.readouterr()
    main(["status", "e"])
    shown = capsys.readouterr().out
    main(["check", "specs/e.yaml"])
    checked = capsys.readouterr().out
    for out, begin in ((shown, "changed by `cortexdsl limit`: "), (checked, "    in force: ")):
        lines = [line for line in out.splitlines() if line.startswith(begin)]
        assert [line.removeprefix(begin).partition(",")[0] for line in lines] == ["calls 7", "dollars 3"]
