# Functions that are fitted on debates about other questions (docs/learned.md): one job for each, after the debates about
# its questions. The cells that use it wait for it.

PRODUCTS.append(lambda plan: fit_files(plan))


rule fit:
    input:
        lambda wildcards: fit_inputs(plan_of(wildcards.experiment), wildcards.learned),
    output:
        Layout("results/{experiment}").fit("{learned}"),
    log:
        "results/{experiment}/logs/fits/{learned}.log",
    conda:
        "../environment.yml"
    threads: 1
    params:
        spec=spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment)
        .fitted(wildcards.learned)
        .digest,
    shell:
        "cortexdsl fit {params.spec:q} --experiment {wildcards.experiment:q} --learned {wildcards.learned:q}"
        " --digest {params.digest} > {log:q} 2>&1"
