"""Rule `train`: let a model learn from the pairs of one phase."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from cortexdsl.core import Model
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import add_shared, add_spec, check_digest, plan_of_job
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.training import Phase, Training
from cortexdsl_train.fit.examples import REPLIES, GroupSampling, Settings, read_examples
from cortexdsl_train.models import serve_commands
from cortexdsl_train.phases import base_folder
from cortexdsl_train.trajectories import is_label

MOST_TOKENS = 512
"""Of a drawn reply, if the model's entry does not say."""
EXTRA = ("accelerate", "datasets", "peft", "torch", "transformers", "trl")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser, "the spec, which has train:")
    add_shared(parser, "--training --digest")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--phase", help="whose turn it is: 1-critic")
    asked.add_argument("--serve", action="store_true", help="print the command that serves the adapters")
    parser.add_argument("--threads", type=int, default=1, help="processors it takes; the weights depend on them")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    plan = plan_of_job(args.spec, args.experiment)
    training = plan.training(args.training)
    if args.serve:
        print("\n".join(_served(plan.layout, training)))
        return 0
    phase = training.phase(args.phase)
    check_digest(args, phase.trained_digest)
    check_consent(plan)
    _changing(training, phase)
    settings = Settings(**training.optimiser)
    examples = read_examples(Path(training.examples(plan.layout, phase.label)), REPLIES[settings.loss])
    try:
        from cortexdsl_train.fit.fitting import fit
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        raise InputError(f'training needs {error.name}\n    install the extra: pip install ".[train]"') from None
    fit(
        base_folder(training, phase),
        examples,
        settings,
        Path(plan.layout.phase(training.name, phase.label)),
        training=phase.trained_digest,
        threads=args.threads,
        sampling=_sampling(training, phase) if settings.loss == "grpo" else None,
    )
    return 0


def _sampling(training: Training, phase: Phase) -> GroupSampling:
    """Return how replies are drawn and rewarded: right by the golds, or by what the debates decided."""
    task, options, by_majority = training.task, phase.begins.options, training.said.by_majority
    questions = {question.id: question for question in task.questions}

    def reward(question: str, label: str, text: str) -> float:
        reader = task.reader(questions[question])
        answer = reader.read("answer", text).value
        return float(is_label(answer, label, reader)) if by_majority else task.grade(question, answer)

    return GroupSampling(
        training.said.samples, options.get("temperature", 1.0), options.get("max_tokens", MOST_TOKENS), reward
    )


def _changing(training: Training, phase: Phase) -> Model:
    """Return the model that comes out of a phase; refuse one that cannot learn."""
    if phase.trained is None:
        raise InputError(
            f"training {training.name}: {phase.begins.model} has no weights that could change\n"
            "    train a model of tiny/ or one that a server answers for"
        )
    return phase.trained


def _served(layout: Layout, training: Training) -> Sequence[str]:
    last = {phase.role: phase for phase in training.phases}.values()
    adapters = [
        (
            _changing(training, phase).model.partition("/")[2],
            base_folder(training, phase),
            Path(layout.phase(training.name, phase.label), "adapter"),
        )
        for phase in last
    ]
    return serve_commands(adapters, training.optimiser["rank"])
