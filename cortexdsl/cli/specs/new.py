"""`cortexdsl new`: write a new spec to start from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.plan.asked import SPECS, check_name
from cortexdsl.spec.schema import json_schema
from cortexdsl.watch.command import workflow_folder

SCHEMA = "spec.schema.json"

STARTER = """\
# yaml-language-server: $schema={schema}
title: Does debate beat as many samples of one agent?
seed: 1
replicates: 1
dataset: {name: arithmetic, size: 20}       # or {file: my.csv}; cortexdsl data list: others

models:                                     # any litellm model: {model: openai/NAME, api_base: env:MY_URL}
  weak:   {model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.7, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: first, model: weak}
  - {name: second, model: weak}
  - {name: third, model: strong}

methods:
  debate:  {protocol: cortexdebate, rounds: 2}
  matched: {protocol: self-consistency, agents: [third], match: {calls: debate}}

analysis:
  families:
    main: {compare: [matched], to: debate}
hypotheses:
  - accuracy(debate) > accuracy(matched)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("name", help="name of the experiment; writes specs/NAME.yaml")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    name = args.name.removeprefix("specs/").removesuffix(".yaml")
    check_name(name)
    path = SPECS / f"{name}.yaml"
    if path.exists():
        raise InputError(f"{path} exists already\n    choose another name, or edit it")
    path.parent.mkdir(parents=True, exist_ok=True)
    is_checkout = Path("Snakefile").exists() and workflow_folder().samefile(".")
    text = STARTER.replace("{schema}", _schema_beside(path, is_checkout=is_checkout))
    path.write_text(text, encoding="utf-8")
    then = f"snakemake --cores 2 --config spec={name}" if is_checkout else f"cortexdsl run {name}"
    print(f"wrote {path}\n    next: cortexdsl check {path}, then {then}")
    return 0


def _schema_beside(spec: Path, *, is_checkout: bool) -> str:
    """Return where an editor finds the schema, seen from the spec: the checkout's, or a copy that is written here."""
    up = "../" * (len(spec.parent.parts) - 1)
    if is_checkout:
        return f"{up}../docs/schema/spec.json"
    text = json.dumps(json_schema("spec"), indent=1, ensure_ascii=False) + "\n"
    (SPECS / SCHEMA).write_text(text, encoding="utf-8")
    return f"{up}{SCHEMA}"
