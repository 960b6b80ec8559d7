"""Verbs `check` (all mistakes of specs; no model is called except with `--online`) and `trust` (permit a spec)."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from cortexdsl.cli.data import dataset_lines, unpinned
from cortexdsl.errors import InputError, Problem, SpecError
from cortexdsl.jobs.options import FLAG, VerbParser
from cortexdsl.jobs.serve import unset_keys, unset_variables
from cortexdsl.models.probe import Probe, probe
from cortexdsl.numbers import counted
from cortexdsl.plan.compiler import Compilation, compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.validation import validate
from cortexdsl.plan.forecast.warnings import (
    cells_in_words,
    labels_of_own_turns,
    models_of,
    partial_judges,
    steps_that_show_nothing,
)
from cortexdsl.plan.jobs.consent import check_consent, forget, is_permitted, remember, request_of
from cortexdsl.plan.learned import fit_in_words
from cortexdsl.plan.persistence.controls import in_words
from cortexdsl.tasks.programs.sandbox import problem as sandbox_problem
from cortexdsl.text_layout import aligned

MANY_JOBS = 3_000  # the greedy scheduler took 45 s for so many, and 356 s for 10,000


def add_check_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("spec", "one spec or several", nargs="+")
    parser.add("--json", "print one JSON object per line: level, where, what, remedy", **FLAG)
    line = "also send each model small questions: does it exist, and give the same reply to the same seed?"
    parser.add("--online", line, **FLAG)


def run_check(args: argparse.Namespace) -> int:
    """Run the verb; the exit status is 0 if every spec can run, 2 if one is wrong, 1 if a model does not answer."""
    status = 0
    for spec in args.spec:
        validated = _validated(spec)
        say = partial(_say, is_json=args.json)
        for problem in validated.problems:
            say("error", problem)
        if validated.plan is None or validated.spec is None:
            status = 2
            continue
        plan, spec_read = validated.plan, validated.spec
        warnings = [*_warnings(plan), *partial_judges(plan, spec_read)]
        for problem in (*warnings, *unpinned(spec_read, plan.tasks)):
            say("warning", problem)
        for line in dataset_lines(spec_read, plan.tasks):
            say("dataset", Problem(spec_read.where(line.route), line.head()), line.text(), **line.record())
        for fitted in plan.learned:
            what = fit_in_words(fitted, sum(len(task.questions) for task in plan.tasks.values()))
            say("fit", Problem(plan.spec_path, what), what)
        _show_permissions(plan, is_json=args.json)
        if not args.json:
            claims = counted(len(plan.hypotheses), "claim")
            unset = unset_variables(plan)
            when = f" once the environment has {', '.join(unset)}" if unset else ""
            print(f"{spec}: {cells_in_words(plan)}, {claims}; it can run{when}")
            for words in in_words(plan):
                print(f"    in force: {words}")
        if args.online:
            check_consent(plan)
        if args.online and not ask_models(plan, is_json=args.json):
            status = 1
    return status


def _validated(spec: str) -> Compilation:
    """Validate a spec; a spec that cannot be read is one problem."""
    try:
        return validate(spec)
    except SpecError as error:
        return Compilation(None, None, error.problems)
    except InputError as error:  # the spec does not exist
        return Compilation(None, None, (Problem.of(spec, str(error).removeprefix(f"{spec}: ")),))


def _warnings(plan: Plan) -> list[Problem]:
    steps = [step for cell in plan.cells for step in cell.debate.steps.values()]
    prompts = dict.fromkeys(prompt for step in steps for prompt in step.prompts)
    problems = [problem for prompt in prompts for problem in plan.templates.single_braces(prompt)]
    for model, unset in unset_keys(plan):
        what = (
            f"model {model.name} ({model.model}) needs {' or '.join((unset.variable, *unset.others))}, which is not set"
        )
        elsewhere = "" if unset.is_needed else ", unless the key is in a file or comes from this machine"
        problems.append(Problem(plan.spec_path, what, f"before the run: export {unset.variable}=...{elsewhere}"))
    for warn in (
        labels_of_own_turns,
        _programs,
        _unmeasurable,
        _without_numbers,
        steps_that_show_nothing,
    ):
        problems += warn(plan)
    if plan.jobs > MANY_JOBS:
        remedy = "Snakemake takes minutes to schedule so many: use a larger shard_size, or fewer replicates or cells"
        problems.append(Problem(plan.spec_path, f"{plan.jobs:,} debate jobs", remedy))
    return problems


def _programs(plan: Plan) -> Iterator[Problem]:
    """Yield what keeps programs from being run, and questions whose programs cannot be compared by what they do."""
    for task in plan.tasks.values():
        frames = [item.frame for item in task.items if item.frame is not None]
        if frames and (reason := sandbox_problem()):
            yield Problem.of(plan.spec_path, f"{task.label}: {reason}")
        without = sum(not frame.examples for frame in frames)
        if without:
            what = f"{without:,} of {counted(len(frames), 'question')} of {task.label} have no example inputs"
            remedy = "their programs are one answer only if their text is: name a column with calls: examples: COLUMN"
            yield Problem(plan.spec_path, what, remedy)


_ONLY_SHORT = {
    "logprob": "no tokens spell a free text, so its confidence is empty",
    "consistency": "further replies are not the same free text again, so its confidence is 0",
}


def _unmeasurable(plan: Plan) -> Iterator[Problem]:
    """Yield methods that take the confidence of free texts from a measure that works only for short answers."""
    sources = dict.fromkeys((cell.debate.confidence.source, cell.method) for cell in plan.cells)
    for task in plan.tasks.values():
        free = sum(item.kind == "free" for item in task.items)
        for source, method in sources:
            if free and source in _ONLY_SHORT:
                free_texts = f"{free:,} of {counted(len(task.items), 'question')} of {task.label} ask for free texts"
                what = f"{method}: confidence: {source}, and {free_texts}: {_ONLY_SHORT[source]}"
                yield Problem(plan.spec_path, what, "use verifier or stated there, or another dataset")


_NO_NUMBERS = ("choice", "yesno", "free")
"""Kinds of answers that are not numbers."""


def _without_numbers(plan: Plan) -> Iterator[Problem]:
    """Yield methods that decide by numbers where the answers are options or free texts."""
    methods = dict.fromkeys(cell.method for cell in plan.cells if cell.debate.decide.rule == "trimmed")
    for task in plan.tasks.values():
        others = sum(item.kind in _NO_NUMBERS for item in task.items)
        for method in methods if others else ():
            what = (
                f"{method}: a median or mean decides, and the answers to {others:,} of {len(task.items):,} "
                f"questions of {task.label} are not numbers: these debates have no answer"
            )
            yield Problem(plan.spec_path, what, "write decide: majority there, or use another dataset")


def _show_permissions(plan: Plan, *, is_json: bool) -> None:
    """Print what a spec does beyond asking models of known providers."""
    request = request_of(plan)
    is_given = is_permitted(request)
    if request.permissions and not is_json:
        state = "you have permitted this" if is_given else "this needs your permission (`run` asks)"
        print(f"{plan.spec_path}: {state}, digest {request.digest}:")
    for one, words in zip(request.permissions, request.lines(), strict=True):
        remedy = "" if is_given else f"read it; if you agree: cortexdsl trust {request.name}"
        _say("permission", Problem(one.where, one.what, remedy), words, is_json=is_json)


def add_trust_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("spec", "one spec or several", nargs="+")
    parser.add("--forget", "take the permission back", **FLAG)


def run_trust(args: argparse.Namespace) -> int:
    """Run the verb: store the user's permission for what a spec does beyond asking models, or remove it."""
    for spec in args.spec:
        request = request_of(compile_spec(spec))
        if not request.permissions:
            print(f"{spec}: it needs no permission")
        elif args.forget:
            print(f"{spec}: {'forgotten' if forget(request) else 'it had no permission'}")
        else:
            print(f"{spec}: permitted on this machine, until one of these changes:")
            print("\n".join(request.lines()))
            remember(request)
    return 0


