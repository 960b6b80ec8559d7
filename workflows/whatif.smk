# Counterfactuals: finished debates repeated without an agent, an edge, a round or a step. One job for an experiment,
# because most of its calls are in the logs.

PRODUCTS.append(lambda plan: [plan.layout.effects] if plan.whatifs else [])


rule whatif:
    input:
        scores=Layout("results/{experiment}").table("scores"),
        plan=Layout("results/{experiment}").plan,
    output:
        effects=Layout("results/{experiment}").effects,
    log:
        "results/{experiment}/logs/whatif.log",
    conda:
        "../environment.yml"
    resources:
        connections=lambda wildcards: connections_per_job(
            plan_of(wildcards.experiment), jobs_at_once(wildcards.experiment)
        ),
    params:
        spec=spec_path,
        digest=lambda wildcards: whatif_digest(plan_of(wildcards.experiment)),
    shell:
        "cortexdsl whatif {params.spec:q} --experiment {wildcards.experiment:q}"
        + " --connections {resources.connections} > {log:q} 2>&1"
