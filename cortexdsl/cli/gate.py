"""Verb `gate`: require claims of scores, and end with a status that continuous integration understands."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.claims.cells import cells_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import one_line
from cortexdsl.cli.burn_in import JointVerdicts, burn_in, reference_runs
from cortexdsl.cli.score_sources import ScoreSources, add_reading, declared_claims, read_sources, with_own_answers
from cortexdsl.cli.verbs import failure
from cortexdsl.core.costs import Usage
from cortexdsl.errors import CortexError, InputError
from cortexdsl.import_path import python_command
from cortexdsl.jobs.options import REPEATABLE, VerbParser
from cortexdsl.models.budget import LIMIT_IN_WORDS
from cortexdsl.models.transports.prices import PRICE_REMEDY
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.controls import change
from cortexdsl.plan.persistence.verification import check_complete, check_files, check_finished
from cortexdsl.plan.record import PlanRecord, plan_or_empty
from cortexdsl.records.tallies import Tallies, total_of
from cortexdsl.report.csv_rows import read_frame, rows_of
from cortexdsl.report.gate import Gate, RequiredClaim
from cortexdsl.report.phrasing.comparisons import claims_decided
from cortexdsl.stats.planning.planning import questions_needed
from cortexdsl.stats.tables.rows import ClaimRow
from cortexdsl.stats.verdicts import evaluate_claims

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file whose Markdown it shows on the page of a run."""


def add_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    line = "a folder of results, a table of scores (CSV), logs as for compare, or a spec (.yaml), which is run first"
    parser.add("sources", line, nargs="+")
    line = "the most that the experiment of the spec may spend, all its runs together"
    parser.add("--most-dollars", line, type=float, metavar="X")
    line = "a claim that must be supported; repeatable (default: the hypotheses of the folder of results)"
    parser.add("--require", line, metavar="CLAIM", **REPEATABLE)
    parser.add("--undecided", "end with status 0 or 1 if a claim is undecided (default: 3)", choices=["pass", "fail"])
    add_reading(parser)
    line = "also say how often the gate fails without a change: run a cell of the spec against itself N times, or "
    line += "exchange the cells of other sources at random"
    parser.add("--burn-in", line, type=int, metavar="N")
    line = f"write a summary in Markdown to this file; it is also added to ${STEP_SUMMARY}"
    parser.add("--summary", line, type=Path, metavar="FILE")
    parser.add("--junit", "write the claims as test cases to this XML file", type=Path, metavar="FILE")
    parser.add("--json", "write the verdicts to this file", type=Path, metavar="FILE")
    parser.epilog = "Exit status: 0 all claims supported, 1 one contradicted, 3 one undecided, 2 the input is wrong."


def run(args: argparse.Namespace) -> int:
    """Run the verb; every error has the status 2, because 1 is that of a contradicted claim."""
    for path in filter(None, (args.summary, args.junit, args.json)):
        if not path.parent.is_dir():
            raise InputError(f"{path}: its folder does not exist")
    try:
        gate = _gate(args)
        _write(gate, args)
    except InputError:
        raise
    except (CortexError, OSError) as error:
        raise InputError(failure(error)[1].removeprefix("error: ")) from error
    with suppress(BrokenPipeError):  # a reader that has ended does not change the status
        print("\n".join(gate.lines()))
    return gate.status


