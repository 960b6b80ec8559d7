# Shared by all rules: the experiments of this run, their compiled specs, and the functions that rules take their
# inputs, params and resources from.

import os
import re
import sys
from functools import cache
from pathlib import Path
from shlex import quote
from types import SimpleNamespace

from snakemake.io import IOFile
from snakemake.settings.types import DeploymentMethod, SharedFSUsage

from cortexdsl.display.launch import end_on_signals
from cortexdsl.errors import CortexError, InputError, nearest
from cortexdsl.import_path import protect_children
from cortexdsl.jobs.arguments import plan_of_job
from cortexdsl.plan.compiler import sound_experiments
from cortexdsl.plan.layout import PARTS, TABLES, TOURNAMENT_TABLES, Layout
from cortexdsl.plan.layout import selected_experiments
from cortexdsl.plan.forecast.rounds import rounds_of
from cortexdsl.plan.forecast.validation import validated_plan
from cortexdsl.plan.job_digests import (
    debate_digest,
    ballots_digest,
    judge_digest,
    label_digest,
    look_digest,
    pool_digest,
    rounds_digest,
    score_digest,
    whatif_digest,
)
from cortexdsl.plan.job_files import (
    all_ballots,
    all_judgements,
    all_labels,
    all_pools,
    all_trajectories,
    answer_files,
    cost_logs,
    debate_files,
    debate_inputs,
    fit_files,
    fit_inputs,
    judge_logs,
    judgement_files,
    kept_tables,
    label_files,
    look_inputs,
    pool_inputs,
    round_inputs,
    round_logs,
    round_parts,
    table_parts,
    tournament_tables,
    trained_models,
    trajectory_files,
    trajectory_inputs,
)
from cortexdsl.plan.jobs.damaged_outputs import repair_results, restore_cut
from cortexdsl.plan.jobs.schedule import failed_outputs
from cortexdsl.plan.jobs.storage import Storage
from cortexdsl.plan.jobs.schedule import outdated_outputs
from cortexdsl.plan.persistence.store import read_look
from cortexdsl.plan.jobs.schedule import (
    connections_per_job,
    debates_wait,
    judge_waits,
    pool_waits,
)
from cortexdsl.plan.persistence.run_record import is_locked, read_run

# Until the first job starts, no step needs a cleanup.
if workflow.is_main_process:
    end_on_signals()

# Snakemake starts its own jobs by `python -m`, which would import modules of the folder that it runs in, and makes
# environments in that folder, which must not install a package from there.
protect_children()

# Jobs use the command of the Python that runs Snakemake, whether or not its environment is active. If Snakemake makes
# an environment for each job (conda, a container), jobs use the cortexdsl of that environment. Jobs without a container
# inherit the path of this process, which those in one do not.
METHODS = workflow.deployment_settings.deployment_method
DEPLOYED = bool(METHODS)
BESIDE = str(Path(sys.executable).parent)
if DEPLOYED and DeploymentMethod.CONDA not in METHODS:
    os.environ.update(PATH=os.pathsep.join([BESIDE, *os.get_exec_path()]))
shell.prefix(
    f"set -euo pipefail; {'' if DEPLOYED else f'export PATH={quote(BESIDE)}:$PATH; '}"
)

STORAGE = (
    Storage(
        workflow.storage_registry.default_storage_provider,
        workflow.storage_settings.default_storage_prefix,
    )
    if workflow.storage_settings.default_storage_provider
    else None
)

# Jobs on this machine are handed to the worker of the run. They run by themselves with `--config worker=false`, in
# environments of their own, and on a cluster.
IS_WARM = (
    workflow.is_main_process
    and workflow.local_exec
    and not DEPLOYED
    and str(config.get("worker", True)).lower() != "false"
)

# Without a file system that all machines share, what reads or writes the ledger runs where Snakemake runs.
IS_APART = SharedFSUsage.INPUT_OUTPUT not in workflow.storage_settings.shared_fs_usage


# The name of an experiment may have a folder (examples/groups), but not one that is a stage of another experiment.
wildcard_constraints:
    experiment=r"(?:(?!/(?:ballots|calls|debates|judgements|fits|looks|parts|pools|train)/)[^~])+?",
    dataset=r"[^/]+",
    cell=r"[^/]+",
    judge=r"[^/]+",
    source=r"[^/]+",
    shard=r"r\d+-s\d+",
    batch=r"[1-9]\d*",
    training=r"[^/]+",
    learned=r"[A-Za-z_]\w*(?:-\d+)?",
    phase=r"[1-9]\d*-[A-Za-z_]\w*",


