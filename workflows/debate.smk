# One job debates one shard of questions under one cell. Its call log, which is no output, outlives a failed job.


rule debate:
    input:
        # Made once. Not ancient: behind a job that runs again, Snakemake (9.27) looks at no digest of jobs for which
        # that job's output is ancient, and would leave debates as they were after an edit.
        Layout("results/{experiment}").declared,
        to_debate,
    output:
        Layout("results/{experiment}").debates("{dataset}", "{cell}", "{shard}"),
    log:
        "results/{experiment}/logs/debates/{dataset}/{cell}/{shard}.log",
    conda:
        "../environment.yml"
    # Beside a worker, a job that waits for model servers takes no core, but its share of the connections.
    threads: lambda wildcards: 0 if is_waiting(wildcards) else 1
    resources:
        connections=connections,
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).debate_digest(
            wildcards.dataset, wildcards.cell, wildcards.shard
        ),
    shell:
        "cortexdsl debate {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --cell {wildcards.cell:q} --shard {wildcards.shard} --digest {params.digest}"
        " --connections {resources.connections} --threads {threads} --out {output:q}"
        + (" --errors-again" if ERRORS_AGAIN else "")
        + TRUST
        + " > {log:q} 2>&1"
