"""Verbs for specs and protocols: `new`, `explain`, `compile`, `schema`; and `completion`, for the shell."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import shtab

from cortexdsl.cli import verbs
from cortexdsl.core import Agent, Cell, Method, Model
from cortexdsl.display.launch import workflow_folder
from cortexdsl.engine.methods import with_samples
from cortexdsl.errors import InputError, nearest
from cortexdsl.jobs.options import FLAG, REPEATABLE, VerbParser
from cortexdsl.language.grammar.experiment import json_schema
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.nodes import Mark, Node
from cortexdsl.language.protocol.loader import builtin_names, load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.compiled_workflow import workflow_text
from cortexdsl.plan.layout import SPECS, check_name, spec_path
from cortexdsl.plan.rehearsal.explain import calls_of, explain, rehearse_example
from cortexdsl.templates.templates import Templates

SCHEMA_FILE = "spec.schema.json"

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
  - {name: ann, model: weak}
  - {name: bob, model: weak}
  - {name: cai, model: weak}
  - {name: dee, model: strong}

methods:
  debate:  {protocol: debate, rounds: 2}
  matched: {protocol: self-consistency, agents: [dee], budget: calls(debate)}

analysis:
  families:
    main: {compare: [matched], to: debate}
hypotheses:
  - accuracy(debate) > accuracy(matched)
"""


def add_new_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("name", "the name of the experiment. The spec is written to specs/NAME.yaml")


def run_new(args: argparse.Namespace) -> int:
    """Run the verb."""
    name = args.name.removeprefix("specs/").removesuffix(".yaml")
    check_name(name)
    path = SPECS / f"{name}.yaml"
    if path.exists():
        raise InputError(f"{path} exists already\n    choose another name, or edit it")
    path.parent.mkdir(parents=True, exist_ok=True)
    is_checkout = Path("Snakefile").exists() and workflow_folder().samefile(".")
    text = STARTER.replace("{schema}", _schema_for(path, is_checkout=is_checkout))
    path.write_text(text, encoding="utf-8")
    then = f"snakemake --cores 2 --config spec={name}" if is_checkout else f"cortexdsl run {name}"
    print(f"wrote {path}\n    next: cortexdsl check {path}, then {then}")
    return 0


def _schema_for(spec: Path, *, is_checkout: bool) -> str:
    """Return the path from the spec to the schema, for editors: the checkout's file, or a copy that is written."""
    up = "../" * (len(spec.parent.parts) - 1)
    if is_checkout:
        return f"{up}../docs/schema/spec.json"
    text = json.dumps(json_schema("spec"), indent=1, ensure_ascii=False) + "\n"
    (SPECS / SCHEMA_FILE).write_text(text, encoding="utf-8")
    return f"{up}{SCHEMA_FILE}"


def add_explain_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("what", "a built-in protocol, or a spec; without it, the protocols are listed", nargs="?")
    parser.add("method", "with a spec: one of its methods or cells", nargs="?")
    parser.add("--agents", "with a built-in protocol: the number of agents (default: 4)", type=int)
    parser.add("--set", "with a built-in protocol: a setting; repeatable", metavar="NAME=VALUE", **REPEATABLE)
    parser.add("--prompts", "print the templates of its prompts instead, to copy and change them", **FLAG)


