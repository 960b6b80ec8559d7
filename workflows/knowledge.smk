# Knowledge pools: what each source finds for a dataset's questions, kept with the experiment.


rule pool:
    input:
        lambda wildcards: plan_of(wildcards.experiment).pool_inputs(
            wildcards.dataset, wildcards.source
        ),
    output:
        Layout("results/{experiment}").pool("{dataset}", "{source}"),
    log:
        "results/{experiment}/logs/pools/{dataset}/{source}.log",
    conda:
        "../environment.yml"
    threads: lambda wildcards: 0 if is_waiting(wildcards) else 1
    resources:
        connections=connections,
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).pool_digest(
            wildcards.dataset, wildcards.source
        ),
    shell:
        "cortexdsl pool {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --source {wildcards.source:q} --connections {resources.connections}"
        " --threads {threads} --out {output:q}"
        " > {log:q} 2>&1"
