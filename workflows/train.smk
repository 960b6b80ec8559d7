# Learning from pairs (docs/training.md): one job a phase. Its checkpoints, which are no output, outlive a failed job.


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
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment)
        .training(wildcards.training)
        .phase(wildcards.phase)
        .trained_digest,
    shell:
        "cortexdsl train {params.spec:q} --experiment {wildcards.experiment:q} --training {wildcards.training:q}"
        " --phase {wildcards.phase:q} --digest {params.digest} --threads {threads} > {log:q} 2>&1"
