# Labels: if the spec has `labels`, the turns of each cell's debates are labelled, by rules and by the judge.

PRODUCTS.append(
    lambda plan: (
        [*all_labels(plan), plan.layout.table("labels")] if plan.labelling else []
    )
)


rule label:
    input:
        to_judge,
    output:
        Layout("results/{experiment}").part("labels", "{dataset}", "{cell}"),
    log:
        "results/{experiment}/logs/labels/{dataset}/{cell}.log",
    conda:
        "../environment.yml"
    threads: threads_of
    resources:
        connections=connections,
    params:
        spec=spec_path,
        digest=lambda wildcards: label_digest(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.cell
        ),
    shell:
        "cortexdsl label {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --cell {wildcards.cell:q} --connections {resources.connections}"
        " --threads {threads} --out {output:q}"
        + (" --errors-again" if ERRORS_AGAIN else "")
        + " > {log:q} 2>&1"


rule labels:
    input:
        lambda wildcards: all_labels(plan_of(wildcards.experiment)),
    output:
        Layout("results/{experiment}").table("labels"),
    log:
        "results/{experiment}/logs/labels.log",
    localrule: True
    conda:
        "../environment.yml"
    params:
        spec=spec_path,
    shell:
        "cortexdsl labels {params.spec:q} --experiment {wildcards.experiment:q}"
        " > {log:q} 2>&1"
