# Judgements: if the metrics include `judged`, a model judges the answers of each cell. Its prompts contain the golds,
# so its calls are logged in a folder of their own, which no debate reads.

PRODUCTS.append(lambda plan: all_judgements(plan) if plan.judging else [])


rule judge:
    input:
        to_judge,
    output:
        Layout("results/{experiment}").judgements("{dataset}", "{cell}"),
    log:
        "results/{experiment}/logs/judgements/{dataset}/{cell}.log",
    conda:
        "../environment.yml"
    threads: threads_of
    resources:
        connections=connections,
    params:
        spec=spec_path,
        digest=lambda wildcards: judge_digest(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.cell
        ),
    shell:
        "cortexdsl judge {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --cell {wildcards.cell:q} --connections {resources.connections}"
        " --threads {threads} --out {output:q}"
        + (" --errors-again" if ERRORS_AGAIN else "")
        + " > {log:q} 2>&1"


# A tournament: judges compare the answers of each two cells, in both orders, and the cells are ranked.
PRODUCTS.append(lambda plan: [*all_ballots(plan), *tournament_tables(plan)])


rule ballots:
    input:
        to_compare,
    output:
        Layout("results/{experiment}").ballots("{dataset}", "{judge}"),
    log:
        "results/{experiment}/logs/ballots/{dataset}/{judge}.log",
    conda:
        "../environment.yml"
    threads: threads_of
    resources:
        connections=connections,
    params:
        spec=spec_path,
        digest=lambda wildcards: ballots_digest(
            plan_of(wildcards.experiment), wildcards.dataset, wildcards.judge
        ),
    shell:
        "cortexdsl ballots {params.spec:q} --experiment {wildcards.experiment:q} --dataset {wildcards.dataset:q}"
        " --judge {wildcards.judge:q} --connections {resources.connections}"
        " --threads {threads} --out {output:q}"
        + (" --errors-again" if ERRORS_AGAIN else "")
        + " > {log:q} 2>&1"


rule tournament:
    input:
        lambda wildcards: all_ballots(plan_of(wildcards.experiment)),
    output:
        [Layout("results/{experiment}").table(table) for table in TOURNAMENT_TABLES],
    log:
        "results/{experiment}/logs/tournament.log",
    conda:
        "../environment.yml"
    threads: 1
    params:
        spec=spec_path,
    shell:
        "cortexdsl tournament {params.spec:q} --experiment {wildcards.experiment:q}"
        " > {log:q} 2>&1"
