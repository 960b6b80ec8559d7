# Scores and other measures of the records: each cell's part of every table, then the tables of all cells.

PRODUCTS.append(
    lambda plan: [
        *(part for table in PARTS for part in table_parts(plan, table)),
        *(plan.layout.table(table) for table in TABLES),
    ]
)


rule score:
    input:
        to_score,
        lambda wildcards: judgement_files(
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


rule join:
    input:
        lambda wildcards: [
            part
            for table in TABLES
            for part in table_parts(plan_of(wildcards.experiment), table)
        ],
    output:
        [Layout("results/{experiment}").table(table) for table in TABLES],
    log:
        "results/{experiment}/logs/join.log",
    localrule: True
    conda:
        "../environment.yml"
    params:
        spec=spec_path,
        digest=lambda wildcards: join_digest(plan_of(wildcards.experiment)),
    shell:
        "cortexdsl join {params.spec:q} --experiment {wildcards.experiment:q}"
        " > {log:q} 2>&1"
