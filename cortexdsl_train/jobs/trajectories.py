"""Rule `trajectories`: run one shard of the debates that a phase learns from."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from pathlib import Path

from cortexdsl.core import OtherQuestion, Ports, Question
from cortexdsl.engine.methods import names_in
from cortexdsl.engine.placebo import draw_other_question
from cortexdsl.jobs.arguments import ClientOptions, add_shared, add_spec, check_digest, plan_of_job
from cortexdsl.jobs.debate import debates_at_once, renderer
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.persistence.declaration import declaration_of
from cortexdsl.plan.persistence.recording import declare, record_files
from cortexdsl.plan.training import Phase, Training, serve_adapters, slug_of
from cortexdsl_train.trajectories import collect


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    add_shared(parser, "--training --phase --shard --digest --connections --errors-again")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_job(args.spec, args.experiment)
    training = plan.training(args.training)
    phase = training.phase(args.phase)
    check_digest(args, phase.digest)
    check_consent(plan)
    declare(plan.layout, declaration_of(plan))
    counts = asyncio.run(_collect(plan, training, phase, args.shard, ClientOptions.of(plan, args)))
    print(
        f"{training.name} {phase.label} {args.shard}: {counts.asked} calls sent, {counts.replayed} replayed, "
        f"{counts.failed} failed",
        file=sys.stderr,
    )
    return 0


async def _collect(plan: Plan, training: Training, phase: Phase, label: str, options: ClientOptions) -> CallCounts:
    shard, layout = training.shard(label), plan.layout
    log = Path(layout.train_calls(training.name, phase.label, label))
    slug = slug_of(training.name, phase.label)
    await serve_adapters(plan, phase.method.models)
    job = JobInfo(f"{slug}~{label}", training.task.label, slug, label, digest=phase.digest)
    async with options.open(plan, log, job) as client:
        embedder = Embedder(client, plan.models)

        def ports(question: Question) -> Ports:
            task = training.task
            render = renderer(plan.templates, task, question)
            return Ports(client, render, task.reader(question, names_in(phase.method)), embedder, other=other)

        def other(question: Question, chance: random.Random) -> OtherQuestion:
            drawn = draw_other_question(training.task.questions, question, chance)
            return OtherQuestion(drawn, ports(drawn))

        counts = await collect(
            training,
            phase,
            training.questions(shard),
            ports,
            client,
            plan.templates,
            Path(layout.trajectories(training.name, phase.label, label)),
            seed=plan.seed,
            at_once=debates_at_once(options.limits.connections),
        )
    record_files(layout, [layout.trajectories(training.name, phase.label, label), log])
    return counts