def refuse(error):
    """End with one message; Snakemake's own errors would add the place in the rules where they were raised."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2 if isinstance(error, InputError) else 1)


# A spec is compiled once, when the workflow is parsed. The run refuses what `check` refuses; its jobs load the plan.
compiled = cache(validated_plan if workflow.is_main_process else plan_of_job)


@cache
def plan_of(experiment):
    """Return the compiled spec of an experiment."""
    try:
        return compiled(EXPERIMENTS.get(experiment, experiment), experiment)
    except CortexError as error:
        refuse(error)


def spec_path(wildcards):
    """Return the path of the spec of a job's experiment."""
    return plan_of(wildcards.experiment).spec_path


def jobs_at_once(experiment):
    """Return how many jobs run at once: one for each core, or on a cluster as its profile says.

    It is known only after parsing where jobs run, and only in the main process, which keeps it for jobs elsewhere.
    """
    if not workflow.is_main_process:
        record = read_run(Layout(f"results/{experiment}"))
        return record.jobs_at_once if record else 1
    return (workflow.cores if workflow.local_exec else workflow.nodes) or 1


def is_waiting(wildcards):
    """Return whether a job only waits for model servers, so that the worker runs it in its event loop.

    Jobs with a shard are debates, jobs with a source build pools, the others judge.
    """
    if not (IS_WARM and workflow.local_exec) or "training" in wildcards.keys():
        return False
    plan = plan_of(wildcards.experiment)
    if "shard" in wildcards.keys():
        return debates_wait(plan, wildcards.cell)
    if "source" in wildcards.keys():
        return pool_waits(plan, wildcards.source)
    return judge_waits(plan)


def threads_of(wildcards):
    """Return the processors of a job: none if it only waits for model servers."""
    return 0 if is_waiting(wildcards) else 1


def connections(wildcards):
    """Return how many of the run's connections a job may use."""
    return connections_per_job(
        plan_of(wildcards.experiment),
        jobs_at_once(wildcards.experiment),
        is_warm=is_waiting(wildcards),
    )


def looks_of(experiment):
    """Return the looks up to the one at which the experiment stops; none without `stopping`."""
    plan, looks = plan_of(experiment), []
    for batch in range(1, plan.batches + 1) if plan.stopping else ():
        taken = checkpoints.look.get(experiment=experiment, batch=str(batch))
        looks.append(taken.output.look)
        if read_look(Path(looks[-1]))["decided"]:
            break
    return looks


def to_score(wildcards):
    """Return the inputs of a cell's scores: its debates; with `stopping` those that the looks have asked for."""
    force_outdated(wildcards.experiment)
    plan, looks = plan_of(wildcards.experiment), looks_of(wildcards.experiment)
    debates = debate_files(plan, wildcards.dataset, wildcards.cell, len(looks) or None)
    return [*debates, *looks]


# Every file that an experiment ends with: for each file of rules a function from its plan to what these rules make.
# Debates and looks are not among them, because looks decide which there are.
PRODUCTS = []


def products_of(experiment):
    """Return every file that an experiment ends with."""
    plan = plan_of(experiment)
    cells = (
        SimpleNamespace(experiment=experiment, dataset=dataset, cell=cell.slug)
        for dataset in plan.tasks
        for cell in plan.cells
    )
    return [
        *(path for cell in cells for path in to_score(cell)),
        *(path for products_by in PRODUCTS for path in products_by(plan)),
    ]


def products(wildcards):
    """Return every file that the experiments of this run end with."""
    return [path for name in EXPERIMENTS for path in products_of(name)]


def to_look(wildcards):
    """Return the debates of a look's batch."""
    return look_inputs(plan_of(wildcards.experiment), int(wildcards.batch))


def to_train(wildcards):
    """Return the examples that a phase learns from, and the models of earlier phases that it continues."""
    plan = plan_of(wildcards.experiment)
    training = plan.training(wildcards.training)
    phase = training.phase(wildcards.phase)
    before = [earlier.made for earlier in training.before(phase)]
    return [training.examples(plan.layout, phase.label), *before]


CONFIG = ("spec", "worker", "errors_again", "trust")
try:
    for key in config:
        if key not in CONFIG:
            raise InputError(f"--config {key}: unknown key\n    {nearest(key, CONFIG)}")
    if STORAGE:
        STORAGE.link()
    if workflow.is_main_process:
        for name in selected_experiments(config.get("spec")):
            if STORAGE:
                STORAGE.fetch(Layout(f"results/{name}"))
            restore_cut(Layout(f"results/{name}"))
    EXPERIMENTS, BROKEN = sound_experiments(config.get("spec"), compiled)
    for name in EXPERIMENTS if STORAGE and workflow.is_main_process else ():
        STORAGE.refuse_edited(plan_of(name))
except CortexError as error:
    refuse(error)

