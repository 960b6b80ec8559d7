# Debates to learn from, with alternative replies, and the preference pairs made from them. A phase debates with the
# models that the phases before it have trained.

PRODUCTS.append(lambda plan: [*all_trajectories(plan), *kept_tables(plan)])


rule trajectories:
    input:
        Layout("results/{experiment}").declared,
        lambda wildcards: trajectory_inputs(
            plan_of(wildcards.experiment), wildcards.training, wildcards.phase
        ),
    output:
        Layout("results/{experiment}").trajectories("{training}", "{phase}", "{shard}"),
    log:
        "results/{experiment}/logs/train/{training}/{phase}/{shard}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        connections=connections,
    params:
        spec=spec_path,
        digest=lambda wildcards: (
            plan_of(wildcards.experiment)
            .training(wildcards.training)
            .phase(wildcards.phase)
            .digest
        ),
    shell:
        "cortexdsl trajectories {params.spec:q} --experiment {wildcards.experiment:q}"
        " --training {wildcards.training:q} --phase {wildcards.phase:q} --shard {wildcards.shard}"
        " --digest {params.digest} --connections {resources.connections}"
        + (" --errors-again" if ERRORS_AGAIN else "")
        + " > {log:q} 2>&1"


rule pairs:
    input:
        lambda wildcards: trajectory_files(
            plan_of(wildcards.experiment), wildcards.training, wildcards.phase
        ),
    output:
        pairs=Layout("results/{experiment}").pairs("{training}", "{phase}"),
        examples=Layout("results/{experiment}").imitated("{training}", "{phase}"),
        prompts=Layout("results/{experiment}").prompts("{training}", "{phase}"),
        kept=Layout("results/{experiment}").kept("{training}", "{phase}"),
    log:
        "results/{experiment}/logs/train/{training}/{phase}/pairs.log",
    localrule: True
    conda:
        "../environment.yml"
    params:
        spec=spec_path,
        digest=lambda wildcards: (
            plan_of(wildcards.experiment)
            .training(wildcards.training)
            .phase(wildcards.phase)
            .pairs_digest
        ),
    shell:
        "cortexdsl pairs {params.spec:q} --experiment {wildcards.experiment:q}"
        " --training {wildcards.training:q} --phase {wildcards.phase:q} > {log:q} 2>&1"