def _gate(args: argparse.Namespace) -> Gate:
    """Read the sources and return the verdicts on the required claims."""
    if args.burn_in is not None and args.burn_in < 1:
        raise InputError(f"--burn-in {args.burn_in}: this is not a number of runs\n    write --burn-in 20")
    sources, runs, stopped = args.sources, None, ""
    if is_spec := len(sources) == 1 and sources[0].endswith((".yaml", ".yml")):
        experiment, most = compile_spec(sources[0]), args.most_dollars
        _check_spec(experiment, args)
        if args.burn_in:
            runs = reference_runs(experiment, args.require or experiment.hypotheses, args.burn_in)
            print(runs.price, file=sys.stderr)
        if stopped := _run_spec(experiment, most):
            return _without_results(experiment, args, stopped)
        if runs:
            left = None if most is None else max(0.0, round(most - _paid(experiment.layout).dollars, 6))
            stopped = _run_spec(runs.plan, left, runs.parts)
        sources = [experiment.layout.root]
    if args.most_dollars is not None and not is_spec:
        raise InputError("--most-dollars is for a spec, which is run first; the sources cost nothing")
    found = read_sources(sources, score=args.score, cluster=args.cluster, answers=args.answers)
    plan = _plan_of(found)
    required = list(dict.fromkeys(map(one_line, args.require or plan.hypotheses)))
    if not required:
        example = f"accuracy({found.table.cells[-1]}) >= accuracy({found.table.cells[0]}) - 0.02"
        raise InputError(f"{', '.join(args.sources)}: no claim is required\n    write --require '{example}'")
    claims = _judged(found, plan, required)
    counts, words = None, f"The burn-in did not end: {stopped}" if stopped else ""
    if args.burn_in and plan.stopping:
        raise InputError("--burn-in: an experiment with early stopping asked questions by what the cells answered")
    if args.burn_in and not stopped:
        counts, words = burn_in(claims, required, args.burn_in, runs)
    decided = claims_decided(f"{claims.alpha:g}".removeprefix("0"), len(claims.rows), claims.correction,
                             is_anytime=plan.stopping is not None)  # fmt: skip
    return Gate(
        tuple(args.sources), _required(found, claims, required, plan), claims.alpha, claims.correction,
        (*found.notes, *filter(None, (words, decided))), args.undecided or "", counts,
    )  # fmt: skip


def _check_spec(experiment: Plan, args: argparse.Namespace) -> None:
    """Refuse, before anything is spent, a claim that was not declared, and a limit on unknown prices."""
    declared = set(map(one_line, experiment.hypotheses))
    others = [text for text in args.require if one_line(text) not in declared]
    if others or not declared:
        what = f"--require '{others[0]}': this is not one of its hypotheses" if others else "there are no hypotheses"
        raise InputError(
            f"{experiment.spec_path}: {what}\n    add the claim to hypotheses, so that it is declared before the run"
        )
    if args.score or args.cluster or (args.burn_in and experiment.stopping):
        why = "asks questions by what the cells answered" if experiment.stopping else "has its own scores and clusters"
        raise InputError(
            f"{experiment.spec_path}: this experiment {why}\n    leave out --burn-in, --score and --cluster"
        )
    most = args.most_dollars
    if most is not None and not most > 0:
        raise InputError(f"--most-dollars {most}: this is not a sum of money\n    write --most-dollars 2")
    if most is not None and not rehearse_plan(experiment)[0].is_priced:
        raise InputError(f"--most-dollars {most:g}: no price is known for some models\n    {PRICE_REMEDY}")


def _run_spec(experiment: Plan, most: float | None, targets: Sequence[str] = ()) -> str:
    """Run a spec to its report or to some files, as `cortexdsl run` does; return why if a limit stopped it.

    Raises
    ------
    InputError
        The run ended for another reason, which it printed.
    """
    if most is not None:
        own = experiment.limits.dollars
        change(experiment, {"dollars": most if own is None else min(most, own)})
    command = python_command("cortexdsl", "run", experiment.spec_path, *(["--", *targets] if targets else []))
    if not (status := wait_for(subprocess.Popen(command, stdout=sys.stderr.fileno()))):
        return ""
    spent = Tallies(Path(experiment.layout.spent)).read()
    messages = [tally.message for tally in spent if LIMIT_IN_WORDS in tally.message]
    if not messages:
        again = f"cortexdsl run {experiment.spec_path}"
        raise InputError(f"{experiment.spec_path}: its run ended with status {status}; see above\n    run it: {again}")
    return messages[0].partition(":")[0]  # without the remedy of a run


def _paid(layout: Layout) -> Usage:
    return total_of(Tallies(Path(layout.spent)).read()).usage


