# What the rules share: which experiments are asked for, and what their specs mean.

import os
import sys
from functools import cache
from pathlib import Path
from shlex import quote
from types import SimpleNamespace

from snakemake.io import IOFile

from cortexdsl.errors import CortexError, InputError
from cortexdsl.plan import PARTS, TABLES, Layout, compile_spec, sound_experiments
from cortexdsl.plan.jobs.again import failed_jobs, failed_judgements
from cortexdsl.plan.outdated import outdated_outputs
from cortexdsl.plan.kept.looks import batches_by_cell, live_in, read_look
from cortexdsl.plan.jobs.waiting import (
    connections_per_job,
    debates_wait,
    judge_waits,
    pool_waits,
)
from cortexdsl.serve import tell_jobs_at_once, told_jobs_at_once

# Jobs find the command beside the Python that runs Snakemake, whether or not its environment is active; but not where
# Snakemake makes an environment for each job (conda, a container): that one comes first, with a cortexdsl of its own.
DEPLOYED = bool(workflow.deployment_settings.deployment_method)
BESIDE = (
    "" if DEPLOYED else f"export PATH={quote(str(Path(sys.executable).parent))}:$PATH; "
)
shell.prefix(f"set -euo pipefail; {BESIDE}")

# Jobs of this machine start warm from a worker that the run has beside it; they run by themselves where it is not
# wanted (`--config worker=false`), in environments of their own, and on a cluster.
IS_WARM = (
    workflow.is_main_process
    and workflow.local_exec
    and not DEPLOYED
    and str(config.get("worker", True)).lower() != "false"
)


# An experiment may lie in a folder (examples/groups), but not in a stage of another one.
wildcard_constraints:
    experiment=r"(?:(?!/(?:calls|debates|judgements|looks|parts|pools|train)/)[^~])+?",
    dataset=r"[^/]+",
    cell=r"[^/]+",
    source=r"[^/]+",
    shard=r"r\d+-s\d+",
    batch=r"[1-9]\d*",
    training=r"[^/]+",
    phase=r"[1-9]\d*-[A-Za-z_]\w*",


def refuse(error):
    """End with one clear message: Snakemake's own errors add where in the rules they were raised."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2 if isinstance(error, InputError) else 1)


# A spec is compiled once a parse.
compiled = cache(compile_spec)


@cache
def plan_of(experiment):
    """Return what a spec means."""
    try:
        return compiled(EXPERIMENTS.get(experiment, experiment), experiment)
    except CortexError as error:
        refuse(error)


def jobs_at_once():
    """On this machine one a core, on a cluster as many as its profile says; where jobs run is known after parsing."""
    if not workflow.is_main_process:
        return told_jobs_at_once()
    return tell_jobs_at_once(workflow.cores if workflow.local_exec else workflow.nodes)


def is_waiting(wildcards):
    """Say whether a job only waits, in the worker's loop beside others: a debate, or what names a source or judges."""
    if not (IS_WARM and workflow.local_exec) or "training" in wildcards.keys():
        return False
    plan = plan_of(wildcards.experiment)
    if "shard" in wildcards.keys():
        return debates_wait(plan, wildcards.cell)
    if "source" in wildcards.keys():
        return pool_waits(plan, wildcards.source)
    return judge_waits(plan)


def connections(wildcards):
    """Connections that a job takes of those that the run may have."""
    plan = plan_of(wildcards.experiment)
    return connections_per_job(plan, jobs_at_once(), is_warm=is_waiting(wildcards))


def looks_of(experiment):
    """The looks up to the one at which the experiment stops, taken one after the other; none without stopping."""
    plan, looks = plan_of(experiment), []
    for batch in range(1, plan.batches + 1) if plan.stopping else ():
        taken = checkpoints.look.get(experiment=experiment, batch=str(batch))
        looks.append(taken.output.look)
        if read_look(Path(looks[-1]))["decided"]:
            break
    return looks


def to_score(wildcards):
    """What one cell's scores are made of: its debates, with stopping as far as the looks have asked for them."""
    force_outdated(wildcards.experiment)
    plan, looks = plan_of(wildcards.experiment), looks_of(wildcards.experiment)
    batches = batches_by_cell(plan, len(looks))[wildcards.cell] if looks else None
    return [*plan.debates_of(wildcards.dataset, wildcards.cell, batches), *looks]


