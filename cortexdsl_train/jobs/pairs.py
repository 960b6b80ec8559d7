"""Rule `pairs`: choose what a phase of a training learns from among its trajectories."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.engine.trajectories import role_turns
from cortexdsl.jobs.arguments import add_shared, add_spec, plan_of_job
from cortexdsl.plan.persistence.recording import record_files, seal_manifest
from cortexdsl_train.pairs import check_whole, read_moments, select_examples, selection_csv


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    add_shared(parser, "--training --phase")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_job(args.spec, args.experiment)
    training = plan.training(args.training)
    phase, layout = training.phase(args.phase), plan.layout
    paths = [layout.trajectories(training.name, phase.label, shard.label) for shard in training.shards]
    moments = [moment for path in paths for moment in read_moments(Path(path), phase.digest)]
    questions = [question.id for question in training.task.questions]
    if training.said.is_guided:
        turns = [turn for turn, _ in role_turns(phase.method, phase.role)]
        check_whole(moments, [(question, turn) for question in questions for turn in turns])
    else:  # how often the role answers is not known in advance
        check_whole(moments, {(moment.question, moment.turn) for moment in moments if moment.question in questions})
    made = select_examples(moments, training.said.threshold, training.validation)
    where = training.name, phase.label
    write_lines(Path(layout.pairs(*where)), made.pairs)
    write_lines(Path(layout.imitated(*where)), made.examples)
    write_lines(Path(layout.prompts(*where)), made.prompts)
    write_lines(Path(layout.kept(*where)), selection_csv(made))
    files = layout.pairs, layout.imitated, layout.prompts, layout.kept
    record_files(layout, [file(*where) for file in files])
    seal_manifest(layout)
    print(
        f"{training.name} {phase.label}: {len(made.pairs)} pairs of {len(moments)} moments, "
        f"{len(made.examples)} examples to imitate, {len(made.prompts)} prompts",
        file=sys.stderr,
    )
    return 0
