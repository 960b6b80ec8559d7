# Learning from pairs (docs/training.md): one job for each phase. Its checkpoints are not outputs: they outlive a failed
# job.

PRODUCTS.append(lambda plan: trained_models(plan))


rule train:
    input:
        to_train,
    output:
        Path(
            Layout("results/{experiment}").trained("{training}", "{phase}"),
            "model.safetensors",
        ),
    log:
        "results/{experiment}/logs/train/{training}/{phase}.log",
    conda:
        "../environment.yml"
    params:
        spec=spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment)
        .training(wildcards.training)
        .phase(wildcards.phase)
        .trained_digest,
    shell:
        "cortexdsl train {params.spec:q} --experiment {wildcards.experiment:q} --training {wildcards.training:q}"
        " --phase {wildcards.phase:q} --digest {params.digest} --threads {threads} > {log:q} 2>&1"
