"""Verbs that look at a plan before it runs: `cortexdsl plan` (its cost) and `cortexdsl power` (what it can show)."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Claim, Comparison
from cortexdsl.core import Price
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import add_spec
from cortexdsl.jobs.options import FLAG, VerbParser
from cortexdsl.jobs.plan import (
    check_answerable,
    expectations,
    planned_power,
    refuse_unanswerable,
    wanted_power,
    write_declaration,
)
from cortexdsl.models.transports.prices import PRICE_REMEDY, has_price, known_price
from cortexdsl.numbers import counted, in_dollars
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import most_of_question, rehearse_plan, rehearsed_loads
from cortexdsl.plan.forecast.rounds import MORE, rounds_of
from cortexdsl.plan.forecast.warnings import cells_in_words
from cortexdsl.plan.forecast.warnings import models_of as chat_models
from cortexdsl.plan.learned import fit_in_words
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.plan.persistence.store import plan_record
from cortexdsl.plan.persistence.verification import check_own_files
from cortexdsl.plan.record import plan_json, write_plan
from cortexdsl.plan.rehearsal.estimate import REPLY_TOKENS, CostEstimate
from cortexdsl.plan.training import Training
from cortexdsl.report.phrasing.names import wording
from cortexdsl.text_layout import aligned, wrapped

if TYPE_CHECKING:
    import pandas as pd

    from cortexdsl.stats.tables.score_table import ScoreTable


def add_plan_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    parser.add("--out", "write the plan to this file, and print nothing", type=Path)
    parser.add("--declare", "write the claims, or their changes, into the ledger (the experiment's history)", **FLAG)
    parser.add("--json", "print the plan as JSON", **FLAG)


def run_plan(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec, args.experiment)
    if args.declare:
        refuse_unanswerable(plan)
    total, by_cell = rehearse_plan(plan)
    if args.out or args.declare:
        write_declaration(plan)
    if args.out or args.json:
        record = plan_record(plan, total, by_cell, most_of_question(plan))
        if args.out:
            write_plan(args.out, record)
        else:
            print(json.dumps(plan_json(record), indent=1, default=dict))
        if args.out == Path(plan.layout.plan):
            record_files(plan.layout, [args.out])
    else:
        print(_table(plan, total, by_cell))
    return 0


def _table(plan: Plan, total: CostEstimate, by_cell: dict[str, CostEstimate]) -> str:
    questions = ", ".join(f"{len(task.questions)} of {label}" for label, task in plan.tasks.items())
    replicates = counted(plan.replicates, "replicate")
    rows = [_row(name, estimate) for name, estimate in (*by_cell.items(), ("all", total))]
    head = [
        *wrapped(plan.title),
        *wrapped(
            f"{cells_in_words(plan)} x {replicates} x questions ({questions}); {counted(plan.jobs, 'debate job')}"
        ),
        "",
        *aligned([("cell", "calls", "shared", "tokens in", "out", "dollars"), *rows]),
        "",
    ]
    lines = [
        *_sent(plan, total),
        "Calls are an upper bound (no debate ends early). "
        f"Tokens assume 4 characters each and {REPLY_TOKENS} a reply, "
        f"or max_tokens if that is less{_thinking(plan)}.",
    ]
    if any(question.images for task in plan.tasks.values() for question in task.questions):
        lines.append("Tokens of images are not among them: how many an image has, each server decides.")
    if not total.is_priced:
        unknown = ", ".join(f"{model.name} ({model.model})" for model in chat_models(plan) if not has_price(model))
        lines.append(f"Dollars are unknown: no price is known for {unknown}. Remedy: {PRICE_REMEDY}")
    lines += _prices(plan)
    lines += _engines(plan)
    lines += [_learning(training) for training in plan.trainings]
    asked = sum(len(task.questions) for task in plan.tasks.values())
    lines += [fit_in_words(fitted, asked) for fitted in plan.learned]
    lines += [f"also called: {cell.name} = {', '.join(cell.aliases)}" for cell in plan.cells if cell.aliases]
    return "\n".join([*head, *(line for paragraph in lines for line in wrapped(paragraph))])


def _engines(plan: Plan) -> list[str]:
    """Return the rounds of files, and what each engine answers in them; nothing without engines."""
    loads, rounds = rehearsed_loads(plan) if plan.engines else {}, rounds_of(plan)
    lines = []
    for name, engine in plan.engines.items():
        own = [load for entry, load in loads.items() if plan.models[entry].engine == name]
        requests, tokens = (sum(amounts) for amounts in zip(*own, strict=True))
        lines.append(
            f"The engine {name} answers about {requests:,.0f} requests of {tokens:,.0f} tokens, in {rounds} rounds of "
            f"{counted(engine.parts, 'file')}. The last {MORE} rounds ask again for what it has not answered."
        )
    return lines


def _prices(plan: Plan) -> list[str]:
    """Return the prices that the dollars are computed from."""
    priced = [(model, price) for model in chat_models(plan) if (price := known_price(model)) and not price.is_free]
    return [
        f"{model.name} ({model.model}): ${price.input * 1e6:,.6g} in and ${price.output * 1e6:,.6g} out per million"
        f" tokens{', in batches' if model.is_billed else ''}, by"
        f" {'the spec' if model.price else 'the price list of litellm'}{_cache_prices(price)}"
        for model, price in priced
    ]


def _cache_prices(price: Price) -> str:
    named = (("read from its cache", price.cached), ("written into it", price.cache_write))
    parts = [f"${each * 1e6:,.6g} {what}" for what, each in named if each is not None]
    return f"; {', '.join(parts)}" if parts else ""


def _sent(plan: Plan, total: CostEstimate) -> Iterator[str]:
    """Yield how many calls are sent, and whether a limit stops them."""
    calls = total.calls - total.shared_calls
    sent = f"{counted(calls, 'call is', 'calls are')} sent"
    shared = counted(total.shared_calls, "is shared", "are shared")
    yield f"About {sent} if no debate ends early: {shared} between cells and sent once."
    if plan.limits.calls is not None and plan.limits.calls < calls:
        yield f"`limits: calls` may stop the run at {plan.limits.calls:,}; raise it, and the same command continues."


def _learning(training: Training) -> str:
    questions, validation = len(training.task.items) - len(training.validation), len(training.validation)
    phases = ", ".join(phase.label for phase in training.phases)
    return (
        f"{training.name} learns from {questions} other questions of {training.task.label}, and keeps {validation} for"
        f" validation ({training.learned.left_out} left out, which are asked here): {phases}"
    )


def _thinking(plan: Plan) -> str:
    models = {model.name: model for cell in plan.cells for model in cell.debate.models}
    thought = {name: model.reasoning_tokens for name, model in models.items() if model.reasoning_tokens}
    parts = [f"{tokens:,} of reasoning before each of {name}" for name, tokens in thought.items()]
    return ", and " + ", ".join(parts) if parts else ""


def _row(name: str, estimate: CostEstimate) -> tuple[str, ...]:
    dollars = in_dollars(estimate.dollars) if estimate.is_priced else "unknown"
    counts = (estimate.calls, estimate.shared_calls, estimate.input_tokens, estimate.output_tokens)
    return name, *(f"{count:,}" for count in counts), dollars


def add_power_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("spec", "the spec")
    line = "results of an earlier run of the same cells: the folder, or its scores.csv"
    parser.add("--earlier", line, type=Path, metavar="SCORES")
    parser.add("--json", "print JSON: one claim per line", **FLAG)


def run_power(args: argparse.Namespace) -> int:
    """Run the verb; the report is printed also if the plan is refused."""
    plan = compile_spec(args.spec)
    if not plan.hypotheses:
        raise InputError(f"{plan.spec_path}: there are no hypotheses, so there is nothing to plan for")
    expected = expectations(plan)
    earlier = _earlier(args.earlier) if args.earlier else None
    power = planned_power(plan, expected, earlier)
    if args.json:
        sys.stdout.write(power.to_json(orient="records", lines=True))
    else:
        print(_report(plan, power, wanted_power(expected)))
        if earlier is not None:
            print("\n".join(_splits(plan, earlier)))
    check_answerable(plan, expected, power)
    return 0


def _earlier(path: Path) -> ScoreTable:
    """Read the scores of earlier results, and their answers if these are in the same folder."""
    from cortexdsl.stats.tables.answers import answers_for, with_answers
    from cortexdsl.stats.tables.score_table import read_table

    path = path / "scores.csv" if path.is_dir() else path
    check_own_files([path])
    table, answers = read_table(path), answers_for(path)
    return with_answers(table, answers) if answers else table


def _report(plan: Plan, power_table: pd.DataFrame, power: float) -> str:
    total, _ = rehearse_plan(plan)
    questions = sum(len(task.questions) for task in plan.tasks.values())
    sent = total.calls - total.shared_calls
    lines = wrapped(
        f"{plan.title}: {counted(questions, 'question')} x "
        f"{counted(plan.replicates, 'replicate')}, about {counted(sent, 'call')}; "
        f"each claim at alpha {power_table['alpha'][0]:.3g}, power {power:.0%} wanted"
    )
    for record in power_table.to_dict("records"):
        row = {str(name): value for name, value in record.items()}
        sentences = wrapped(_sentences(row, power), 4)
        lines += ["", str(row["claim"]), *sentences]
        if row["needed"] == row["needed"] and row["answerable"] is False and row["needed"] < float("inf"):
            calls = sent * row["needed"] / row["questions"]
            # The dollars are the sum over cells, so that calls which cells share count more than once.
            most = total.dollars * row["needed"] / row["questions"]
            price = f", about {most:,.2f} dollars" if total.is_priced else ""
            questions_needed = counted(round(row["needed"]), "question")
            lines += wrapped(f"WARNING: needs {questions_needed} (about {calls:,.0f} calls{price})", 4)
        elif row["answerable"] is False:
            lines.append("    WARNING: cannot be answered by this plan")
        if row["note"]:
            lines += wrapped(str(row["note"]), 4)
    return "\n".join(lines)


REPLICATES = (1, 2, 3, 5, 10)
"""The replicates that splits of a budget are shown for."""


def _splits(plan: Plan, earlier: ScoreTable) -> list[str]:
    """Return where the spread of each claimed difference of the pilot comes from, and the best splits of the budget."""
    from cortexdsl.stats.planning.spread import claim_spread, splits_of

    questions = sum(len(task.questions) for task in plan.tasks.values())
    debates = questions * plan.replicates
    counts = (*REPLICATES, plan.replicates)
    lines: list[str] = []
    for claim in plan.hypotheses:
        parts = claim_spread(earlier, claim, plan.arms)
        if parts is None:
            continue
        share = f"{parts.correlation.estimate:.0%} ({parts.correlation.low:.0%} to {parts.correlation.high:.0%})"
        text = f"of the variance of one debate {share} belongs to its question, by the earlier results"
        lines += ["", claim, *wrapped(text[0].upper() + text[1:] + ".", 4)]
        splits = splits_of(parts, debates, debates, counts)
        lines.append(f"    {counted(debates, 'debate')} of each cell, split into questions and replicates:")
        lines += [
            f"      {counted(split.questions, 'question')} x {counted(split.replicates, 'replicate')}: "
            f"standard error {split.error:.4g}{' (best)' * (split is splits[0])}"
            for split in splits
        ]
    return ["", "Where the spread comes from, and how to split the budget:", *lines] if lines else []


def _sentences(row: dict[str, object], power: float) -> str:
    """Return in sentences what can be shown, and how probably the expected truth is."""
    number = {name: float(value) for name, value in row.items() if isinstance(value, int | float)}
    if row["basis"] == "none":
        return "The spread of its values is unknown, so its power is unknown."
    claim = parse_claim(str(row["claim"]))
    least = _beyond(number["detectable"], claim)
    if number["detectable"] != number["detectable"]:
        first = f"However large the difference is, the claim is supported with a probability below {power:.0%}"
    else:
        first = (
            f"If the truth is {least} or more beyond the claim's bound, "
            f"the claim is supported with a probability of {power:.0%}"
        )
    sentences = [f"{first} ({row['basis']})."]
    if number["power"] == number["power"]:
        expected = f"If the truth is {_truth(number['expected'], claim)}, the claim is supported with a probability of "
        sentences.append(f"{expected}{number['power']:.0%}.")
    return " ".join(sentences)


def _beyond(distance: float, claim: Claim) -> str:
    """Return a distance from a claim's bound in the units of its metric: points, a factor of a ratio, or a number."""
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
