# The report: one page, its figures and tables. `snakemake --report FILE` collects figures and tables with captions.

PRODUCTS.append(
    lambda plan: [
        plan.layout.report,
        *(f"{plan.layout.root}/{name}" for name in ("view.html", "figures", "tables")),
    ]
)


rule report:
    input:
        plan=Layout("results/{experiment}").plan,
        scores=Layout("results/{experiment}").table("scores"),
        rounds=Layout("results/{experiment}").table("rounds"),
        metrics=Layout("results/{experiment}").metrics,
        comparisons=Layout("results/{experiment}").comparisons,
        hypotheses=Layout("results/{experiment}").hypotheses,
        tournament=lambda wildcards: tournament_tables(plan_of(wildcards.experiment)),
        effects=lambda wildcards: (
            Layout(f"results/{wildcards.experiment}").effects
            if plan_of(wildcards.experiment).whatifs
            else []
        ),
        labels=lambda wildcards: (
            Layout(f"results/{wildcards.experiment}").table("labels")
            if plan_of(wildcards.experiment).labelling
            else []
        ),
        kept=lambda wildcards: kept_tables(plan_of(wildcards.experiment)),
    output:
        page=Layout("results/{experiment}").report,
        view="results/{experiment}/view.html",
        figures=report(
            directory("results/{experiment}/figures"),
            patterns=["{figure}.svg"],
            caption="captions/figure.rst",
            category="{experiment}",
            subcategory="figures",
            labels={"figure": "{figure}"},
        ),
        tables=report(
            directory("results/{experiment}/tables"),
            patterns=["{table}.csv"],
            caption="captions/table.rst",
            category="{experiment}",
            subcategory="tables",
            labels={"table": "{table}"},
        ),
    log:
        "results/{experiment}/logs/report.log",
    localrule: IS_APART
    conda:
        "../environment.yml"
    threads: 2
    resources:
        mem_mb=1000,
        runtime=30,
    shell:
        "cortexdsl report results/{wildcards.experiment:q} --threads {threads} > {log:q} 2>&1"
