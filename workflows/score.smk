# Scores: each cell's debates graded, then all of them in one table.


rule score:
    input:
        lambda wildcards: plan_of(wildcards.experiment).debates_of(
            wildcards.dataset, wildcards.cell
        ),
    output:
        scores=Layout("results/{experiment}").scores("{dataset}", "{cell}"),
        rounds=Layout("results/{experiment}").rounds("{dataset}", "{cell}"),
    log:
        "results/{experiment}/logs/scores/{dataset}/{cell}.log",
    conda:
        "../environment.yml"
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).score_digest(
            wildcards.dataset, wildcards.cell
        ),
    shell:
        "cortexdsl score {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --cell {wildcards.cell:q} --scores {output.scores:q} --rounds {output.rounds:q}"
        " > {log:q} 2>&1 || {{ cat {log:q} >&2; exit 1; }}"


rule join_scores:
    input:
        lambda wildcards: plan_of(wildcards.experiment).all_scores(),
    output:
        scores=Layout("results/{experiment}").all_scores,
        rounds=Layout("results/{experiment}").all_rounds,
    log:
        "results/{experiment}/logs/join_scores.log",
    localrule: True
    conda:
        "../environment.yml"
    params:
        spec=lambda wildcards: plan_of(wildcards.experiment).spec_path,
        digest=lambda wildcards: plan_of(wildcards.experiment).digest,
    shell:
        "cortexdsl score {params.spec:q} --experiment {wildcards.experiment:q}"
        " --scores {output.scores:q} --rounds {output.rounds:q}"
        " > {log:q} 2>&1 || {{ cat {log:q} >&2; exit 1; }}"
