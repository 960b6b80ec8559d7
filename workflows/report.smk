# The report: one page, its figures and tables.


rule report:
    input:
        plan=Layout("results/{experiment}").plan,
        scores=Layout("results/{experiment}").table("scores"),
        rounds=Layout("results/{experiment}").table("rounds"),
        metrics=Layout("results/{experiment}").metrics,
        comparisons=Layout("results/{experiment}").comparisons,
        omnibus=Layout("results/{experiment}").omnibus,
        bounds=Layout("results/{experiment}").bounds,
        ranks=Layout("results/{experiment}").ranks,
        hypotheses=Layout("results/{experiment}").hypotheses,
        agreement=lambda wildcards: (
            Layout(f"results/{wildcards.experiment}").agreement
            if plan_of(wildcards.experiment).judging
            else []
        ),
        effects=lambda wildcards: (
            Layout(f"results/{wildcards.experiment}").effects
            if plan_of(wildcards.experiment).whatifs
            else []
        ),
    output:
        page=Layout("results/{experiment}").report,
    log:
        "results/{experiment}/logs/report.log",
    conda:
        "../environment.yml"
    shell:
        "cortexdsl report results/{wildcards.experiment:q} > {log:q} 2>&1"
