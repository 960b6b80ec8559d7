# Processes that start before the first job and stop at the end of the run: the model servers that a spec declares
# (docs/decisions/002-model-servers.md) and the worker (docs/decisions/017-warm-worker.md).

from cortexdsl.plan.jobs.consent import check_consent, permit, request_of
from cortexdsl.plan.jobs.schedule import lift_default_rate, ways
from cortexdsl.plan.compiled import write_compiled
from cortexdsl.plan.persistence.history import refuse_other_questions
from cortexdsl.plan.persistence.run_record import begin_run, end_run
from cortexdsl.jobs.serve import (
    refuse_missing_engines,
    refuse_paid,
    refuse_unset,
    lines_in_force,
    start_servers,
    stop_servers,
    what_runs,
)
from cortexdsl.display.expected import announce
from cortexdsl.worker.run import (
    interrupt_on_signals,
    lock_experiment,
    start_worker,
    stop_on_signals,
    stop_workers,
    unlock,
)
from cortexdsl.worker.process import name_run

SERVERS, WORKERS, LOCKS = [], [], []
RUNNING = []  # experiments of this run
SIGNALLED = []  # the name of the signal that stopped this run
SETTLE = []  # waits for what a signal has begun


def begin(needed, experiments):
    """Start the servers and the worker, and tell the display which jobs will run."""
    asking = {
        job.wildcards.experiment
        for job in needed
        if job.rule.name in ("debate", "judge", "label", "look", "pool")
    }
    # Without a name and without a target, every spec in specs/ runs.
    if config.get("spec") is None and not set(workflow.dag_settings.targets) - {"all"}:
        refuse_paid([plan_of(name) for name in experiments])
        logger.info(what_runs(experiments), extra={"is_own": True})
    for name in experiments:
        check_consent(plan_of(name), TRUSTED)
    permit(request_of(plan_of(name)) for name in experiments)
    for name in experiments:
        LOCKS.append(lock_experiment(Path(Layout(f"results/{name}").root)))
    refuse_other_questions([plan_of(name) for name in sorted(asking)])
    refuse_unset([plan_of(name) for name in sorted(asking)])
    if workflow.local_exec and not DEPLOYED:
        refuse_missing_engines([plan_of(name) for name in sorted(asking)])
    # A run that is refused has not begun: nothing of it is put back afterwards.
    for name, lock in zip(experiments, LOCKS):
        record_begin(name, needed, has_lock=lock is not None)
    SERVERS.extend(start_servers([plan_of(name) for name in sorted(asking)]))
    for name in experiments:
        write_compiled(plan_of(name))
    for line in lines_in_force([plan_of(name) for name in sorted(asking)]):
        logger.info(line, extra={"is_own": True})
    # Jobs on other machines must not be given the process id of this run, which they would watch.
    if IS_WARM and workflow.local_exec:
        needed_ways = {way for name in asking for way in ways(plan_of(name))}
        log = Path(Layout(f"results/{experiments[0]}").root) / "logs" / "worker.log"
        WORKERS.extend(start_worker(sorted(needed_ways), log))
    elif workflow.local_exec and not DEPLOYED:
        name_run()  # jobs that run by themselves end with this run, too
    announced = announce([plan_of(name) for name in sorted(asking)], needed)
    logger.info(None, extra={"announced": announced})
    RUNNING.extend(experiments)


def record_begin(name, needed, has_lock):
    """Record what this run has to make of an experiment."""
    outputs = [
        path
        for job in needed
        if getattr(job.wildcards, "experiment", None) == name
        for path in job.output
    ]
    plan = plan_of(name)
    begin_run(
        plan.layout,
        outputs,
        plan.digest,
        has_lock=has_lock,
        jobs_at_once=jobs_at_once(name),
    )


def beside():
    """Return the process ids of the servers and the worker."""
    servers = [server.process.pid for server in SERVERS if server.process]
    return [*servers, *(worker.process.pid for worker in WORKERS)]


def stop(signal_name):
    """Start no further job; the run ends after those that run."""
    SIGNALLED.append("Ctrl-C" if signal_name == "SIGINT" else signal_name)
    # First: jobs that the signal ended too are not reported as failed. The scheduler's lock may take seconds.
    logger.info(None, extra={"stopped_by": signal_name})
    workflow.scheduler.exit_gracefully()


def end():
    """Stop the servers and the worker, after a stop by a signal has been told."""
    for settle in SETTLE:
        settle()
    stop_workers(WORKERS)
    stop_servers(SERVERS)


onstart:
    needed = list(workflow.dag.needrun_jobs())
    experiments = sorted(
        {getattr(job.wildcards, "experiment", None) for job in needed} - {None}
    )
    interrupt_on_signals()
    try:
        begin(needed, experiments)
    except CortexError as error:
        refuse(error)
    except KeyboardInterrupt:
        end()
        print("stopped before the first job", file=sys.stderr)
        sys.exit(1)
    if workflow.local_exec:
        lift_default_rate(workflow.scheduler)
        # A cluster's jobs are cancelled by Snakemake, at Ctrl-C.
        SETTLE.append(stop_on_signals(stop, beside))


onsuccess:
    end()
    for name in RUNNING:
        if STORAGE:
            STORAGE.store(Layout(f"results/{name}"), is_done=True)
            continue
        end_run(Layout(f"results/{name}"), "done")
        if Path(Layout(f"results/{name}").report).exists():
            message = f"report: results/{name}/report.html (in words: cortexdsl report results/{name} --text)"
            logger.info(message, extra={"is_last_word": True})


onerror:
    end()
    from cortexdsl.report.unfinished import (
        last_words,
    )  # a run that ends well need not pay for it

    while LOCKS:  # this run is no longer at work
        unlock(LOCKS.pop())
    for name in RUNNING:
        state = (
            "failed" if not SIGNALLED and workflow.scheduler.failed else "stopped"
        )
        end_run(Layout(f"results/{name}"), state, "".join(SIGNALLED[:1]))
        if STORAGE:
            STORAGE.store(Layout(f"results/{name}"), is_done=False)
        message = last_words(name)
        if message:
            logger.info(message, extra={"is_last_word": True})