def products_of(experiment):
    """Return every file that an experiment ends with: one that is missing is made again."""
    plan = plan_of(experiment)
    cells = (
        SimpleNamespace(experiment=experiment, dataset=dataset, cell=cell.slug)
        for dataset in plan.tasks
        for cell in plan.cells
    )
    return [*(path for cell in cells for path in to_score(cell)), *plan.products]


def products(wildcards):
    """Return everything that the experiments of this run end with."""
    return [path for name in EXPERIMENTS for path in products_of(name)]


def to_look(wildcards):
    """What a look reads: the debates of its batch. With racing the look before says whose they are."""
    plan, batch = plan_of(wildcards.experiment), int(wildcards.batch)
    if plan.is_racing and batch > 1:
        checkpoints.look.get(experiment=wildcards.experiment, batch=str(batch - 1))
        return plan.look_inputs(batch, live_in(plan, batch))
    return plan.look_inputs(batch)


def to_train(wildcards):
    """What a phase learns from, and the models of earlier phases that it goes on from."""
    plan = plan_of(wildcards.experiment)
    training = plan.training(wildcards.training)
    phase = training.phase(wildcards.phase)
    learns_pairs = training.optimiser.loss != "sft"
    examples = plan.layout.pairs if learns_pairs else plan.layout.imitated
    before = [earlier.made for earlier in training.before(phase)]
    return [examples(training.name, phase.label), *before]


try:
    EXPERIMENTS, BROKEN = sound_experiments(config.get("spec"), compiled)
except CortexError as error:
    refuse(error)

# The display names the reports that are there if nothing is left to be done.
if workflow.is_main_process:
    reports = [Layout(f"results/{name}").report for name in EXPERIMENTS]
    there = [f"report: {path}" for path in reports if Path(path).exists()]
    logger.info(None, extra={"reports": there})

# `--config errors_again=true` asks calls again that failed: debates that may have heard of one run again, with their
# replies from the call logs. No param says so, or the next run without it would run them once more.
ERRORS_AGAIN = str(config.get("errors_again", False)).lower() in ("true", "yes", "1")
# `--config trust=package.module:function` (several with commas) lets tools of the specs call it.
TRUST = "".join(
    f" --trust {quote(name.strip())}"
    for name in str(config.get("trust", "")).split(",")
    if name.strip()
)


def is_unknown(path):
    """Return whether a file is there, and `.snakemake` holds nothing about it."""
    record = IOFile(path, rule=workflow.get_rule("plan"))
    return os.path.exists(path) and workflow.persistence.metadata(record) is None


@cache
def force_outdated(experiment):
    """Have Snakemake make again what it cannot know to be outdated, once for each graph of jobs.

    Results may come from elsewhere without `.snakemake`, which has the digests that Snakemake goes by. What asks models
    is then made again if its own digests differ. Tables are always made again, which costs no call.
    """
    if not workflow.is_main_process:
        return
    plan = plan_of(experiment)
    again = outdated_outputs(plan)
    looks = [plan.layout.look(batch) for batch in range(1, plan.batches + 1)]
    again.update(filter(is_unknown, [plan.layout.plan, *looks, *plan.parts("scores")]))
    if ERRORS_AGAIN:
        again.update(plan.layout.debates(*job) for job in failed_jobs(plan))
        again.update(plan.layout.judgements(*cell) for cell in failed_judgements(plan))
    workflow.dag.forcefiles.update(again)


def to_judge(wildcards):
    """What a judge reads."""
    force_outdated(wildcards.experiment)
    return to_score(wildcards)


def to_debate(wildcards):
    """What a debate job reads."""
    force_outdated(wildcards.experiment)
    return plan_of(wildcards.experiment).debate_inputs(
        wildcards.dataset, wildcards.cell, wildcards.shard
    )


def to_plan(wildcards):
    """What the plan reads: it tells the ledger of edits, which would else make what is another rule's output."""
    force_outdated(wildcards.experiment)
    return plan_of(wildcards.experiment).layout.declared


# Connections are shared by the jobs that run at once: their sum is capped here, since a resource without a cap is
# unlimited. A cap given with --resources stands.
CONNECTIONS = max(
    (plan_of(name).limits.connections for name in EXPERIMENTS), default=16
)
workflow.resource_settings.resources.setdefault("connections", CONNECTIONS)
