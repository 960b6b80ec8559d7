# The plan: what will be run, and what it will cost.


rule plan:
    output:
        Layout("results/{experiment}").plan,
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).digest,
    log:
        "results/{experiment}/logs/plan.log",
    localrule: True
    shell:
        "{CORTEXDSL} plan {params.spec:q} --out {output:q} > {log:q} 2>&1 || {{ cat {log:q} >&2; exit 1; }}"
