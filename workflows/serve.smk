# What runs beside the jobs, started when there is work and stopped whatever happens: model servers that a spec declares
# (docs/decisions/002-model-servers.md), and the worker that jobs start warm from (docs/decisions/017-warm-worker.md).

from cortexdsl.plan.jobs.waiting import ways
from cortexdsl.plan.known import refuse_other_questions
from cortexdsl.serve import refuse_unset, start_servers, stop_servers
from cortexdsl.watch.expected import announce
from cortexdsl.worker.alone import hold
from cortexdsl.worker.start import start_worker, stop_workers

SERVERS, WORKERS, LOCKS = [], [], []


onstart:
    needed = list(workflow.dag.needrun_jobs())
    experiments = sorted(
        {getattr(job.wildcards, "experiment", None) for job in needed} - {None}
    )
    asking = {
        job.wildcards.experiment
        for job in needed
        if job.rule.name in ("debate", "judge", "look", "pool")
    }
    try:
        LOCKS.extend(
            hold(Path(Layout(f"results/{name}").root)) for name in experiments
        )
        refuse_other_questions([plan_of(name) for name in sorted(asking)])
        refuse_unset([plan_of(name) for name in sorted(asking)])
        SERVERS.extend(start_servers([plan_of(name) for name in sorted(asking)]))
    except CortexError as error:
        refuse(error)
    # Where jobs run is known after parsing. A job of another machine cannot watch this process, and must not try.
    if IS_WARM and workflow.local_exec:
        asked = {way for name in asking for way in ways(plan_of(name))}
        log = Path(Layout(f"results/{experiments[0]}").root) / "logs" / "worker.log"
        WORKERS.extend(start_worker(sorted(asked), log))
    announced = announce([plan_of(name) for name in sorted(asking)], needed)
    logger.info(None, extra={"announced": announced})


onsuccess:
    stop_workers(WORKERS)
    stop_servers(SERVERS)
    for name in EXPERIMENTS:
        if Path(f"results/{name}/report.html").exists():
            said = f"report: results/{name}/report.html (in words: cortexdsl report results/{name} --text)"
            logger.info(said, extra={"is_last_word": True})


onerror:
    stop_workers(WORKERS)
    stop_servers(SERVERS)
    from cortexdsl.report.stopped import (
        stopped,
        stopped_page,
    )  # a run that ends well need not pay for it

    for name in EXPERIMENTS:
        folder = Path(Layout(f"results/{name}").root)
        try:
            unfinished = stopped(folder)
            page = stopped_page(folder, unfinished) if unfinished else None
        except (
            CortexError,
            OSError,
        ):  # a full disk, a plan of a later version: the failures above say so
            continue
        if unfinished is not None:
            said = f"{name}: {unfinished.sentence}\nreport of what is there: {page}"
            logger.info(said, extra={"is_last_word": True})
