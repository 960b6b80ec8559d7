"""`cortexdsl check`: say at once what is wrong in a spec, and where; nothing is spent.

With `--online` each model is asked a few small questions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from cortexdsl.cli.specs.dataset_lines import dataset_lines, unpinned
from cortexdsl.cli.specs.online import ask_models
from cortexdsl.errors import InputError, Problem, SpecError
from cortexdsl.plan import Plan
from cortexdsl.plan.compiler import Judged, judge
from cortexdsl.plan.cost.effects import ineffective
from cortexdsl.plan.cost.raced import unclaimed
from cortexdsl.plan.cost.rehearse import misrendered
from cortexdsl.plan.cost.trial import unreadable
from cortexdsl.plan.parts.tools import functions_of
from cortexdsl.serve import unset_keys, unset_variables
from cortexdsl.spec.load import Spec

MANY_JOBS = 3_000  # the greedy scheduler took 45 s for so many, and 356 s for 10,000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", nargs="+", help="one spec or several")
    parser.add_argument("--json", action="store_true", help="one JSON object a line: level, where, what, remedy")
    parser.add_argument(
        "--online",
        action="store_true",
        help="also ask each model four small questions: is it there, does it hold to seeds",
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb: 0 where every spec can run, 2 where one is wrong."""
    status = 0
    for spec in args.spec:
        judged = _judged(spec)
        _show(judged.problems, "error", is_json=args.json)
        if judged.plan is None or judged.spec is None:
            status = 2
            continue
        plan = judged.plan
        _show([*_warnings(plan), *ineffective(judged), *unclaimed(plan, judged.spec)], "warning", is_json=args.json)
        if judged.spec is not None:
            _show(list(unpinned(judged.spec, plan.tasks)), "warning", is_json=args.json)
            _show_datasets(judged.spec, plan, is_json=args.json)
        if not args.json:
            cells, claims = _counted(len(plan.cells), "cell"), _counted(len(plan.hypotheses), "claim")
            unset = unset_variables(plan)
            when = f" once the environment has {', '.join(unset)}" if unset else ""
            print(f"{spec}: {cells}, {claims}; it can run{when}")
        if args.online and not ask_models(plan, is_json=args.json):
            status = 1
    return status


def _judged(spec: str) -> Judged:
    """Judge a spec, and render every prompt of it on real questions."""
    try:
        judged = judge(spec)
        return judged.with_problems(misrendered(judged))
    except SpecError as error:
        return Judged(None, None, error.problems)
    except InputError as error:  # no such spec
        what, _, remedy = str(error).partition("\n")
        return Judged(None, None, (Problem(spec, what.removeprefix(f"{spec}: "), remedy.strip()),))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _warnings(plan: Plan) -> list[Problem]:
    steps = [step for cell in plan.cells for step in cell.debate.steps.values()]
    prompts = dict.fromkeys(prompt for step in steps for prompt in step.prompts)
    found = [problem for prompt in prompts for problem in plan.templates.single_braces(prompt)]
    for name in dict.fromkeys(name for cell in plan.cells for name in functions_of(cell.debate)):
        remedy = f"read it; to run, say --trust {name}, or --config trust={name} to snakemake"
        found.append(Problem(plan.spec_path, f"a tool calls {name}, which is code that runs on this machine", remedy))
    for model, unset in unset_keys(plan):
        what = (
            f"model {model.name} ({model.model}) needs {' or '.join((unset.variable, *unset.others))}, which is not set"
        )
        elsewhere = "" if unset.is_needed else ", unless the key is in a file or comes from this machine"
        found.append(Problem(plan.spec_path, what, f"before the run: export {unset.variable}=...{elsewhere}"))
    found += _unmeasurable(plan)
    found += unreadable(plan)
    if plan.jobs > MANY_JOBS:
        remedy = "Snakemake takes minutes to schedule so many: use a larger shard_size, or fewer replicates or cells"
        found.append(Problem(plan.spec_path, f"{plan.jobs:,} debate jobs", remedy))
    return found


_ONLY_SHORT = {
    "logprob": "no tokens spell a free text, so its confidence is empty",
    "consistency": "further replies are no free text a second time, so its confidence is 0",
}


def _unmeasurable(plan: Plan) -> Iterator[Problem]:
    """Yield what asks for the confidence of free texts by a measure that compares answers or looks for their place."""
    sources = dict.fromkeys((cell.debate.confidence.source, cell.method) for cell in plan.cells)
    for task in plan.tasks.values():
        free = sum(item.kind == "free" for item in task.items)
        for source, method in sources:
            if free and source in _ONLY_SHORT:
                asked = f"{free:,} of {len(task.items):,} questions of {task.label} ask for free texts"
                what = f"{method}: confidence: {source}, and {asked}: {_ONLY_SHORT[source]}"
                yield Problem(plan.spec_path, what, "use verifier or stated there, or another dataset")


def _show_datasets(spec: Spec, plan: Plan, *, is_json: bool) -> None:
    """Print how each dataset was understood."""
    for line in dataset_lines(spec, plan.tasks):
        if is_json:
            found = {"level": "dataset", "where": spec.where(line.route), "what": line.head(), "remedy": ""}
            print(json.dumps(found | line.record()))
        else:
            print(line.text())


def _show(problems: Sequence[Problem], level: str, *, is_json: bool) -> None:
    for problem in problems:
        if is_json:
            line = {"level": level, "where": problem.where, "what": problem.what, "remedy": problem.remedy}
            print(json.dumps(line))
        else:
            print(f"{level}: {problem}", file=sys.stderr)