# The display names the existing reports if nothing has to be done.
if workflow.is_main_process:
    reports = [Layout(f"results/{name}").report for name in EXPERIMENTS]
    there = [f"report: {path}" for path in reports if Path(path).exists()]
    logger.info(None, extra={"reports": there})

# `--config errors_again=true` repeats failed calls: debates that failed calls may have influenced run again, with their
# other replies from the call logs. This is not a param, because the next run without it would repeat these debates.
ERRORS_AGAIN = str(config.get("errors_again", False)).lower() in ("true", "yes", "1")
# `--config trust=package.module:function` (several with commas) permits tools of the specs to call these functions.
TRUSTED = [str(config.get("trust", ""))]


def is_unknown(path):
    """Return whether a file exists without a record in `.snakemake`."""
    record = IOFile(path, rule=workflow.get_rule("plan"))
    return os.path.exists(path) and workflow.persistence.metadata(record) is None


@cache
def force_outdated(experiment):
    """Force the outputs that Snakemake cannot know to be outdated, once for each graph of jobs.

    Results may have been copied without `.snakemake`, in which Snakemake keeps the digests. Outputs of jobs that call
    models are then compared by their own digests; tables are always made again, which costs no call.
    """
    if not workflow.is_main_process:
        return
    plan = plan_of(experiment)
    again = outdated_outputs(plan)
    # While another run is at work its files change; this run will not get its lock.
    # Snakemake itself fetches what a storage has.
    if not (STORAGE or workflow.dryrun or is_locked(Path(plan.layout.root))):
        repair = repair_results(plan)
        again.update(repair.outputs)
        for sentence in repair.sentences:
            logger.info(sentence, extra={"is_own": True})
    looks = [plan.layout.look(batch) for batch in range(1, plan.batches + 1)]
    again.update(
        filter(is_unknown, [plan.layout.plan, *looks, *table_parts(plan, "scores")])
    )
    if ERRORS_AGAIN:
        failed = failed_outputs(plan)
        again.update(failed)
        again.update(
            plan.layout.requests(1, *part) for part in round_parts(plan) if failed
        )
    workflow.dag.forcefiles.update(again)


def to_judge(wildcards):
    """Return the inputs of a judge job."""
    force_outdated(wildcards.experiment)
    plan = plan_of(wildcards.experiment)
    return [*to_score(wildcards), *judge_logs(plan, wildcards.dataset)]


def to_compare(wildcards):
    """Return the inputs of a judge of a tournament: the debates of all cells."""
    force_outdated(wildcards.experiment)
    plan = plan_of(wildcards.experiment)
    debates = [
        path
        for cell in plan.cells
        for path in debate_files(plan, wildcards.dataset, cell.slug)
    ]
    return [*debates, *judge_logs(plan, wildcards.dataset)]


def to_debate(wildcards):
    """Return the inputs of a debate job."""
    force_outdated(wildcards.experiment)
    return debate_inputs(
        plan_of(wildcards.experiment),
        wildcards.dataset,
        wildcards.cell,
        wildcards.shard,
    )


def to_plan(wildcards):
    """Return the input of `plan`, which writes edits into the ledger that `declare` must have begun."""
    force_outdated(wildcards.experiment)
    return plan_of(wildcards.experiment).layout.declared


# The jobs that run at once share the connections. Their sum is limited here, because a resource without a limit is
# unlimited in Snakemake; `--resources` takes precedence.
CONNECTIONS = max(
    (plan_of(name).limits.connections for name in EXPERIMENTS), default=16
)
workflow.resource_settings.resources.setdefault("connections", CONNECTIONS)


# What the rules of rounds of files have in common.
def rules_of(experiment):
    """Return what the rules of an experiment are made from: its plan, its rounds, and a name that is valid in rules."""
    plan = plan_of(experiment)
    return SimpleNamespace(
        plan=plan,
        rounds=rounds_of(plan),
        only=re.escape(experiment),
        name=re.sub(r"\W+", "_", experiment),
    )


def to_advance(wildcards):
    """Return the inputs of the advance to a round."""
    force_outdated(wildcards.experiment)
    return round_inputs(plan_of(wildcards.experiment), int(wildcards.round))


def rounds_param(wildcards):
    """Return the digest of what the requests depend on."""
    return rounds_digest(plan_of(wildcards.experiment))


def command(wildcards):
    """Return the command of an engine: its replies are asked for again if it is edited."""
    return plan_of(wildcards.experiment).engines[wildcards.engine].command


ADVANCE, FINISH = (
    "cortexdsl advance {params.spec:q} --experiment {wildcards.experiment:q} --round {params.round}"
    " --digest {params.digest} --connections {resources.connections}"
    f"{' --errors-again' if ERRORS_AGAIN else ''}{last} > {{log:q}} 2>&1"
    for last in ("", " --last")
)
