"""Bad specs, as people write them: all that is wrong in a stage is told in one go, in its place, with a remedy.

`bad_specs.yaml` holds them. A case changes the small spec of `sheets.py`, or adds lines to it; `^` marks the places
that are told, and `tells` says in their order what is told of each: `what | remedy`. Places in files beside the spec
come after those of the spec. Mistakes of a later stage are told once those before are mended: `later` says how they are
mended, and marks what is told then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cortexdsl.cli.main import main
from cortexdsl.errors import Problem, SpecError
from cortexdsl.plan.compiler import validate_experiment
from cortexdsl.plan.forecast.cost import template_problems
from tests.language.sheets import SMALL

CASES: list[dict[str, Any]] = yaml.load(
    (Path(__file__).parent / "bad_specs.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)


OWN = """\
dataset: {name: arithmetic, size: 3}
models:
  small: {model: builtin/solver, skill: 0.5}
agents: [{name: ann, model: small}, {name: bob, model: small}, {name: cai, model: small}, {name: dee, model: small}]
tools: {calc: {tool: calculator}}
methods: {own: {protocol: own}}
protocols:
  own:
    settings: {rounds: 2}
    roles: {debater: everyone, picked: everyone, judge: extra, helper: {tool: calc}}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      help: {role: helper, each: listener, hears: self, reads: summary, prompt: drag/search.j2}
      rate: {role: debater, each: edge, hears: everyone, reads: review, prompt: peer-review/review.j2}
      revise: {role: picked, hears: {where: differs}, shows: [last, {step: rate}],
               memory: last, prompt: multi-llm/revise.j2}
      judge: {role: judge, hears: debater, reads: [answer, verdict], prompt: mad-judge/judge.j2}
    schedule:
      - answer
      - repeat: $rounds
        until: agreement >= 0.8
        do:
          - help
          - rate
          - {choose: picked, from: debater, weight: mean_score, keep: {top: 2}}
          - revise
          - judge
    decide: {vote: last * (1 + confidence)}
"""


def told(path: Path) -> tuple[Problem, ...]:
    """Return what `check` tells of a spec."""
    try:
        judged = validate_experiment(str(path))
        return judged.with_problems(template_problems(judged)).problems
    except SpecError as error:
        return error.problems


def written(folder: Path, case: dict[str, Any]) -> list[str]:
    """Write the files of a case, and return the marked places."""
    text = case.get("spec", OWN if "own" in case else SMALL)
    for old, new in {**case.get("own", {}), **case.get("change", {})}.items():
        assert old in text
        text = text.replace(old, new)
    files = {"spec.yaml": text + case.get("add", ""), **case.get("beside", {})}
    return stripped(folder, files)


def stripped(folder: Path, files: dict[str, str]) -> list[str]:
    """Write files without their marks, and return the marked places."""
    places = []
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        for number, line in enumerate(content.splitlines(), 1):
            columns = [i for i, letter in enumerate(line) if letter == "^"]
            places += [f"{path}:{number}:{column - k + 1}" for k, column in enumerate(columns)]
        path.write_bytes(content.replace("^", "").encode())
    return places


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_everything_wrong_is_told_at_once_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]
) -> None:
    """Each problem is at a mark and says what is wrong and what to do; what only follows from it is not told."""
    monkeypatch.delenv("NOT_SET", raising=False)
    places = written(tmp_path, case)
    assert_told(tmp_path, places, case["tells"])
    names = ["spec.yaml", *case.get("beside", {})]
    for stage in case.get("later", ()):
        files = {name: (tmp_path / name).read_bytes().decode() for name in names}
        for old, new in stage["mend"].items():
            assert sum(old in text for text in files.values()) == 1, old
            files = {name: text.replace(old, new) for name, text in files.items()}
        assert_told(tmp_path, stripped(tmp_path, files), stage["tells"])


def assert_told(folder: Path, places: list[str], tells: list[str]) -> None:
    """Check what is told of the spec in a folder."""
    found = told(folder / "spec.yaml")
    shown = "\n".join(map(str, found))
    assert [problem.where for problem in found] == places, shown
    for problem, said in zip(found, tells, strict=True):
        what, _, remedy = (part.strip() for part in said.partition("|"))
        assert what in problem.what, shown
        assert remedy in problem.remedy, shown
        assert problem.remedy, shown
        assert "Traceback" not in str(problem)
        assert len(problem.what) < 400


def test_a_case_is_written_once() -> None:
    """76 and more, each another mistake."""
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
    assert len(names) > 76


def test_check_ends_with_2_and_shows_them_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two mistakes of one stage are two errors of one run of `check`."""
    case = next(case for case in CASES if case["name"] == "limits of nothing")
    written(tmp_path, case)
    assert main(["check", str(tmp_path / "spec.yaml")]) == 2
    assert capsys.readouterr().err.count("error: ") == len(case["tells"])
