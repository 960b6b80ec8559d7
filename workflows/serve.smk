# Model servers that a spec declares: started when there is work, waited for, stopped whatever happens
# (docs/decisions/002-model-servers.md).

from cortexdsl.serve import start_servers, stop_servers

SERVERS = []


onstart:
    asking = [
        job
        for job in workflow.dag.needrun_jobs()
        if job.rule.name in ("debate", "judge", "look", "pool")
    ]
    names = sorted({job.wildcards.experiment for job in asking})
    try:
        SERVERS.extend(start_servers([plan_of(name) for name in names]))
    except CortexError as error:
        refuse(error)


onsuccess:
    stop_servers(SERVERS)
    for name in EXPERIMENTS:
        if Path(f"results/{name}/report.html").exists():
            print(
                f"report: results/{name}/report.html (in words: cortexdsl report results/{name} --text)"
            )


onerror:
    stop_servers(SERVERS)