def wait_for(run: subprocess.Popen[bytes]) -> int:
    """Return the status of a run, which ends in good order after every signal that would end this process."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # Ctrl-C reaches the run by itself
        if signal.getsignal(number) != signal.SIG_IGN:  # as it is under `nohup`
            signal.signal(number, lambda which, _: run.send_signal(which))
    while True:
        with suppress(KeyboardInterrupt):
            return run.wait()


def _without_results(experiment: Plan, args: argparse.Namespace, why: str) -> Gate:
    """Return the gate of a spec whose run reached a limit before it had a report: nothing is decided."""
    texts = args.require or experiment.hypotheses
    rows = [ClaimRow(one_line(text), None, None, None, None, None, "undecided", note=why) for text in texts]
    claims = tuple(RequiredClaim(row, 0, None) for row in rows)
    analysis, stopping, undecided = experiment.analysis, experiment.stopping, args.undecided or ""
    alpha = stopping.alpha if stopping else analysis["alpha"]
    return Gate(tuple(args.sources), claims, alpha, analysis["correction"], undecided=undecided)


def _plan_of(found: ScoreSources) -> PlanRecord:
    """Return the plan of the experiment that the scores are from; empty if they are not those of an experiment.

    Raises
    ------
    DataError, InputError
        A table was edited or deleted, or the tables are those of an earlier run.
    """
    if found.own is None or found.own.name != "scores.csv":
        return PlanRecord()
    layout = Layout(found.own.parent.as_posix())
    if plan := plan_or_empty(layout):
        check_files(layout)
        check_complete(layout)
        check_finished(layout)
    return plan


def _judged(found: ScoreSources, plan: PlanRecord, required: Sequence[str]) -> JointVerdicts:
    """Return the verdicts of the experiment on its hypotheses, or test the claims if they are others."""
    claims = [parse_claim(text, "--require") for text in required]
    table = with_own_answers(found, claims)
    arms, stopping, correction = tuple(plan.arms) or cells_of(table.cells), plan.stopping, plan.correction
    alpha = stopping.alpha if stopping else plan.alpha
    own = read_frame(found.own.parent / "hypotheses.csv", ClaimRow) if plan and found.own else ()
    rows = {one_line(row.claim): row for row in own}
    others = [text for text in required if text not in rows]
    if others and stopping:
        raise InputError(
            f"--require '{others[0]}': this experiment stopped when its own hypotheses were decided, so that no other "
            f"claim can be tested at a known error rate\n    add it to the hypotheses of {plan.spec}, and run it"
        )
    if others:
        declared = declared_claims(found, required)
        verdicts = evaluate_claims(
            table, claims, plan.seed, arms, declared=declared, alpha=alpha, correction=correction
        )
        rows = dict(zip(required, rows_of(verdicts, ClaimRow), strict=True))
    return JointVerdicts(rows, table, arms, alpha, correction)


def _required(
    found: ScoreSources, claims: JointVerdicts, required: Sequence[str], plan: PlanRecord
) -> tuple[RequiredClaim, ...]:
    """Return the required claims with what would decide them, and its price by what the experiment paid."""
    rows, questions = claims.rows, sum(map(len, claims.table.questions))
    needed = dict.fromkeys(rows, float("nan"))
    if not plan.stopping:  # the power is that of tests without early stopping
        verdicts = pd.DataFrame({"claim": [row.claim for row in rows.values()],
                                 "verdict": [row.verdict for row in rows.values()]})  # fmt: skip
        settings: dict[str, Any] = {"alpha": claims.alpha, "correction": claims.correction, "either_side": True}
        needed = dict(zip(rows, questions_needed(claims.table, verdicts, claims.arms, **settings), strict=True))
    paid = None
    if plan and found.own is not None:
        usage = _paid(Layout(found.own.parent.as_posix()))
        paid = usage.dollars if usage.dollars and not usage.unpriced else None
    result = []
    for text in required:
        count = None if needed[text] != needed[text] else round(needed[text])
        price = None if paid is None or count is None else paid * count / questions
        result.append(RequiredClaim(replace(rows[text], questions_needed=count), questions, price))
    return tuple(result)


def _write(gate: Gate, args: argparse.Namespace) -> None:
    """Write the files that were asked for, and the summary of a step of GitHub."""
    if args.summary:
        args.summary.write_text(gate.markdown(), encoding="utf-8")
    if step := os.environ.get(STEP_SUMMARY):
        with Path(step).open("a", encoding="utf-8") as stream:
            stream.write(gate.markdown())
    if args.junit:
        args.junit.write_bytes(gate.junit())
    if args.json:
        args.json.write_text(json.dumps(gate.record(), indent=1) + "\n", encoding="utf-8")