def _say(level: str, problem: Problem, text: str = "", *, is_json: bool, **more: Any) -> None:
    """Print one finding: as JSON, or as text. Errors and warnings, which have no text of their own, go to stderr."""
    if is_json:
        print(json.dumps({"level": level} | asdict(problem) | more))
    else:
        print(text or f"{level}: {problem}", file=sys.stdout if text else sys.stderr)


def ask_models(plan: Plan, *, is_json: bool) -> bool:
    """Send small calls to the models of a plan, print the results, and return whether all models answered."""
    models = {model.name: model for model in models_of(plan)}
    probes = asyncio.run(probe(list(models.values())))
    say = partial(_say, is_json=is_json)
    if is_json:
        print(*(json.dumps({"level": "error" if one.problem else "model", **asdict(one)}) for one in probes), sep="\n")
    else:
        print(_model_table(probes))
    errors = [f"model {one.entry} ({one.model}): {one.problem}\n{one.remedy}" for one in probes if one.problem]
    for error in () if is_json else errors:  # as JSON they are rows of models
        say("error", Problem.of(plan.spec_path, error))
    warnings = [
        f"model {one.entry} gives no probabilities of its tokens: `confidence: logprob` will be empty\n"
        "    use consistency(5) or verifier, or a server that gives them"
        for one in probes
        if one.logprobs == "none"
    ]
    warnings += [
        f"model {one.entry} takes no system message: a persona is sent in the message of the user\n"
        "    write `drop: [system]` in its entry to save the refused request"
        for one in probes
        if not one.has_system_role and not models[one.entry].refused
    ]
    for warning in warnings:
        say("warning", Problem.of(plan.spec_path, warning))
    return not errors


def _model_table(probes: Sequence[Probe]) -> str:
    rows = [("model", "name", "answers", "seed", "price", "logprobs")]
    rows += [
        (
            one.entry, one.model, "no" if one.problem else "yes",
            "-" if one.problem else one.seed, "known" if one.is_priced else "unknown",
            one.logprobs,
        )
        for one in probes
    ]  # fmt: skip
    shown = len(rows[0]) - (not any(one.logprobs for one in probes))
    lines = aligned([row[:shown] for row in rows], right=False)
    return "\n".join(lines if probes else ["no model is asked: all are built in"])
