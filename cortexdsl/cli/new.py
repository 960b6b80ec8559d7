"""`cortexdsl new`: write a new spec to start from."""

from __future__ import annotations

import argparse

from cortexdsl.errors import InputError
from cortexdsl.plan.compiler import SPECS, check_name

STARTER = """\
# yaml-language-server: $schema=../docs/schema/spec.json
title: Does debate beat as many samples of one agent?
seed: 1
replicates: 1
dataset: {name: arithmetic, size: 20}       # cortexdsl data list: what else there is

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
    to_docs = "../" * len(path.parent.parts) + "docs"
    path.write_text(STARTER.replace("../docs", to_docs), encoding="utf-8")
    print(f"wrote {path}\n    next: cortexdsl check {path}, then snakemake --cores 2 --config spec={name}")
    return 0
