"""`cortexdsl power`: say, before anything is spent, which claims of a spec its plan can answer."""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
from pathlib import Path

import pandas as pd

from cortexdsl.analysis.planning.basis import Expected
from cortexdsl.analysis.planning.planning import plan_power
from cortexdsl.analysis.planning.simulate import RUNS
from cortexdsl.analysis.units.answer_table import answers_beside, with_answers
from cortexdsl.analysis.units.table import ScoreTable, read_table
from cortexdsl.errors import InputError
from cortexdsl.numbers import counted
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.cost.rehearse import is_bound, rehearse_plan
from cortexdsl.plan.kept.table_seals import check_own_table
from cortexdsl.report.words.numbers import wording
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.spec.claims.language import Claim, Comparison, parse_claim
from cortexdsl.spec.grammar.sheet import ExpectedText
from cortexdsl.spec.load import load_spec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec")
    parser.add_argument(
        "--earlier",
        type=Path,
        metavar="SCORES",
        help="results of an earlier run of the same cells: the folder, or its scores.csv",
    )
    parser.add_argument(
        "--simulate", type=int, default=RUNS, metavar="N", help=f"experiments per claim (default: {RUNS})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: one claim a line")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec)
    if not plan.hypotheses:
        raise InputError(f"{plan.spec_path}: there are no hypotheses, so there is nothing to plan for")
    text = _expected(plan)
    earlier = _earlier(args.earlier) if args.earlier else None
    found = _planned(plan, text, max(args.simulate, 0), earlier)
    if args.json:
        sys.stdout.write(found.to_json(orient="records", lines=True))
    else:
        print(_report(plan, found, text.power))
    _refuse(plan, text, found)
    return 0


def _earlier(path: Path) -> ScoreTable:
    """Earlier results: their scores, and their answers where they lie beside them."""
    path = path / "scores.csv" if path.is_dir() else path
    check_own_table(path)
    table, answers = read_table(path), answers_beside(path)
    return with_answers(table, answers) if answers else table


def refuse_unanswerable(plan: Plan) -> None:
    """Stop before anything is spent where the spec asks for it: `expected: {refuse: true}`.

    Raises
    ------
    InputError
        The plan cannot answer a claim.
    """
    text = _expected(plan)
    if text.refuse and plan.hypotheses:
        _refuse(plan, text, _planned(plan, text, runs=0))


def _expected(plan: Plan) -> ExpectedText:
    return load_spec(plan.spec_path).text.expected or ExpectedText.model_validate({})


def _planned(plan: Plan, text: ExpectedText, runs: int, earlier: ScoreTable | None = None) -> pd.DataFrame:
    return plan_power(
        plan.hypotheses,
        [Arm(cell.name, cell.method, cell.aliases, cell.axes) for cell in plan.cells],
        {label: len(task.questions) for label, task in plan.tasks.items()},
        plan.replicates,
        Expected(text.discordance, text.correlation, text.accuracy, text.differences, text.spread, text.power, earlier),
        alpha=plan.analysis.get("alpha", 0.05),
        correction=plan.analysis.get("correction", "holm"),
        runs=runs,
        seed=plan.seed,
    )


def _refuse(plan: Plan, text: ExpectedText, found: pd.DataFrame) -> None:
    lacking = found[found["answerable"].eq(False)]
    if text.refuse and len(lacking):
        claims = "; ".join(f"{row.claim} (power {row.power:.2f})" for row in lacking.itertuples())
        raise InputError(
            f"{plan.spec_path}: this plan cannot answer {len(lacking)} of {len(found)} claims: {claims}\n"
            "    more questions or replicates, or `expected: {refuse: false}` to run all the same"
        )


def _report(plan: Plan, found: pd.DataFrame, power: float) -> str:
    total, _ = rehearse_plan(plan)
    questions = sum(len(task.questions) for task in plan.tasks.values())
    sent, at_most = total.calls - total.shared_calls, "at most" if is_bound(plan) else "about"
    lines = [
        f"{plan.title}: {questions} questions x {counted(plan.replicates, 'replicate')}, {at_most} {sent:,} calls; "
        f"each claim at alpha {found['alpha'][0]:.3g}, asked power {power:.0%}",
    ]
    for record in found.to_dict("records"):
        row = {str(name): value for name, value in record.items()}
        said = textwrap.wrap(_said(row, power), 100, initial_indent="    ", subsequent_indent="    ")
        lines += ["", str(row["claim"]), *said]
        if row["needed"] == row["needed"] and row["answerable"] is False and row["needed"] < float("inf"):
            calls = sent * row["needed"] / row["questions"]
            price = (
                ""
                if total.dollars is None
                else f", about {total.dollars * row['needed'] / row['questions']:,.2f} dollars"
            )
            lines.append(f"    WARNING: needs {row['needed']:,.0f} questions ({at_most} {calls:,.0f} calls{price})")
        elif row["answerable"] is False:
            lines.append("    WARNING: cannot be answered by this plan")
        if row["note"]:
            lines.append(f"    {row['note']}")
    return "\n".join(lines)


def _said(row: dict[str, object], power: float) -> str:
    """What can be shown, and how probable it is that the expected truth is, in sentences."""
    number = {name: float(value) for name, value in row.items() if isinstance(value, int | float)}
    if row["basis"] == "none":
        return "Nothing is known of how far its values spread, so nothing can be said of it."
    claim = parse_claim(str(row["claim"]))
    least = _beyond(number["detectable"], claim)
    if number["detectable"] != number["detectable"]:
        said = f"No difference, however large, is shown with a probability of {power:.0%}"
    else:
        said = f"With a probability of {power:.0%} this plan shows a truth that is {least} or more beyond its bound"
    sentences = [f"{said} ({row['basis']})."]
    if number["power"] == number["power"]:
        expected = f"If the truth is {_truth(number['expected'], claim)}, the claim is supported with a probability of "
        sentences.append(f"{expected}{number['power']:.0%}.")
    if number["simulated"] == number["simulated"]:
        low, high = number["simulated_low"], number["simulated_high"]
        sentences.append(f"Simulated experiments agree to {number['simulated']:.0%} ({low:.0%} to {high:.0%}).")
    return " ".join(sentences)


def _beyond(distance: float, claim: Claim) -> str:
    """A distance from a claim's bound, in the units of its metric: points, a share of a ratio, or a number."""
    if isinstance(claim, Comparison) and claim.is_ratio:
        return f"{math.expm1(distance):.3g} times the bound"
    return f"{100 * distance:.3g} points" if _is_share(claim) else f"{distance:.3g}"


def _truth(value: float, claim: Claim) -> str:
    if isinstance(claim, Comparison) and claim.is_ratio:
        return f"a ratio of {value:.3g}"
    if isinstance(claim, Comparison) and len(claim.terms) == 1:
        return f"{value:.1%}" if _is_share(claim) else f"{value:.3g}"
    return f"a difference of {100 * value:.3g} points" if _is_share(claim) else f"a difference of {value:.3g}"


def _is_share(claim: Claim) -> bool:
    return all(wording(metric).kind == "share" for metric in claim.metrics)
