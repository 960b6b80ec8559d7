"""compiled.json: jobs get the plan that the workflow compiled, without the spec and without the language."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from cortexdsl.cli.verbs import run
from cortexdsl.errors import InputError, RecordError
from cortexdsl.plan.compiled import check_cell, read_compiled, write_compiled
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import debate_digest, score_digest
from cortexdsl.plan.persistence.declaration import declaration_of

ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
seed: 1
dataset: {name: arithmetic, size: 2}
models: {m: {model: builtin/solver, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{name: a, model: m}, {name: b, model: m}]
methods: {one: {protocol: cortexdebate, prompts: {revise: my/revise.j2}}}
"""
PROMPT = "{% include 'common/heard.j2' %} {{ question.text }} {{ answer_format }}"
JOB = ["--experiment", "kept", "--dataset", "arithmetic", "--cell", "one"]
DEBATE = ["debate", "specs/kept.yaml", *JOB, "--shard", "r1-s01", "--out", "results/kept/out.jsonl"]
LANGUAGE = """\
import sys
from cortexdsl.cli.verbs import run
status = run({arguments})
print(status, [name for name in sys.modules if name.startswith("cortexdsl.language")])
"""


def written(name: str, experiment: str) -> Plan:
    plan = compile_spec(name, experiment)
    Path(plan.layout.root).mkdir(parents=True)
    write_compiled(plan)
    return plan


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "prompts" / "my").mkdir(parents=True)
    (tmp_path / "specs" / "kept.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "prompts" / "my" / "revise.j2").write_text(PROMPT, encoding="utf-8")
    return written("kept", "kept")


@pytest.mark.parametrize("name", ["quickstart", "worth", *(f"examples/{n}" for n in ("madke", "ways", "ten"))])
def test_a_loaded_plan_is_the_plan_that_was_compiled(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Field by field, and by every digest that a rule names."""
    monkeypatch.chdir(tmp_path)
    plan = written(str(ROOT / "specs" / f"{name}.yaml"), "loaded")
    loaded = read_compiled(plan.layout)
    assert loaded.cells == plan.cells
    for own in fields(Plan):
        if own.name not in ("templates", "tasks", "servers", "datasets", "analysis"):
            assert getattr(loaded, own.name) == getattr(plan, own.name), own.name
    assert loaded.digest == plan.digest
    for cell in loaded.cells:
        check_cell(loaded, cell)
        for dataset, shards in plan.shards.items():
            assert score_digest(loaded, dataset, cell.slug) == score_digest(plan, dataset, cell.slug)
            shard = dataset, cell.slug, shards[0].label
            assert debate_digest(loaded, *shard) == debate_digest(plan, *shard)


@pytest.mark.parametrize("job", [DEBATE, ["score", "specs/kept.yaml", *JOB]], ids=["debate", "score"])
def test_a_job_imports_nothing_of_the_language(kept: Plan, job: list[str]) -> None:
    """The spec could even be gone: the plan has everything but the questions and the prompts."""
    assert run([*DEBATE[:-1], kept.layout.debates("arithmetic", "one", "r1-s01")]) == 0
    Path("specs/kept.yaml").unlink()
    command = [sys.executable, "-c", LANGUAGE.format(arguments=job)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


def test_a_prompt_that_is_edited_after_the_plan_was_compiled_is_refused(kept: Plan) -> None:
    """Its debates would not be those that their digest names."""
    Path("prompts/my/revise.j2").write_text(f"other {PROMPT}", encoding="utf-8")
    loaded = read_compiled(kept.layout)
    with pytest.raises(InputError, match=r"specs/kept.yaml has changed since the workflow started: one\n.*start snake"):
        check_cell(loaded, loaded.cells[0])


def test_a_method_that_is_edited_in_the_file_is_refused(kept: Plan) -> None:
    path = Path(kept.layout.compiled)
    record = json.loads(path.read_text())
    record["cells"][0]["debate"]["similarity"] = "tfidf"
    path.write_text(json.dumps(record))
    loaded = read_compiled(kept.layout)
    with pytest.raises(InputError, match="has changed since the workflow started: one"):
        check_cell(loaded, loaded.cells[0])


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        ({"schema_version": 99}, "schema_version is 99"),
        ({"seed": "one"}, "seed is a string, not an integer"),
        ({"cells": [{"name": "one"}]}, r"cells\[0\].slug is missing"),
        ({"limits": []}, "limits is a list, not an object"),
        ({"templates": "prompts"}, "templates is a string, not a list"),
    ],
)
def test_a_file_that_is_no_compiled_plan_is_refused(kept: Plan, edit: dict[str, object], what: str) -> None:
    path = Path(kept.layout.compiled)
    path.write_text(json.dumps({**json.loads(path.read_text()), **edit}))
    with pytest.raises(RecordError, match=rf"compiled.json: .*{what}.*\n    start the workflow"):
        read_compiled(kept.layout)


def test_a_plan_is_read_once_while_its_file_stays(kept: Plan) -> None:
    """Jobs of one process share it, with the questions and the templates that they loaded."""
    first = read_compiled(kept.layout)
    assert read_compiled(kept.layout) is first
    Path(kept.layout.compiled).unlink()
    write_compiled(kept)
    assert read_compiled(kept.layout) is not first


def test_an_experiment_that_trains_has_no_compiled_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not the one of an earlier edition of the spec, which did not train."""
    monkeypatch.chdir(tmp_path)
    plan = compile_spec(str(ROOT / "specs" / "examples" / "learning.yaml"), "loaded")
    path = Path(plan.layout.compiled)
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    write_compiled(plan)
    assert not path.exists()


def test_a_job_declares_without_reading_the_data(kept: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """A debate job needs the questions of one dataset, and declares the digests of all."""
    loaded = read_compiled(kept.layout)
    monkeypatch.setattr("cortexdsl.plan.compiled.load", lambda dataset: pytest.fail(f"read {dataset.label}"))
    assert declaration_of(loaded) == declaration_of(kept)
    assert declaration_of(kept)["datasets"]["arithmetic"]["questions"] == 2
