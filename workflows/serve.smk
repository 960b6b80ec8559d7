# What runs beside the jobs, started when there is work and stopped whatever happens: model servers that a spec declares
# (docs/decisions/002-model-servers.md), and the worker that jobs start warm from (docs/decisions/017-warm-worker.md).

from cortexdsl.plan.jobs.waiting import ways
from cortexdsl.plan.known import refuse_other_questions
from cortexdsl.serve import (
    refuse_paid,
    refuse_unset,
    start_servers,
    stop_servers,
    what_runs,
)
from cortexdsl.watch.expected import announce
from cortexdsl.worker.alone import hold
from cortexdsl.worker.start import start_worker, stop_workers
from cortexdsl.worker.stopping import interrupt_on_signals, stop_on_signals

SERVERS, WORKERS, LOCKS = [], [], []
RUNNING = []  # experiments of this run


def begin(needed, experiments):
    """Start what runs beside the jobs, and tell the display what is to be done."""
    asking = {
        job.wildcards.experiment
        for job in needed
        if job.rule.name in ("debate", "judge", "look", "pool")
    }
    # Without a name and without a target, every spec in specs/ runs.
    if config.get("spec") is None and not set(workflow.dag_settings.targets) - {"all"}:
        refuse_paid([plan_of(name) for name in experiments])
        logger.info(what_runs(experiments))
    LOCKS.extend(hold(Path(Layout(f"results/{name}").root)) for name in experiments)
    refuse_other_questions([plan_of(name) for name in sorted(asking)])
    refuse_unset([plan_of(name) for name in sorted(asking)])
    SERVERS.extend(start_servers([plan_of(name) for name in sorted(asking)]))
    # Where jobs run is known after parsing. A job of another machine cannot watch this process, and must not try.
    if IS_WARM and workflow.local_exec:
        asked = {way for name in asking for way in ways(plan_of(name))}
        log = Path(Layout(f"results/{experiments[0]}").root) / "logs" / "worker.log"
        WORKERS.extend(start_worker(sorted(asked), log))
    announced = announce([plan_of(name) for name in sorted(asking)], needed)
    logger.info(None, extra={"announced": announced})
    RUNNING.extend(experiments)


def beside():
    """Return the processes that run beside the jobs."""
    servers = [server.process.pid for server in SERVERS if server.process]
    return [*servers, *(worker.process.pid for worker in WORKERS)]


def stop(signal_name):
    """Keep further jobs from starting; the run ends with those that run."""
    workflow.scheduler.exit_gracefully()
    logger.info(None, extra={"stopped_by": signal_name})


def end():
    """Stop what runs beside the jobs."""
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
        sys.exit(130)
    if (
        workflow.local_exec
    ):  # a cluster's jobs are cancelled by Snakemake, at Ctrl-C
        stop_on_signals(stop, beside)


onsuccess:
    end()
    for name in RUNNING:
        if Path(Layout(f"results/{name}").report).exists():
            said = f"report: results/{name}/report.html (in words: cortexdsl report results/{name} --text)"
            logger.info(said, extra={"is_last_word": True})


onerror:
    end()
    from cortexdsl.report.stopped import (
        last_words,
    )  # a run that ends well need not pay for it

    for name in RUNNING:
        said = last_words(name)
        if said:
            logger.info(said, extra={"is_last_word": True})
