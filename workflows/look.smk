# Stopping early: after each batch of questions a look asks whether every claim is decided. What it finds decides whether
# the next batch is debated at all (docs/decisions/009-early-stopping.md).


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
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).look_digest,
    shell:
        "cortexdsl look {params.spec:q} --experiment {wildcards.experiment:q} --batch {wildcards.batch}"
        " > {log:q} 2>&1"
