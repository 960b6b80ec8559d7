# The tables of all cells, and the verdict: metrics with intervals, comparisons by family, and claims.

PRODUCTS.append(
    lambda plan: [
        *(plan.layout.table(table) for table in TABLES),
        plan.layout.metrics,
        plan.layout.comparisons,
        plan.layout.hypotheses,
    ]
)


rule verdict:
    input:
        plan=Layout("results/{experiment}").plan,
        parts=lambda wildcards: [
            part
            for table in TABLES
            for part in table_parts(plan_of(wildcards.experiment), table)
        ],
        answers=lambda wildcards: answer_files(plan_of(wildcards.experiment)),
    output:
        [Layout("results/{experiment}").table(table) for table in TABLES],
        metrics=Layout("results/{experiment}").metrics,
        comparisons=Layout("results/{experiment}").comparisons,
        hypotheses=Layout("results/{experiment}").hypotheses,
    log:
        "results/{experiment}/logs/verdict.log",
    localrule: IS_APART
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "cortexdsl verdict results/{wildcards.experiment:q} > {log:q} 2>&1"
