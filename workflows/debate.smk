# One job debates one shard of questions under one cell. Its call log is not an output: it outlives a failed job.


rule debate:
    input:
        # Not `ancient`: if the job of an ancient input runs again, Snakemake (9.27) ignores changed digests of the jobs
        # that read it, and debates would not run again after an edit.
        Layout("results/{experiment}").declared,
        to_debate,
    output:
        Layout("results/{experiment}").debates("{dataset}", "{cell}", "{shard}"),
    log:
        "results/{experiment}/logs/debates/{dataset}/{cell}/{shard}.log",
    conda:
        "../environment.yml"
    # With a worker, a job that waits for model servers takes no core, but its share of the connections.
    threads: threads_of
    resources:
        connections=connections,
    params:
        spec=spec_path,
        digest=lambda wildcards: debate_digest(
            plan_of(wildcards.experiment),
            wildcards.dataset,
            wildcards.cell,
            wildcards.shard,
        ),
    shell:
        "cortexdsl debate {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --cell {wildcards.cell:q} --shard {wildcards.shard} --digest {params.digest}"
        " --connections {resources.connections} --threads {threads} --out {output:q}"
        + (" --errors-again" if ERRORS_AGAIN else "")
        + " > {log:q} 2>&1"
