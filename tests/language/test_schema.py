"""The JSON Schema says what the checker says, as far as one section can."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from cortexdsl.cli.main import main
from cortexdsl.language.grammar.experiment import DIALECT, json_schema
from cortexdsl.language.reader import parse, read
from tests.language.sheets import SMALL
from tests.tracked import tracked

SPEC = jsonschema.Draft202012Validator(json_schema("spec"))
PROTOCOL = jsonschema.Draft202012Validator(json_schema("protocol"))


def test_both_are_schemas_of_the_dialect() -> None:
    for validator in (SPEC, PROTOCOL):
        jsonschema.Draft202012Validator.check_schema(validator.schema)
        assert validator.schema["$schema"] == DIALECT


def test_right_specs_and_protocols_are_valid(repository: Path) -> None:
    SPEC.validate(parse(SMALL, "s").plain())
    SPEC.validate({"extends": "_parts.yaml", "title": "parts hold the rest"})
    for path in tracked("specs", "*.yaml"):
        SPEC.validate(read(path).plain()) if not path.name.startswith("_") else None
    for path in (repository / "cortexdsl" / "protocols").glob("*/*.yaml"):
        PROTOCOL.validate(read(path).plain())


@pytest.mark.parametrize(
    "wrong",
    [
        {"titel": "x"},
        {"replicates": 0},
        {"replicates": True},
        {"seed": "7"},
        {"agents": []},
        {"limits": {"calls": -1}},
        {"models": {"a": {"model": "x", "temprature": 1}}},
        {"methods": {"m": {"protocol": "x", "budget": {"calls": "y"}}}},
        {"grid": {"m": {"keep": "mean"}}},
        {"shard_size": "atuo"},
    ],
)
def test_wrong_specs_are_not(wrong: dict[str, object]) -> None:
    assert not SPEC.is_valid({**parse(SMALL, "s").plain(), **wrong})


@pytest.mark.parametrize("hears", [5, {"ring": 0}, {"rnig": 1}, {"sparse": {"weight": "confidence"}}, {"random": 2}])
def test_wrong_protocols_are_not(hears: object) -> None:
    steps = {"a": {"role": "debater", "prompt": "a.j2", "hears": hears}}
    assert not PROTOCOL.is_valid({"steps": steps, "schedule": ["a"], "decide": "first"})


@pytest.mark.parametrize(
    "prompt", ["a.j2", {"say": "a.j2"}, ["a.j2", {"say": "b.j2"}], {"say": "a.j2", "else": "b.j2"}]
)
def test_a_prompt_may_look_like_two_of_its_forms(prompt: object) -> None:
    steps = {"a": {"role": "debater", "prompt": prompt}}
    PROTOCOL.validate({"steps": steps, "schedule": ["a"], "decide": "first"})


def test_the_verb_prints_or_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema("spec")
    assert main(["schema", "protocol", "--out", str(tmp_path / "p.json")]) == 0
    assert json.loads((tmp_path / "p.json").read_text(encoding="utf-8")) == json_schema("protocol")
