# Judgements: where `judged` is asked for, a model is asked about the answers of each cell. It is told the golds: its
# calls lie in a folder of their own, where no debate looks.


rule judge:
    input:
        to_judge,
    output:
        Layout("results/{experiment}").judgements("{dataset}", "{cell}"),
    log:
        "results/{experiment}/logs/judgements/{dataset}/{cell}.log",
    conda:
        "../environment.yml"
    threads: lambda wildcards: 0 if is_waiting(wildcards) else 1
    resources:
        connections=connections,
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).judge_digest(
            wildcards.dataset, wildcards.cell
        ),
    shell:
        "cortexdsl judge {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --cell {wildcards.cell:q} --connections {resources.connections}"
        " --threads {threads} --out {output:q}"
        + (" --errors-again" if ERRORS_AGAIN else "")
        + " > {log:q} 2>&1"


rule agreement:
    input:
        lambda wildcards: plan_of(wildcards.experiment).judgements(),
    output:
        Layout("results/{experiment}").agreement,
    log:
        "results/{experiment}/logs/agreement.log",
    localrule: True
    conda:
        "../environment.yml"
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
    shell:
        "cortexdsl agreement {params.spec:q} --experiment {wildcards.experiment:q}"
        " > {log:q} 2>&1"
