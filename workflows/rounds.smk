# Rounds as files (docs/files.md): `advance` writes the requests that all debates wait for, `answer` runs an engine on a
# file of them, and so on. The last advance writes the call logs, by which the debate jobs replay their debates. Each
# rule names all files that it needs: no job of these reads what another one is writing.

# The number of files depends on the spec, so that each experiment has rules of its own.
for files in [
    rules_of(experiment) for experiment in EXPERIMENTS if plan_of(experiment).engines
]:

    rule:
        name:
            f"advance_{files.name}"
        input:
            Layout("results/{experiment}").declared,
            to_advance,
        output:
            [
                Layout("results/{experiment}").requests("{round}", *part)
                for part in round_parts(files.plan)
            ],
        log:
            "results/{experiment}/logs/rounds/{round}.log",
        wildcard_constraints:
            experiment=files.only,
            round=r"[1-9]\d*",
        localrule: IS_APART
        conda:
            "../environment.yml"
        threads: 1
        resources:
            connections=CONNECTIONS,
        params:
            spec=spec_path,
            digest=rounds_param,
            round=lambda wildcards: wildcards.round,
        shell:
            ADVANCE

    for engine, facts in files.plan.engines.items():

        rule:
            name:
                f"answer_{files.name}_{engine}"
            input:
                Layout("results/{experiment}").requests("{round}", "{engine}", "{part}"),
            output:
                Layout("results/{experiment}").replies("{round}", "{engine}", "{part}"),
            log:
                "results/{experiment}/logs/rounds/{round}-{engine}-{part}.log",
            wildcard_constraints:
                experiment=files.only,
                round=r"[1-9]\d*",
                engine=engine,
                part=r"[1-9]\d*",
            conda:
                "../environment.yml"
            container:
                facts.container
            threads: 1
            resources:
                **(facts.resources or {}),
            params:
                spec=spec_path,
                command=command,
            shell:
                "cortexdsl answer {params.spec:q} --experiment {wildcards.experiment:q} --engine {wildcards.engine:q}"
                " --requests {input:q} --out {output:q} > {log:q} 2>&1"

    rule:
        name:
            f"finish_{files.name}"
        input:
            Layout("results/{experiment}").declared,
            lambda wildcards: round_inputs(
                plan_of(wildcards.experiment),
                rounds_of(plan_of(wildcards.experiment)) + 1,
            ),
        output:
            [
                update(path.replace(files.plan.layout.root, "results/{experiment}", 1))
                for path in round_logs(files.plan)
            ],
        log:
            "results/{experiment}/logs/rounds/last.log",
        wildcard_constraints:
            experiment=files.only,
        localrule: IS_APART
        conda:
            "../environment.yml"
        threads: 1
        resources:
            connections=CONNECTIONS,
        params:
            spec=spec_path,
            digest=rounds_param,
            round=files.rounds + 1,
        shell:
            FINISH
