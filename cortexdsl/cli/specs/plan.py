"""`cortexdsl plan`: say what a spec will cost before anything is spent."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cortexdsl.cli.arguments import add_spec
from cortexdsl.models.transports.prices import PRICE_REMEDY, has_price, known_price
from cortexdsl.plan import Plan
from cortexdsl.plan.cost.most import most_of_question
from cortexdsl.plan.cost.raced import race_in_words
from cortexdsl.plan.cost.rehearse import is_bound, rehearse_plan
from cortexdsl.plan.cost.windows import models_of as chat_models
from cortexdsl.plan.cost.windows import too_long
from cortexdsl.plan.kept.declaration import declaration_of
from cortexdsl.plan.kept.ledger import declare
from cortexdsl.plan.kept.store import plan_record, write_plan
from cortexdsl.plan.parts.recut import write_cut
from cortexdsl.plan.rehearsal.estimate import Estimate
from cortexdsl.plan.rehearsal.lengths import OwnLengths
from cortexdsl.plan.training.phases import Training
from cortexdsl.spec.load import load_spec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    parser.add_argument("--out", type=Path, help="write the plan (plan.json) and print nothing")
    parser.add_argument(
        "--declare",
        action="store_true",
        help="write into the ledger what is declared, or what changed; refused where the spec asks for it"
        " (expected: refuse)",
    )
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = args.compiled(args.spec, args.experiment)
    if args.declare and _refuses(plan):
        from cortexdsl.cli.specs.power import refuse_unanswerable  # two seconds, before the first debate of a run

        refuse_unanswerable(plan)
    total, by_cell = rehearse_plan(plan)
    record = plan_record(plan, total, by_cell, most_of_question(plan))
    if args.out or args.declare:
        declare(plan.layout, declaration_of(plan))
        trainings = {training.name: training.shards for training in plan.trainings}
        write_cut(Path(plan.layout.cut), plan.shards, trainings)
    if args.out:
        write_plan(args.out, record)
    elif args.json:
        print(json.dumps(record, indent=1))
    else:
        print(_table(plan, total, by_cell))
        for warning in too_long(plan):
            print(f"warning: {warning}", file=sys.stderr)
    return 0


def _refuses(plan: Plan) -> bool:
    """Say whether a spec asks that a plan which cannot answer a claim is not run."""
    expected = load_spec(plan.spec_path).text.expected
    return expected is not None and expected.refuse


def _table(plan: Plan, total: Estimate, by_cell: dict[str, Estimate]) -> str:
    questions = ", ".join(f"{len(task.questions)} of {label}" for label, task in plan.tasks.items())
    width = max(len(name) for name in [*by_cell, "of these asked"])
    replicates = f"{plan.replicates} replicate{'s' * (plan.replicates != 1)}"
    lines = [
        f"{plan.title}",
        f"{len(plan.cells)} cells x {replicates} x questions ({questions}); {plan.jobs:,} debate jobs",
        "",
        f"{'cell':{width}} {'calls':>12} {'shared':>12} {'input tokens':>14} {'output tokens':>14} {'dollars':>10}",
        *(_line(name, estimate, width) for name, estimate in by_cell.items()),
        _line("all", total, width),
        "",
        _sent(plan, total),
        "Calls are an upper bound (no debate ends early). "
        f"Tokens assume 4 characters each{_own_tokens(plan)} and {plan.reply_tokens} a reply, "
        f"or max_tokens where that is less{_thinking(plan)}.",
    ]
    if any(question.images for task in plan.tasks.values() for question in task.questions):
        lines.append("Tokens of images are not among them: how many an image has, each server decides.")
    if total.dollars is None:
        unknown = ", ".join(f"{model.name} ({model.model})" for model in chat_models(plan) if not has_price(model))
        lines.append(f"Dollars are unknown: no price is known for {unknown}.\n    {PRICE_REMEDY}")
    lines += _prices(plan)
    lines += [_learning(training) for training in plan.trainings]
    lines += [said[0].upper() + said[1:] + "."] if (said := race_in_words(plan)) else []
    lines += [f"also called: {cell.name} = {', '.join(cell.aliases)}" for cell in plan.cells if cell.aliases]
    return "\n".join(lines)


def _prices(plan: Plan) -> list[str]:
    """Say which prices the dollars are made of."""
    priced = [(model, price) for model in chat_models(plan) if (price := known_price(model)) and not price.is_free]
    return [
        f"{model.name} ({model.model}): ${price.input * 1e6:,.6g} in and ${price.output * 1e6:,.6g} out per million"
        f" tokens, by {'the spec' if model.price else 'the price list of litellm'}"
        for model, price in priced
    ]


def _sent(plan: Plan, total: Estimate) -> str:
    """Say how many calls are sent, and whether a limit stops them."""
    asked = total.calls - total.shared_calls
    sent, shared = f"{asked:,} calls are sent", f"{total.shared_calls:,} are shared"
    if is_bound(plan):
        said = f"At most {sent}: {shared} between cells and asked once."
    else:
        said = (
            f"About {sent} if no debate ends early: {shared} between cells and asked once in a rehearsal."
            " How many really are, replies decide: by them cells choose who is heard."
        )
    if plan.limits.calls is not None and plan.limits.calls < asked:
        said += f"\n`limits: calls` may stop the run at {plan.limits.calls:,}; raised, the same command goes on."
    return said


def _learning(training: Training) -> str:
    learned, kept = len(training.task.items) - len(training.validation), len(training.validation)
    phases = ", ".join(phase.label for phase in training.phases)
    return (
        f"{training.name} learns from {learned} other questions of {training.task.label}, and keeps {kept} for"
        f" validation ({training.learned.left_out} left out, which are asked here): {phases}"
    )


def _own_tokens(plan: Plan) -> str:
    """Name the models whose prompts are counted by their own tokenizers."""
    lengths = OwnLengths()
    models = {model.name: model for cell in plan.cells for model in cell.debate.models}
    own = [name for name, model in models.items() if lengths.counts(model)]
    return f" (of {', '.join(own)} those of their own tokenizers)" if own else ""


def _thinking(plan: Plan) -> str:
    models = {model.name: model for cell in plan.cells for model in cell.debate.models}
    thought = {name: model.reasoning_tokens for name, model in models.items() if model.reasoning_tokens}
    said = [f"{tokens:,} of reasoning before each of {name}" for name, tokens in thought.items()]
    return ", and " + ", ".join(said) if said else ""


def _line(name: str, estimate: Estimate, width: int) -> str:
    dollars = "unknown" if estimate.dollars is None else f"{estimate.dollars:,.2f}"
    return (
        f"{name:{width}} {estimate.calls:>12,} {estimate.shared_calls:>12,} {estimate.input_tokens:>14,}"
        f" {estimate.output_tokens:>14,} {dollars:>10}"
    )
