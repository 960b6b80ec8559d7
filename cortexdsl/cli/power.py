"""`cortexdsl power`: say, before anything is spent, which claims of a spec its plan can answer."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from cortexdsl.analysis.planning.planning import Expected, plan_power
from cortexdsl.analysis.planning.simulate import RUNS
from cortexdsl.analysis.units.arms import Arm
from cortexdsl.analysis.units.table import ScoreTable, read_table
from cortexdsl.errors import InputError
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.rehearse import rehearse_plan
from cortexdsl.spec.load import load_spec
from cortexdsl.spec.sheet import ExpectedText


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec")
    parser.add_argument("--earlier", type=Path, metavar="SCORES", help="scores.csv of an earlier run of the same cells")
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
    earlier = read_table(args.earlier) if args.earlier else None
    found = _planned(plan, text, max(args.simulate, 0), earlier)
    if args.json:
        sys.stdout.write(found.to_json(orient="records", lines=True))
    else:
        print(_report(plan, found, text.power))
    _refuse(plan, text, found)
    return 0


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
        Expected(text.discordance, text.correlation, text.accuracy, text.differences, text.power, earlier),
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
    sent = total.calls - total.shared_calls
    lines = [
        f"{plan.title}: {questions} questions x {plan.replicates} replicates, at most {sent:,} calls; "
        f"each claim at alpha {found['alpha'][0]:.3g}, asked power {power:.0%}",
    ]
    for record in found.to_dict("records"):
        row = {str(name): value for name, value in record.items()}
        lines += ["", str(row["claim"]), f"    {_said(row, power)}"]
        if row["needed"] == row["needed"] and row["answerable"] is False and row["needed"] < float("inf"):
            calls = sent * row["needed"] / row["questions"]
            price = (
                ""
                if total.dollars is None
                else f", about {total.dollars * row['needed'] / row['questions']:,.2f} dollars"
            )
            lines.append(f"    WARNING: needs {row['needed']:,.0f} questions (at most {calls:,.0f} calls{price})")
        elif row["answerable"] is False:
            lines.append("    WARNING: cannot be answered by this plan")
        if row["note"]:
            lines.append(f"    {row['note']}")
    return "\n".join(lines)


def _said(row: dict[str, object], power: float) -> str:
    """One line: what can be detected, and how probable it is that the expected difference is."""
    number = {name: float(value) for name, value in row.items() if isinstance(value, int | float)}
    if row["basis"] == "none":
        return "nothing is known of its spread"
    nothing = number["detectable"] != number["detectable"]
    parts = [f"{row['basis']}: " + ("shows no difference" if nothing else f"shows {number['detectable']:.3g}")]
    parts[0] += f" beyond its bound with {power:.0%}"
    if number["power"] == number["power"]:
        parts.append(f"power {number['power']:.2f} if the truth is {number['expected']:.3g}")
    if number["simulated"] == number["simulated"]:
        parts.append(
            f"simulated {number['simulated']:.2f} [{number['simulated_low']:.2f}, {number['simulated_high']:.2f}]"
        )
    return "; ".join(parts)
