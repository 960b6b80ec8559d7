# Scores and other measures of the records: each cell's part of every table.

PRODUCTS.append(
    lambda plan: [part for table in PARTS for part in table_parts(plan, table)]
)


rule score:
    input:
        to_score,
        lambda wildcards: cost_logs(plan_of(wildcards.experiment), wildcards.dataset),
        lambda wildcards: judgement_files(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.cell
        ),
        lambda wildcards: label_files(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.cell
        ),
    output:
        [
            Layout("results/{experiment}").part(table, "{dataset}", "{cell}")
            for table in PARTS
        ],
    log:
        "results/{experiment}/logs/scores/{dataset}/{cell}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        spec=spec_path,
        digest=lambda wildcards: score_digest(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.cell
        ),
    shell:
        "cortexdsl score {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --cell {wildcards.cell:q} > {log:q} 2>&1"
