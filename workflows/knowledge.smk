# Knowledge pools: the passages that each source finds for the questions of a dataset, stored with the experiment.

PRODUCTS.append(lambda plan: all_pools(plan))


rule pool:
    input:
        lambda wildcards: pool_inputs(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.source
        ),
    output:
        Layout("results/{experiment}").pool("{dataset}", "{source}"),
    log:
        "results/{experiment}/logs/pools/{dataset}/{source}.log",
    conda:
        "../environment.yml"
    threads: threads_of
    resources:
        connections=connections,
    params:
        spec=spec_path,
        digest=lambda wildcards: pool_digest(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.source
        ),
    shell:
        "cortexdsl pool {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --source {wildcards.source:q} --connections {resources.connections}"
        " --threads {threads} --out {output:q}"
        " > {log:q} 2>&1"
