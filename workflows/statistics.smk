# The verdict: metrics with intervals, comparisons by family, bounds, and claims.

PRODUCTS.append(
    lambda plan: [
        plan.layout.metrics,
        plan.layout.comparisons,
        plan.layout.bounds,
        plan.layout.hypotheses,
    ]
)


rule verdict:
    input:
        plan=Layout("results/{experiment}").plan,
        scores=Layout("results/{experiment}").table("scores"),
        answers=lambda wildcards: answer_files(plan_of(wildcards.experiment)),
    output:
        metrics=Layout("results/{experiment}").metrics,
        comparisons=Layout("results/{experiment}").comparisons,
        bounds=Layout("results/{experiment}").bounds,
        hypotheses=Layout("results/{experiment}").hypotheses,
    log:
        "results/{experiment}/logs/verdict.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "cortexdsl verdict results/{wildcards.experiment:q} > {log:q} 2>&1"
