"""`cortexdsl check`: say at once what is wrong in a spec, and where; nothing is spent."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from cortexdsl.errors import Problem, SpecError
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.rehearse import rehearse_plan
from cortexdsl.protocols.templates import Templates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", nargs="+", help="one spec or several")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line: where, what, remedy")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 0 where every spec can run, 2 where one is wrong."""
    status = 0
    for spec in args.spec:
        try:
            plan = compile_spec(spec)
            rehearse_plan(plan)  # renders every prompt on real questions
        except SpecError as error:
            status = 2
            _show(error.problems, "error", is_json=args.json)
            continue
        _show(_warnings(plan), "warning", is_json=args.json)
        if not args.json:
            print(f"{spec}: {len(plan.cells)} cells, {len(plan.hypotheses)} claims; it can run")
    return status


def _warnings(plan: Plan) -> list[Problem]:
    templates = Templates(plan.prompt_folders)
    prompts = {step.prompt: None for cell in plan.cells for step in cell.debate.steps.values()}
    return [problem for prompt in prompts for problem in templates.single_braces(prompt)]


def _show(problems: Sequence[Problem], level: str, *, is_json: bool) -> None:
    for problem in problems:
        if is_json:
            line = {"level": level, "where": problem.where, "what": problem.what, "remedy": problem.remedy}
            print(json.dumps(line))
        else:
            print(f"{level}: {problem}", file=sys.stderr)
