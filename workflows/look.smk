# Stopping early: after each batch of questions a look tests whether every claim is decided, and so whether the next
# batch is needed (docs/decisions/009-early-stopping.md).


checkpoint look:
    input:
        to_look,
    output:
        look=Layout("results/{experiment}").look("{batch}"),
        scores=Layout("results/{experiment}").look_scores("{batch}"),
    log:
        "results/{experiment}/logs/looks/{batch}.log",
    conda:
        "../environment.yml"
    params:
        spec=spec_path,
        digest=lambda wildcards: look_digest(plan_of(wildcards.experiment)),
    shell:
        "cortexdsl look {params.spec:q} --experiment {wildcards.experiment:q} --batch {wildcards.batch}"
        " > {log:q} 2>&1"
