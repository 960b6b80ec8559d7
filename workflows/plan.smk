# Before the run: the claims as they are declared, after every prompt was rendered once. And the plan: what will be run,
# and what it will cost.


rule declare:
    output:
        # Kept where the job runs again (the spec was moved): what is declared stays declared.
        update(Layout("results/{experiment}").declared),
    log:
        "results/{experiment}/logs/declare.log",
    localrule: True
    conda:
        "../environment.yml"
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
    shell:
        "cortexdsl plan {params.spec:q} --experiment {wildcards.experiment:q} --declare"
        " > {log:q} 2>&1"


rule plan:
    input:
        to_plan,
    output:
        Layout("results/{experiment}").plan,
    log:
        "results/{experiment}/logs/plan.log",
    priority: 1  # early, since `cortexdsl status` reads it
    localrule: True
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).digest,
    shell:
        "cortexdsl plan {params.spec:q} --experiment {wildcards.experiment:q} --out {output:q}"
        " > {log:q} 2>&1"