def run_explain(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.what is None:
        width = max(map(len, builtin_names()))
        print("\n".join(f"{name:<{width}}  {load_protocol(name).text.title}" for name in builtin_names()))
        return 0
    if args.method or args.what not in builtin_names():
        if args.set or args.agents is not None:
            given = "--set" if args.set else "--agents"
            raise InputError(
                f"{given} is for built-in protocols; a spec has settings and agents of its own\n"
                f"    change {args.what}, or explain the protocol: cortexdsl explain PROTOCOL {given} ..."
            )
        plan = compile_spec(_spec_of(args.what))
        cells = [plan.cell_named(args.method)] if args.method else plan.cells
        if args.prompts:
            print(_prompts([cell.debate for cell in cells], plan.templates))
        else:
            print("\n\n".join(f"# {cell.name}\n{_explanation(plan, cell)}" for cell in cells))
        return 0
    # An example model: weights that use credibility need parameters and tokens.
    model = Model("example", "builtin/solver", parameters=1e9, tokens=1e12)
    tools = {"library": Model("library", "tool/search")}  # as shipped protocols call theirs
    count = 4 if args.agents is None else max(1, args.agents)
    agents = {f"agent-{k}": Agent(f"agent-{k}", model) for k in range(1, count + 1)}
    settings = dict(map(_setting, args.set))
    choice = MethodChoice(
        "--set", Node(settings, Mark("--set", 1, 1)), tuple(agents.values()), agents, {"example": model}, tools
    )
    debate = resolve(load_protocol(args.what), choice)
    print(_prompts([debate], Templates()) if args.prompts else explain(debate, templates=Templates()))
    return 0


def _prompts(debates: Iterable[Method], templates: Templates) -> str:
    """Return the templates of the steps of some methods, each once with its file before it as a comment of Jinja."""
    steps = (step for debate in debates for step in debate.steps.values())
    sources = templates.sources(prompt for step in steps for prompt in step.prompts)
    return "\n\n".join(f"{{# prompts/{name} #}}\n{text.rstrip()}" for name, text in sources.items())


def _spec_of(name: str) -> str:
    """Return the path of a spec.

    Raises
    ------
    InputError
        There is neither a spec nor a built-in protocol of that name.
    """
    try:
        return spec_path(name).as_posix()
    except InputError as error:
        if name in builtin_names():
            raise InputError(f"{name} is a protocol, and only a spec has methods\n    name the spec") from None
        raise InputError(f"{error}\n    {nearest(name, builtin_names(), say='built-in protocols')}") from None


def _explanation(plan: Plan, cell: Cell) -> str:
    """Explain a cell; with `match` it has as many draws as the longest debate of the other cell has calls."""
    budget, method, draws = plan.budget_of(cell), cell.debate, ""
    if budget is not None and cell.match is not None and cell.match.grow:
        draws = f"{cell.match.grow} grows to the {cell.match.unit} of {budget.name}"
    elif budget is not None and cell.match is not None:
        method = with_samples(method, max(1, calls_of(rehearse_example(budget.debate))))
        draws = f"as the {cell.match.unit} of {budget.name} allow, question by question; here for its longest debate"
    return explain(method, samples=draws, templates=plan.templates)


def _setting(text: str) -> tuple[str, Node]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text}: write NAME=VALUE, such as --set rounds=2")
    return name, parse(f"value: {value}", "--set").mapping()["value"]


def add_compile_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("spec", "the spec")


def run_compile(args: argparse.Namespace) -> int:
    """Run the verb."""
    print(workflow_text(compile_spec(args.spec)), end="")
    return 0


def add_schema_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("kind", "which schema (default: spec)", nargs="?", choices=("spec", "protocol"), default="spec")
    parser.add("--out", "write the schema to this file. Editors use it if the first line of a spec names it", type=Path)


def run_schema(args: argparse.Namespace) -> int:
    """Run the verb."""
    text = json.dumps(json_schema(args.kind), indent=1, ensure_ascii=False) + "\n"
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


SHELLS = ("bash", "zsh", "fish")

_FILES = {"spec", "experiment", "results", "place"}
"""Arguments that name a file or a folder: a spec, or the results of an experiment."""


def add_completion_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("shell", "the shell. docs/run.md says where the script goes", choices=SHELLS)


def run_completion(args: argparse.Namespace) -> int:
    """Run the verb."""
    parser = verbs.parser_of(verbs.VERBS)
    _mark(parser)
    print(shtab.complete(parser, args.shell))
    return 0


def _mark(parser: argparse.ArgumentParser) -> None:
    """Have every argument that names a file or a folder completed by the shell."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _mark(each)
        elif action.type is Path or (action.dest in _FILES and not action.option_strings):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
